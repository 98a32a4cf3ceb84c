use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyAssertionError, PyException, PyRuntimeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyWeakrefReference};
use rustc_hash::FxHashMap;

use super::event::Event;
use super::events::Tape;
use super::habits::Habits;
use super::inputs::Input;
use super::made::{Forget, Made, Table};
use super::place::caller;
use super::slot::Slot;
use super::step::Step;
use super::torch::Torch;

/// The tape of the running step, as far as every event touches it.
///
/// `depth > 0` means: inside something opaque (a module, backward, a step), nothing is recorded. `mode` is the function
/// mode that `enter` takes off torch's stack; `tape` holds the lists and dicts that events are written to.
///
/// Counters are atomic and the rest is locked for a moment only: other threads of the program ask too.
#[pyclass(subclass, frozen, module = "nanscope._core")]
pub(crate) struct Recording {
    pub(super) torch: Torch,
    depth: AtomicI64,
    closed: AtomicBool,
    muted: AtomicBool,
    serial: AtomicU64,
    /// That of the watch, by `here`.
    thread: usize,
    mode: Slot,
    pub(super) tape: Slot<Tape>,
    observer: Slot,
    /// A function: is told what has failed in our own code; None while nobody listens.
    on_error: Slot,
    /// A list: what is told before and after each backward.
    carries: Slot<PyList>,
    pub(super) step: Step,
    /// What is known of outermost modules, by address.
    habits: Mutex<FxHashMap<usize, Py<Habits>>>,
    pub(super) made: Arc<Table>,
    pub(super) floating_bytes: AtomicU64,
    steps_taken: AtomicU64,
    pub(super) keeps_inputs: AtomicBool,
    pub(super) inputs: Mutex<Vec<Input>>,
}

#[pymethods]
impl Recording {
    /// `asks` are torch's answers by name: `tensor`, `parameter`, `atoms`, `flatten`, `pop`, `push`,
    /// `grad_enabled`, `inference`, `any_autocast`, `autocasts`, `saved_hooks`, `cpu_state`, `other_states`.
    #[new]
    fn new(asks: &Bound<'_, PyDict>) -> PyResult<Self> {
        let py = asks.py();
        let torch = Torch::ask(asks)?;
        Ok(Recording {
            torch,
            depth: AtomicI64::new(0),
            closed: AtomicBool::new(false),
            muted: AtomicBool::new(false),
            serial: AtomicU64::new(0),
            thread: here(),
            mode: Slot::new(py.None()),
            tape: Slot::new(Py::new(py, Tape::new(py))?),
            observer: Slot::new(py.None()),
            on_error: Slot::new(py.None()),
            carries: Slot::new(PyList::empty(py).unbind()),
            step: Step::new(py),
            habits: Mutex::default(),
            made: Arc::default(),
            floating_bytes: AtomicU64::new(0),
            steps_taken: AtomicU64::new(0),
            keeps_inputs: AtomicBool::new(true),
            inputs: Mutex::default(),
        })
    }

    #[getter]
    fn depth(&self) -> i64 {
        self.depth.load(Relaxed)
    }

    #[getter]
    fn muted(&self) -> bool {
        self.muted.load(Relaxed)
    }

    #[getter]
    fn closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    #[setter]
    fn set_closed(&self, closed: bool) {
        self.closed.store(closed, Relaxed);
        if closed {
            self.made.clear();
        }
    }

    /// Number of events so far.
    #[getter]
    pub(crate) fn serial(&self) -> u64 {
        self.serial.load(Relaxed)
    }

    /// Optimizer steps so far, those left out included.
    #[getter]
    fn steps_taken(&self) -> u64 {
        self.steps_taken.load(Relaxed)
    }

    /// Whether the inputs of the coming steps are kept until each ends.
    pub(crate) fn keep_inputs(&self, keep: bool) {
        self.keeps_inputs.store(keep, Relaxed);
    }

    /// An optimizer has stepped, or its step was left out.
    pub(crate) fn count_step(&self) {
        self.steps_taken.fetch_add(1, Relaxed);
    }

    #[getter]
    fn mode(&self, py: Python<'_>) -> Py<PyAny> {
        self.mode.get(py)
    }

    #[setter]
    fn set_mode(&self, mode: Py<PyAny>) {
        self.mode.set(mode);
    }

    #[getter]
    fn tape(&self, py: Python<'_>) -> Py<Tape> {
        self.tape.get(py)
    }

    #[setter]
    fn set_tape(&self, tape: Py<Tape>) {
        self.tape.set(tape);
    }

    /// A tracer, while a rerun's step is watched as it happens; otherwise None.
    #[getter]
    fn observer(&self, py: Python<'_>) -> Py<PyAny> {
        self.observer.get(py)
    }

    #[setter]
    fn set_observer(&self, observer: Py<PyAny>) {
        self.observer.set(observer);
    }

    /// Is told, in a sentence, of each error of our own; None while nobody listens.
    #[getter]
    fn on_error(&self, py: Python<'_>) -> Py<PyAny> {
        self.on_error.get(py)
    }

    #[setter]
    fn set_on_error(&self, told: Py<PyAny>) {
        self.on_error.set(told);
    }

    /// Our own code has raised `error`: the program goes on as if it had not, and no replay of this step counts as exact.
    /// Raises it again if it is none of ours: what ends the program is no `Exception`.
    fn excuse(&self, error: &Bound<'_, PyAny>) -> PyResult<()> {
        self.excused(error.py(), PyErr::from_value(error.clone()))
    }

    /// What was noted of an outermost module with `know`; None if nothing was.
    fn known(&self, module: &Bound<'_, PyAny>) -> Option<Py<Habits>> {
        let py = module.py();
        let known = self.habits().get(&(module.as_ptr() as usize))?.clone_ref(py);
        known.get().root(py)?.is(module).then_some(known)
    }

    /// Notes what calls of an outermost module were seen to do.
    fn know(&self, module: &Bound<'_, PyAny>, habits: Py<Habits>) {
        let replaced = self.habits().insert(module.as_ptr() as usize, habits);
        drop(replaced);
    }

    /// What is told before and after each backward: see `nanscope.course.Carry`.
    #[getter]
    fn carries(&self, py: Python<'_>) -> Py<PyList> {
        self.carries.get(py)
    }

    #[setter]
    fn set_carries(&self, carries: Py<PyList>) {
        self.carries.set(carries);
    }

    /// Outermost modules that were called in this step.
    #[getter]
    fn roots(&self, py: Python<'_>) -> Py<PyList> {
        self.step.roots.clone_ref(py)
    }

    /// Parameters that the program itself has changed since backward.
    #[getter]
    fn updated(&self, py: Python<'_>) -> Py<PyList> {
        self.step.updated.clone_ref(py)
    }

    /// Storage -> parameter whose `.data` was taken.
    #[getter]
    fn aliased(&self, py: Python<'_>) -> Py<PyDict> {
        self.step.aliased.clone_ref(py)
    }

    /// Buffers that module calls have changed since the last step.
    #[getter]
    pub(crate) fn changed(&self, py: Python<'_>) -> Py<PyList> {
        self.step.changed.clone_ref(py)
    }

    /// Whether the present tape belongs to a trip.
    #[getter]
    fn kept(&self) -> bool {
        self.step.kept.load(Relaxed)
    }

    #[setter]
    fn set_kept(&self, kept: bool) {
        self.step.kept.store(kept, Relaxed);
    }

    /// Whether there was a backward since the last step.
    #[getter]
    pub(super) fn backward_done(&self) -> bool {
        self.step.backward_done.load(Relaxed)
    }

    #[setter]
    fn set_backward_done(&self, done: bool) {
        self.step.backward_done.store(done, Relaxed);
    }

    /// Backwards since the last step.
    #[getter]
    fn backwards(&self) -> u64 {
        self.step.backwards.load(Relaxed)
    }

    #[setter]
    fn set_backwards(&self, backwards: u64) {
        self.step.backwards.store(backwards, Relaxed);
    }

    /// Whether backward is running.
    #[getter]
    fn in_backward(&self) -> bool {
        self.step.in_backward.load(Relaxed)
    }

    #[setter]
    fn set_in_backward(&self, running: bool) {
        self.step.in_backward.store(running, Relaxed);
    }

    /// Of the last backward or grad event.
    #[getter]
    fn backward_serial(&self) -> u64 {
        self.step.backward_serial.load(Relaxed)
    }

    #[setter]
    fn set_backward_serial(&self, serial: u64) {
        self.step.backward_serial.store(serial, Relaxed);
    }

    /// True at the top level of the watched thread.
    pub(crate) fn live(&self) -> bool {
        self.depth() == 0 && !self.closed() && here() == self.thread
    }

    /// Stops recording tensor functions. Returns whether the mode was taken off the stack (give it to `leave`).
    pub(crate) fn enter(&self, py: Python<'_>) -> PyResult<bool> {
        if self.depth.fetch_add(1, Relaxed) > 0 {
            return Ok(false);
        }
        let top = match self.torch.pop.call0(py) {
            Ok(top) => top,
            // Inside our own handler: the stack may be empty.
            Err(error)
                if error.is_instance_of::<PyRuntimeError>(py) || error.is_instance_of::<PyAssertionError>(py) =>
            {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        if top.is(self.mode.get(py)) {
            return Ok(true);
        }
        // Another mode lies on top of ours: ours stays and lets everything through.
        self.torch.push.call1(py, (top,))?;
        self.muted.store(true, Relaxed);
        Ok(false)
    }

    /// Stops recording with the mode left where it is; it lets everything through. `resume` undoes it.
    fn pause(&self) {
        self.depth.fetch_add(1, Relaxed);
    }

    fn resume(&self) {
        self.depth.fetch_sub(1, Relaxed);
    }

    /// Undoes `enter`.
    pub(crate) fn leave(&self, py: Python<'_>, popped: bool) -> PyResult<()> {
        let depth = self.depth.fetch_sub(1, Relaxed) - 1;
        if depth == 0 {
            let observer = self.observer.get(py).into_bound(py);
            if !observer.is_none() {
                observer.call_method0(intern!(py, "finish"))?;
            }
        }
        if popped {
            self.torch.push.call1(py, (self.mode.get(py),))?;
        } else if depth == 0 {
            self.muted.store(false, Relaxed);
        }
        Ok(())
    }

    /// True when none of the values brings a `__torch_function__` of its own: tensors and parameters of torch's own types,
    /// and None.
    pub(super) fn plain(&self, values: &Bound<'_, PyAny>) -> PyResult<bool> {
        for value in values.try_iter()? {
            let value = value?;
            let kind = value.get_type_ptr().cast();
            if kind != self.torch.tensor.as_ptr() && kind != self.torch.parameter.as_ptr() && !value.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A new event with the settings in force now. It is on no tape yet.
    #[pyo3(signature = (kind, target, random=false))]
    pub(super) fn event<'py>(
        &self,
        py: Python<'py>,
        kind: &Bound<'py, PyString>,
        target: &Bound<'py, PyAny>,
        random: bool,
    ) -> PyResult<Bound<'py, Event>> {
        let torch = &self.torch;
        let grad_mode: bool = torch.grad_enabled.bind(py).call0()?.is_truthy()?;
        // What backward saves is its own affair.
        let backward = kind.as_any().eq(intern!(py, "backward"))?;
        let hooks = if backward { None } else { Some(torch.saved_hooks.bind(py).call0()?) };
        let event = Event {
            serial: self.serial.fetch_add(1, Relaxed) + 1,
            kind: Some(kind.clone().into_any().unbind()),
            target: Some(target.clone().unbind()),
            place: caller(py)?,
            args: None,
            kwargs: None,
            grad_mode,
            inference: !grad_mode && torch.inference.bind(py).call0()?.is_truthy()?,
            autocast: if torch.any_autocast.bind(py).call0()?.is_truthy()? {
                Some(torch.autocasts.call0(py)?)
            } else {
                None
            },
            random: if random { Some(self.random(py)?) } else { None },
            saved_hooks: hooks.filter(|hooks| !hooks.is_none()).map(Bound::unbind),
            ..Event::default()
        };
        Ok(untracked(Bound::new(py, event)?))
    }

    /// Notes what was called: arguments are encoded into `event`, which goes on the tape if it is `pinned`. One that is
    /// not is replayed only if a pinned one needs its outputs. A full tape is marked and takes no more.
    fn write(
        &self,
        event: &Bound<'_, Event>,
        args: &Bound<'_, PyAny>,
        kwargs: &Bound<'_, PyDict>,
        pinned: bool,
    ) -> PyResult<()> {
        self.put(event, args, Some(kwargs), pinned)
    }

    /// Writes `event`, whose call has raised, marked as such. Never raises: an error of ours must not take the place of the
    /// program's, and a replay then ends before this call.
    #[pyo3(signature = (event, args, kwargs))]
    fn failed(&self, event: &Bound<'_, Event>, args: &Bound<'_, PyAny>, kwargs: Option<&Bound<'_, PyDict>>) {
        event.borrow_mut().failed = true;
        let _ = self.put(event, args, kwargs, true);
    }

    /// `write` and `outputs` in one call, for a call that has returned `result`.
    fn done(
        &self,
        event: &Bound<'_, Event>,
        args: &Bound<'_, PyAny>,
        kwargs: &Bound<'_, PyDict>,
        result: &Bound<'_, PyAny>,
        pinned: bool,
    ) -> PyResult<()> {
        self.write(event, args, kwargs, pinned)?;
        self.outputs(event, result, !pinned, 0)
    }

    /// `event`, `write` and `outputs` in one call, for what has returned already. `state` is that of the generators before
    /// the call, or None.
    #[allow(clippy::too_many_arguments, reason = "one call is what this is for")]
    #[pyo3(signature = (kind, target, args, kwargs, result, pinned, state))]
    fn note<'py>(
        &self,
        py: Python<'py>,
        kind: &Bound<'py, PyString>,
        target: &Bound<'py, PyAny>,
        args: &Bound<'py, PyAny>,
        kwargs: &Bound<'py, PyDict>,
        result: &Bound<'py, PyAny>,
        pinned: bool,
        state: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let event = self.event(py, kind, target, false)?;
        event.borrow_mut().random = state;
        self.done(&event, args, kwargs, result, pinned)
    }

    /// True when an event has made one of these tensors, and a replay makes another in its place.
    fn made_one_of(&self, tensors: &Bound<'_, PyList>) -> bool {
        self.made.has_one_of(tensors)
    }

    /// Puts an event on the tape. A full tape is marked and takes no more.
    pub(super) fn pin(&self, event: &Bound<'_, Event>) -> PyResult<()> {
        self.tape.get(event.py()).get().append(event)
    }

    /// `value` with tensors that earlier events made as `Ref`s. Outside tensors are noted in `tape.held` when a tape is
    /// given, otherwise in the present tape's `read`.
    #[pyo3(signature = (value, tape))]
    fn encode<'py>(&self, value: &Bound<'py, PyAny>, tape: Option<&Tape>) -> PyResult<Bound<'py, PyAny>> {
        self.encoded(value, tape)
    }

    /// Remembers that `event` made the tensors in `result`; of a floating event only while they live.
    #[pyo3(signature = (event, result, floating=false, chain=0))]
    pub(super) fn outputs(
        &self,
        event: &Bound<'_, Event>,
        result: &Bound<'_, PyAny>,
        floating: bool,
        chain: usize,
    ) -> PyResult<()> {
        let py = result.py();
        if self.is_tensor(result) {
            if !floating {
                let scalar = result.call_method0(intern!(py, "dim"))?.extract::<usize>()? == 0;
                event.borrow_mut().scalar = scalar;
            }
            event.borrow_mut().outputs = 1;
            return self.made_by(result, event, 0, floating, chain);
        }
        let flat = PyList::empty(py);
        self.torch.flatten.call1(py, (result, &flat))?;
        event.borrow_mut().outputs = flat.len();
        for (position, tensor) in flat.iter().enumerate() {
            self.made_by(&tensor, event, position, floating, chain)?;
        }
        Ok(())
    }

    /// The event that made `tensor` since the last step, or before it if `tensor` carries a graph.
    fn producer(&self, tensor: &Bound<'_, PyAny>) -> Option<Made> {
        self.made.get(tensor)
    }

    /// The living tensors that `event` made.
    fn living(&self, event: &Bound<'_, Event>) -> Vec<Py<PyAny>> {
        self.made.living(event)
    }

    /// Leaves with a gradient that events after `serial` made: new parameters, if `serial` is that of a backward.
    fn leaves_since<'py>(&self, py: Python<'py>, serial: u64) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut leaves = vec![];
        for tensor in self.made.since(py, serial) {
            if requires_grad(&tensor)? && tensor.getattr(intern!(py, "is_leaf"))?.extract::<bool>()? {
                leaves.push(tensor);
            }
        }
        Ok(leaves)
    }

    /// `tensor` counts as one from outside from now on.
    fn forget(&self, tensor: &Bound<'_, PyAny>) {
        self.made.remove(tensor.as_ptr() as usize);
    }

    /// Which arguments the inputs of this step are, by slot: `(serial of the event, number among its tensors)`.
    fn batch_places(&self) -> Vec<(u64, usize)> {
        self.inputs().iter().map(|input| (input.event, input.leaf)).collect()
    }

    /// A step has ended: the tape starts anew. Tensors with a graph keep their events alive (GAN, PPO); leaves are state.
    pub(crate) fn boundary(&self, py: Python<'_>) -> PyResult<()> {
        if self.step.kept.swap(false, Relaxed) {
            // A trip may still want the old one.
            self.tape.set(Py::new(py, Tape::new(py))?);
        } else {
            self.tape.get(py).get().clear(py)?;
        }
        self.step.clear(py)?;
        self.forget_stale(py)
    }

    /// A step has ended: tensors with a graph keep their events (GAN, PPO); the others, and leaves, are state now.
    fn forget_stale(&self, py: Python<'_>) -> PyResult<()> {
        self.floating_bytes.store(0, Relaxed);
        let noted = std::mem::take(&mut *self.inputs());
        drop(noted);
        if self.made.is_empty() {
            return Ok(());
        }
        // What is no leaf has a graph.
        self.made.retain(py, |tensor| Ok(!tensor.getattr(intern!(py, "is_leaf"))?.extract::<bool>()?))
    }
}

impl Recording {
    fn habits(&self) -> MutexGuard<'_, FxHashMap<usize, Py<Habits>>> {
        self.habits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when a call of this outermost module needs no look at what it changes or draws; counts it as such a call.
    pub(super) fn is_quiet(&self, module: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(known) = self.known(module) else { return Ok(false) };
        let habits = known.get();
        let training = module.getattr(intern!(module.py(), "training"))?.is_truthy()?;
        if !habits.steady() || habits.may_draw(training) {
            return Ok(false);
        }
        habits.count(training);
        Ok(true)
    }

    /// See `excuse`.
    pub(crate) fn excused(&self, py: Python<'_>, error: PyErr) -> PyResult<()> {
        if !error.is_instance_of::<PyException>(py) {
            return Err(error);
        }
        let text = format!("a call could not be recorded: {error}");
        self.tape.get(py).get().distrust(py, &text)?;
        let told = self.on_error.get(py).into_bound(py);
        if told.is_none() { Ok(()) } else { told.call1((text,)).map(drop) }
    }

    /// Runs `work` with recording off.
    pub(crate) fn apart<T>(&self, py: Python<'_>, work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        let popped = self.enter(py)?;
        let result = work();
        let left = self.leave(py, popped);
        // The program's error before one of ours.
        let result = result?;
        left.map(|()| result)
    }

    /// True when tensor functions are passed by: inside something opaque, or below another mode.
    pub(super) fn is_off(&self) -> bool {
        self.muted() || self.depth() > 0
    }

    pub(super) fn is_observed(&self, py: Python<'_>) -> bool {
        !self.observer.get(py).is_none(py)
    }

    /// True when a tracer watches the step, or something is told before and after each backward.
    pub(super) fn is_told_of_events(&self, py: Python<'_>) -> bool {
        self.is_observed(py) || !self.carries.get(py).bind(py).is_empty()
    }

    pub(super) fn is_mode(&self, py: Python<'_>, top: &Py<PyAny>) -> bool {
        top.is(self.mode.get(py))
    }

    /// What becomes of `event` when its call has raised `error`: it stays on the tape, marked. What ends the program
    /// (`KeyboardInterrupt`, our own `Stop`) marks nothing.
    pub(super) fn mark_failed(
        &self,
        event: &Bound<'_, Event>,
        args: &Bound<'_, PyAny>,
        kwargs: Option<&Bound<'_, PyDict>>,
        error: &PyErr,
    ) {
        if error.is_instance_of::<PyException>(event.py()) {
            self.failed(event, args, kwargs);
        }
    }

    /// `write`, where there may be no keyword arguments.
    pub(super) fn put(
        &self,
        event: &Bound<'_, Event>,
        args: &Bound<'_, PyAny>,
        kwargs: Option<&Bound<'_, PyDict>>,
        pinned: bool,
    ) -> PyResult<()> {
        let py = event.py();
        let kwargs = kwargs.filter(|kwargs| !kwargs.is_empty());
        let tape = self.tape.get(py);
        let into = pinned.then(|| tape.get());
        if pinned {
            self.note_inputs(event, args, kwargs)?;
        }
        let args = self.encoded(args, into)?;
        let kwargs = match kwargs {
            // Made for this call, and so nobody else's to change.
            Some(kwargs) if kwargs.iter().all(|(_, value)| self.is_atom(&value)) => {
                Some(kwargs.clone().into_any().unbind())
            }
            Some(kwargs) => Some(self.encoded(kwargs, into)?.unbind()),
            None => None,
        };
        let mut writing = event.borrow_mut();
        (writing.args, writing.kwargs) = (Some(args.unbind()), kwargs);
        drop(writing);
        if pinned { tape.get().append(event) } else { Ok(()) }
    }

    fn random(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let cpu = self.torch.cpu_state.call0(py)?;
        let others = self.torch.other_states.bind(py);
        let others = if others.is_none() { py.None() } else { others.call0()?.unbind() };
        Ok((cpu, others).into_pyobject(py)?.into_any().unbind())
    }

    pub(super) fn is_tensor(&self, value: &Bound<'_, PyAny>) -> bool {
        // SAFETY: both are live objects, and the second is a type.
        unsafe { pyo3::ffi::PyObject_TypeCheck(value.as_ptr(), self.torch.tensor.as_ptr().cast()) != 0 }
    }

    pub(super) fn is_atom(&self, value: &Bound<'_, PyAny>) -> bool {
        self.torch.atoms.contains(&(value.get_type_ptr() as usize))
    }

    fn made_by(
        &self,
        tensor: &Bound<'_, PyAny>,
        event: &Bound<'_, Event>,
        position: usize,
        floating: bool,
        chain: usize,
    ) -> PyResult<()> {
        let weak = if floating {
            let forget = Forget { table: Arc::clone(&self.made), address: tensor.as_ptr() as usize };
            PyWeakrefReference::new_with(tensor, Bound::new(tensor.py(), forget)?)?
        } else {
            untracked(PyWeakrefReference::new(tensor)?)
        };
        self.made.insert(tensor, weak, event, position, chain);
        Ok(())
    }
}

thread_local! {
    static HERE: u8 = const { 0 };
}

/// An address that is another in each thread.
fn here() -> usize {
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

/// Takes an object off the lists of the cycle collector, which would walk through all that a step has recorded. What a tape
/// holds is let go of when the step ends, so it is in no cycle that would have to be found.
pub(super) fn untracked<'py, T>(object: Bound<'py, T>) -> Bound<'py, T> {
    // SAFETY: the object is alive, and one that is tracked can be taken off at any time.
    unsafe {
        if pyo3::ffi::PyObject_GC_IsTracked(object.as_ptr()) != 0 {
            pyo3::ffi::PyObject_GC_UnTrack(object.as_ptr().cast());
        }
    }
    object
}

pub(super) fn requires_grad(tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
    tensor.getattr(intern!(tensor.py(), "requires_grad"))?.extract()
}
