use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// What is asked of torch at every event.
pub(super) struct Torch {
    pub(super) tensor: Py<PyAny>,
    pub(super) parameter: Py<PyAny>,
    /// Types that hold no tensor and are passed by.
    pub(super) atoms: Vec<usize>,
    pub(super) flatten: Py<PyAny>,
    pub(super) pop: Py<PyAny>,
    pub(super) push: Py<PyAny>,
    pub(super) grad_enabled: Py<PyAny>,
    pub(super) inference: Py<PyAny>,
    pub(super) any_autocast: Py<PyAny>,
    pub(super) autocasts: Py<PyAny>,
    pub(super) saved_hooks: Py<PyAny>,
    pub(super) cpu_state: Py<PyAny>,
    /// None where there are no other devices.
    pub(super) other_states: Py<PyAny>,
}

impl Torch {
    /// From torch's answers by name; RuntimeError names one that is missing.
    pub(super) fn ask(asks: &Bound<'_, PyDict>) -> PyResult<Torch> {
        let py = asks.py();
        let ask = |name: &str| {
            let missing = || PyRuntimeError::new_err(format!("asks: expected {name:?}"));
            Ok::<_, PyErr>(asks.get_item(name)?.ok_or_else(missing)?.unbind())
        };
        Ok(Torch {
            tensor: ask("tensor")?,
            parameter: ask("parameter")?,
            atoms: ask("atoms")?
                .bind(py)
                .try_iter()?
                .map(|kind| Ok(kind?.as_ptr() as usize))
                .collect::<PyResult<_>>()?,
            flatten: ask("flatten")?,
            pop: ask("pop")?,
            push: ask("push")?,
            grad_enabled: ask("grad_enabled")?,
            inference: ask("inference")?,
            any_autocast: ask("any_autocast")?,
            autocasts: ask("autocasts")?,
            saved_hooks: ask("saved_hooks")?,
            cpu_state: ask("cpu_state")?,
            other_states: ask("other_states")?,
        })
    }
}
