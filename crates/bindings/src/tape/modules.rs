use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::event::Event;
use super::functions::any_requires_grad;
use super::recording::{Recording, requires_grad};

/// Calls of outermost modules: those of a module that only computes are recorded without a frame of Python.
#[pyclass(frozen, module = "nanscope._core")]
pub(crate) struct Modules {
    recorder: Py<Recording>,
    original: Py<PyAny>,
    other: Py<PyAny>,
    seen: Py<PyAny>,
    /// What tells that a function is being compiled: the flag by name, and the question where there is no such flag.
    compiler: Py<PyDict>,
    is_compiling: Py<PyAny>,
}

#[pymethods]
impl Modules {
    /// `other(module, args, kwargs)` is called for a module that may change something, draw random numbers, or is watched by a
    /// tracer; `seen(event, tensors, arguments)` is told of a call without a graph, and may raise. `compiler` is the
    /// namespace of `torch.compiler`.
    #[new]
    fn new(
        recorder: Py<Recording>,
        original: Py<PyAny>,
        other: Py<PyAny>,
        seen: Py<PyAny>,
        compiler: Py<PyDict>,
        is_compiling: Py<PyAny>,
    ) -> Self {
        Modules { recorder, original, other, seen, compiler, is_compiling }
    }

    fn __call__<'py>(
        &self,
        module: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = module.py();
        let recording = self.recorder.get();
        // A module called from a compiled function is part of that function.
        if self.compiles(py)? {
            return self.original.bind(py).call(with_first(module, args)?, Some(kwargs));
        }
        if recording.is_observed(py) || !recording.step.updated.bind(py).is_empty() || !recording.is_quiet(module)? {
            return self.other.bind(py).call1((module, args, kwargs));
        }
        recording.apart(py, || self.record(recording, module, args, kwargs))
    }
}

impl Modules {
    fn compiles(&self, py: Python<'_>) -> PyResult<bool> {
        match self.compiler.bind(py).get_item(intern!(py, "_is_compiling_flag"))? {
            Some(flag) => flag.is_truthy(),
            None => self.is_compiling.bind(py).call0()?.is_truthy(),
        }
    }

    fn record<'py>(
        &self,
        recording: &Recording,
        module: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = module.py();
        let original = self.original.bind(py);
        let event = match recording.event(py, intern!(py, "module"), module, false) {
            Ok(event) => event,
            Err(error) => {
                recording.excused(py, error)?;
                return original.call(with_first(module, args)?, Some(kwargs));
            }
        };
        let result = match original.call(with_first(module, args)?, Some(kwargs)) {
            Ok(result) => result,
            Err(error) => {
                recording.mark_failed(&event, args.as_any(), Some(kwargs), &error);
                return Err(error);
            }
        };
        if let Err(error) = self.note(recording, &event, module, args, kwargs, &result) {
            recording.excused(py, error)?;
        }
        Ok(result)
    }

    /// Writes a call that has returned `result`.
    fn note<'py>(
        &self,
        recording: &Recording,
        event: &Bound<'py, Event>,
        module: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
        result: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let py = module.py();
        let found = PyList::empty(py);
        let pinned = if recording.is_tensor(result) {
            found.append(result)?;
            requires_grad(result)?
        } else {
            recording.torch.flatten.call1(py, (result, &found))?;
            any_requires_grad(&found)?
        };
        recording.put(event, args.as_any(), Some(kwargs), pinned)?;
        recording.outputs(event, result, !pinned, 0)?;
        let roots = recording.step.roots.bind(py);
        if !roots.iter().any(|root| root.is(module)) {
            roots.append(module)?;
        }
        if !event.borrow().grad_mode {
            self.seen.bind(py).call1((event, found, (args, kwargs)))?;
        }
        Ok(())
    }
}

fn with_first<'py>(first: &Bound<'py, PyAny>, rest: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(first.py(), std::iter::once(first.clone()).chain(rest.iter()).collect::<Vec<_>>())
}
