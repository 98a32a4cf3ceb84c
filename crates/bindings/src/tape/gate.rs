//! Callables that take the place of torch's own where nothing is to be recorded most of the time.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::method::bind;
use super::recording::Recording;

/// Stands in for a method that runs with recording off, and is told of an error if there was one, as `__exit__` is.
#[pyclass(frozen, dict, weakref, module = "nanscope._core")]
pub(crate) struct Aside {
    recorder: Py<Recording>,
    original: Py<PyAny>,
    raised: Py<PyAny>,
}

#[pymethods]
impl Aside {
    /// `raised(self, ...)` is called after `original` if that was told of an error.
    #[new]
    fn new(recorder: Py<Recording>, original: Py<PyAny>, raised: Py<PyAny>) -> Self {
        Aside { recorder, original, raised }
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = owner;
        bind(slf.as_any(), instance)
    }

    #[pyo3(signature = (*args: "object", **kwargs: "object"))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let recording = self.recorder.get();
        let original = self.original.bind(py);
        let result = if recording.live() {
            recording.apart(py, || original.call(args, kwargs))?
        } else {
            original.call(args, kwargs)?
        };
        if args.len() > 1 && !args.get_item(1)?.is_none() {
            self.raised.bind(py).call1((args.get_item(0)?,))?;
        }
        Ok(result)
    }
}

/// Stands in for a method whose call is an event of the tape that gives back nothing.
#[pyclass(frozen, dict, weakref, module = "nanscope._core")]
pub(crate) struct Noted {
    recorder: Py<Recording>,
    original: Py<PyAny>,
    other: Py<PyAny>,
}

#[pymethods]
impl Noted {
    /// `other` is called instead of `original` for a call with keywords, or of which a tracer has to be told.
    #[new]
    fn new(recorder: Py<Recording>, original: Py<PyAny>, other: Py<PyAny>) -> Self {
        Noted { recorder, original, other }
    }

    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        owner: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = owner;
        bind(slf.as_any(), instance)
    }

    /// As a function of this name, for pickles.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.getattr(intern!(slf.py(), "__qualname__"))
    }

    #[pyo3(signature = (*args: "object", **kwargs: "object"))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let recording = self.recorder.get();
        let original = self.original.bind(py);
        if !recording.live() {
            return original.call(args, kwargs);
        }
        if kwargs.is_some() || recording.is_observed(py) {
            return self.other.bind(py).call(args, kwargs);
        }
        recording.apart(py, || {
            let event = recording.event(py, intern!(py, "call"), original, false)?;
            event.borrow_mut().args = Some(args.clone().into_any().unbind());
            recording.pin(&event)?;
            original.call1(args)
        })
    }
}
