use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static METHOD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// What an attribute of a class is for an instance: `callable` with its first argument given; itself for the class.
pub(super) fn bind<'py>(callable: &Bound<'py, PyAny>, instance: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if instance.is_none() {
        return Ok(callable.clone());
    }
    METHOD.import(instance.py(), "types", "MethodType")?.call1((callable, instance))
}
