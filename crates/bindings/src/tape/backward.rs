use std::sync::atomic::Ordering::Relaxed;

use pyo3::exceptions::PyException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::event::Event;
use super::method::bind;
use super::recording::Recording;
use crate::calm::Calm;

/// Stands in for `Tensor.backward`: the plain call of a finite loss without a frame of Python, all else handed to Python
/// before anything was done.
#[pyclass(frozen, dict, weakref, module = "nanscope._core")]
pub(crate) struct Backward {
    recorder: Py<Recording>,
    calm: Py<Calm>,
    original: Py<PyAny>,
    other: Py<PyAny>,
    loss: Py<PyAny>,
}

#[pymethods]
impl Backward {
    /// `other` is called instead of `original` for a pass that is not plain; `loss(event, roots)` is told of a loss that has
    /// to be looked at, and may raise.
    #[new]
    fn new(recorder: Py<Recording>, calm: Py<Calm>, original: Py<PyAny>, other: Py<PyAny>, loss: Py<PyAny>) -> Self {
        Backward { recorder, calm, original, other, loss }
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
        if !recording.live() {
            return self.original.bind(py).call(args, kwargs);
        }
        if args.len() != 1 || kwargs.is_some() || recording.is_told_of_events(py) {
            return self.other.bind(py).call(args, kwargs);
        }
        let root = args.get_item(0)?;
        recording.apart(py, || self.pass(recording, &root))
    }
}

impl Backward {
    /// Writes the pass that is about to run, and reads its loss.
    fn begin<'py>(
        &self,
        recording: &Recording,
        root: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, Event>> {
        let py = root.py();
        let event = recording.event(py, intern!(py, "backward"), self.original.bind(py), false)?;
        recording.put(&event, args.as_any(), None, true)?;
        if !self.calm.get().read_loss(&event, root)? {
            self.loss.bind(py).call1((&event, [root]))?;
        }
        Ok(event)
    }

    fn pass<'py>(&self, recording: &Recording, root: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = root.py();
        let original = self.original.bind(py);
        let args = (root, py.None(), py.None(), false, py.None()).into_pyobject(py)?;
        let event = match self.begin(recording, root, &args) {
            Ok(event) => Some(event),
            Err(error) => {
                recording.excused(py, error)?;
                None
            }
        };
        let step = &recording.step;
        step.backward_done.store(true, Relaxed);
        step.backward_serial.store(recording.serial(), Relaxed);
        step.backwards.fetch_add(1, Relaxed);
        step.in_backward.store(true, Relaxed);
        let result = original.call1(args);
        step.in_backward.store(false, Relaxed);
        match result {
            Ok(result) => {
                if let Some(event) = event.filter(|_| !result.is_none())
                    && let Err(error) = recording.outputs(&event, &result, false, 0)
                {
                    recording.excused(py, error)?;
                }
                Ok(result)
            }
            Err(error) => {
                if let Some(event) = event
                    && error.is_instance_of::<PyException>(py)
                {
                    event.borrow_mut().failed = true;
                }
                Err(error)
            }
        }
    }
}
