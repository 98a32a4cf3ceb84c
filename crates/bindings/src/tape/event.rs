use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A call at the top level of the program. Arguments hold `Ref`s where an earlier event made the tensor.
///
/// `kind` is one of `function`, `module`, `call` (an opaque callable), `backward`, `grad`, `step`. `place` is
/// `(code, instruction offset, line)` of the caller in user code: three references, no frame is held. `autocast` lists
/// `(device, dtype)`; `random` is the state of the generators before the call; `saved_hooks` are `(pack, unpack)`; `state`
/// is what a module call may change; `value` is the loss of a backward; `scalar` says that its one result is a scalar with
/// a graph: it may be a loss.
#[pyclass(module = "nanscope._core")]
#[derive(Default)]
pub(crate) struct Event {
    #[pyo3(get, set)]
    pub(super) serial: u64,
    pub(super) kind: Option<Py<PyAny>>,
    pub(super) target: Option<Py<PyAny>>,
    #[pyo3(get, set)]
    pub(super) place: Option<Py<PyAny>>,
    pub(super) args: Option<Py<PyAny>>,
    pub(super) kwargs: Option<Py<PyAny>>,
    #[pyo3(get, set)]
    pub(super) grad_mode: bool,
    #[pyo3(get, set)]
    pub(super) inference: bool,
    pub(super) autocast: Option<Py<PyAny>>,
    #[pyo3(get, set)]
    pub(super) random: Option<Py<PyAny>>,
    #[pyo3(get, set)]
    pub(super) saved_hooks: Option<Py<PyAny>>,
    #[pyo3(get, set)]
    pub(super) state: Option<Py<PyAny>>,
    #[pyo3(get, set)]
    pub(super) value: Option<f64>,
    #[pyo3(get, set)]
    pub(super) outputs: usize,
    #[pyo3(get, set)]
    pub(super) failed: bool,
    #[pyo3(get, set)]
    pub(super) scalar: bool,
}

#[pymethods]
impl Event {
    /// An event that took place with gradients on and nothing else in force.
    #[new]
    fn new() -> Self {
        Event { grad_mode: true, ..Event::default() }
    }

    #[getter]
    fn kind(&self, py: Python<'_>) -> Py<PyAny> {
        self.kind.as_ref().map_or_else(|| py.None(), |kind| kind.clone_ref(py))
    }

    #[setter]
    fn set_kind(&mut self, kind: Py<PyAny>) {
        self.kind = Some(kind);
    }

    #[getter]
    fn target(&self, py: Python<'_>) -> Py<PyAny> {
        self.target.as_ref().map_or_else(|| py.None(), |target| target.clone_ref(py))
    }

    #[setter]
    fn set_target(&mut self, target: Py<PyAny>) {
        self.target = Some(target);
    }

    #[getter]
    fn args(&self, py: Python<'_>) -> Py<PyAny> {
        self.args.as_ref().map_or_else(|| PyTuple::empty(py).into_any().unbind(), |args| args.clone_ref(py))
    }

    #[setter]
    fn set_args(&mut self, args: Py<PyAny>) {
        self.args = Some(args);
    }

    #[getter]
    fn kwargs(&self, py: Python<'_>) -> Py<PyAny> {
        self.kwargs.as_ref().map_or_else(|| PyDict::new(py).into_any().unbind(), |kwargs| kwargs.clone_ref(py))
    }

    #[setter]
    fn set_kwargs(&mut self, kwargs: Py<PyAny>) {
        self.kwargs = Some(kwargs);
    }

    #[getter]
    fn autocast(&self, py: Python<'_>) -> Py<PyAny> {
        self.autocast.as_ref().map_or_else(|| PyTuple::empty(py).into_any().unbind(), |found| found.clone_ref(py))
    }

    #[setter]
    fn set_autocast(&mut self, autocast: Py<PyAny>) {
        self.autocast = Some(autocast);
    }
}

impl Event {
    /// The loss that a backward began from.
    pub(crate) fn set_value(&mut self, value: f64) {
        self.value = Some(value);
    }
}

/// An argument that an earlier event made: tensor `position` among the outputs of `event`.
#[pyclass(frozen, get_all, module = "nanscope._core")]
pub(crate) struct Ref {
    pub(super) event: Py<Event>,
    pub(super) position: usize,
}
