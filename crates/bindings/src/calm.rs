//! Optimizer steps in which all is well: the hooks around them, without a frame of Python.
//!
//! Python makes an optimizer known here once nothing about it needs a closer look, and takes that back when something
//! does. Whatever is not ordinary is handed to Python before anything was done.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyFloatMethods, PyList, PyTuple, PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::FxHashMap;

use crate::clock::Clock;
use crate::log::Log;
use crate::look::{Clipped, Look, look};
use crate::monitor::Monitor;
use crate::scan::{Dtypes, Memory, scan};
use crate::tape::{Event, Recording};

/// Of calm steps whose gradients were clipped, one in so many has them read all the same: which are 0, and the largest of all, no norm
/// tells.
const READ_EVERY: u32 = 8;

/// The hooks before and after an optimizer's step.
#[pyclass(frozen, module = "nanscope._core")]
pub(crate) struct Calm {
    recorder: Py<Recording>,
    monitor: Py<Monitor>,
    clock: Py<Clock>,
    before: Py<PyAny>,
    after: Py<PyAny>,
    alarmed: Py<PyAny>,
    /// Below this the update cannot leave its format.
    vouched: f64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    known: FxHashMap<usize, Known>,
    running: Option<Running>,
    log: Option<Py<Log>>,
    loss: Option<f64>,
    /// The loss before a `GradScaler` has scaled it.
    unscaled: Option<f64>,
    /// The `GradScaler` in use.
    scaler: Option<Py<PyAny>>,
    /// The first step that is looked at closely, calm or not.
    look_at: Option<u64>,
    /// What the program has clipped last, and the number of events until then.
    clipped: Option<(u64, Clipped)>,
    /// Spent in this step so far.
    nanos: u64,
    total_nanos: u64,
}

struct Known {
    optimizer: Py<PyWeakrefReference>,
    limits: u64,
    number: u32,
    /// Gradients that were 0 when they were last read, and the calm steps since; `None` before that.
    zeros: Option<(Vec<u32>, u32)>,
}

struct Running {
    optimizer: usize,
    number: u32,
    popped: bool,
    look: Py<Look>,
}

#[pymethods]
impl Calm {
    /// `before` and `after` are the hooks for steps that are not calm, `alarmed(alarm, optimizer, loss)` is told of an alarm and
    /// may raise. A step is calm only while its gradients are below `vouched`.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        recorder: Py<Recording>,
        monitor: Py<Monitor>,
        clock: Py<Clock>,
        before: Py<PyAny>,
        after: Py<PyAny>,
        alarmed: Py<PyAny>,
        vouched: f64,
    ) -> Self {
        Calm { recorder, monitor, clock, before, after, alarmed, vouched, state: Mutex::default() }
    }

    /// Steps of `optimizer` are calm from now on while this is the fingerprint of its limits.
    fn know(&self, optimizer: &Bound<'_, PyAny>, limits: u64, number: u32) -> PyResult<()> {
        let known = Known { optimizer: PyWeakrefReference::new(optimizer)?.unbind(), limits, number, zeros: None };
        let replaced = self.state().known.insert(optimizer.as_ptr() as usize, known);
        drop(replaced);
        Ok(())
    }

    /// Nothing is calm until Python says so again.
    fn forget(&self) {
        let known = std::mem::take(&mut self.state().known);
        drop(known);
    }

    /// `torch.nn.utils.clip_grad_norm_(parameters, max_norm)` has returned `norm`, a 2-norm. What it has read need not be read
    /// again before the update, unless something happens in between.
    fn clipped(&self, parameters: &Bound<'_, PyList>, max_norm: f64, norm: &Bound<'_, PyAny>) -> PyResult<()> {
        let start = Instant::now();
        let clipped = match number(norm)?.filter(|norm| norm.is_finite()) {
            Some(norm) => Clipped::new(parameters, norm, max_norm)?,
            None => None,
        };
        let serial = self.recorder.get().serial();
        let mut state = self.state();
        state.clipped = clipped.map(|clipped| (serial, clipped));
        state.nanos += nanos(start);
        Ok(())
    }

    /// The first step from `step` on is handed to Python, calm or not; None for none. It stays until it is set anew.
    fn look_at(&self, step: Option<u64>) {
        self.state().look_at = step;
    }

    /// The `GradScaler` in use: its scale goes into the records of steps.
    fn scaled_by(&self, scaler: Py<PyAny>) {
        let old = self.state().scaler.replace(scaler);
        drop(old);
    }

    /// A `GradScaler` is about to scale this loss: what is recorded is its value, not the product. Of a loss that is no number of
    /// the CPU nothing is known.
    fn read_unscaled(&self, loss: &Bound<'_, PyAny>) -> PyResult<()> {
        let start = Instant::now();
        let value = self.recorder.get().apart(loss.py(), || number(loss))?;
        let mut state = self.state();
        state.unscaled = value;
        state.nanos += nanos(start);
        Ok(())
    }

    /// What `read_unscaled` has read in the running step.
    #[getter]
    fn unscaled(&self) -> Option<f64> {
        self.state().unscaled
    }

    /// Where the records of steps go; None once it is closed.
    fn write_to(&self, log: Option<Py<Log>>) {
        let old = std::mem::replace(&mut self.state().log, log);
        drop(old);
    }

    /// The loss of the running step.
    #[getter]
    fn loss(&self) -> Option<f64> {
        self.state().loss
    }

    #[setter]
    fn set_loss(&self, loss: Option<f64>) {
        self.state().loss = loss;
    }

    /// Reads the loss that backward begins from; true when it is a finite number of the CPU, and so nothing to look at.
    pub(crate) fn read_loss(&self, event: &Bound<'_, Event>, root: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(value) = number(root)?.filter(|value| value.is_finite()) else { return Ok(false) };
        event.borrow_mut().set_value(value);
        let mut state = self.state();
        state.loss = state.unscaled.or(Some(value));
        Ok(true)
    }

    /// Counts time that the watch has taken in the running step.
    fn spent(&self, nanos: u64) {
        self.state().nanos += nanos;
    }

    /// The time taken in the running step, which is over: counted in `total_nanos`.
    fn end_step(&self) -> u64 {
        let mut state = self.state();
        let nanos = std::mem::take(&mut state.nanos);
        state.total_nanos += nanos;
        (state.loss, state.unscaled) = (None, None);
        nanos
    }

    /// All time taken in steps that are over.
    #[getter]
    fn total_nanos(&self) -> u64 {
        self.state().total_nanos
    }

    /// The hook before a step, as torch calls it.
    fn hook_before<'py>(
        &self,
        optimizer: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = optimizer.py();
        let recording = self.recorder.get();
        if !recording.live() {
            return Ok(py.None().into_bound(py));
        }
        // args[0] is the optimizer; more is a closure.
        if args.len() <= 1
            && kwargs.is_empty()
            && let Some((number, limits)) = self.known(optimizer)
            && !self.is_looked_at(optimizer)
            && self.begin(optimizer, recording, number, limits)?
        {
            return Ok(py.None().into_bound(py));
        }
        self.before.bind(py).call1((optimizer, args, kwargs))
    }

    /// The step that is running has raised: recording is on again. True if it was a calm one.
    fn abandon(&self, py: Python<'_>) -> PyResult<bool> {
        let running = self.state().running.take();
        let Some(running) = running else { return Ok(false) };
        self.recorder.get().leave(py, running.popped)?;
        Ok(true)
    }

    /// The hook after a step, as torch calls it.
    fn hook_after(
        &self,
        optimizer: &Bound<'_, PyAny>,
        args: &Bound<'_, PyTuple>,
        kwargs: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        let py = optimizer.py();
        let running = {
            let mut state = self.state();
            let ours = state.running.as_ref().is_some_and(|running| running.optimizer == optimizer.as_ptr() as usize);
            if ours { state.running.take() } else { None }
        };
        let Some(running) = running else {
            self.after.bind(py).call1((optimizer, args, kwargs))?;
            return Ok(());
        };
        let recording = self.recorder.get();
        let popped = running.popped;
        let ended = self.end(optimizer, recording, running);
        recording.leave(py, popped)?;
        ended
    }
}

impl Calm {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_looked_at(&self, optimizer: &Bound<'_, PyAny>) -> bool {
        let from = self.state().look_at;
        from.is_some_and(|from| self.clock.get().step_of(optimizer) >= from)
    }

    fn known(&self, optimizer: &Bound<'_, PyAny>) -> Option<(u32, u64)> {
        let state = self.state();
        let known = state.known.get(&(optimizer.as_ptr() as usize))?;
        let alive = known.optimizer.bind(optimizer.py()).upgrade()?;
        alive.is(optimizer).then_some((known.number, known.limits))
    }

    /// Begins a calm step; false, with nothing done, if it is not one.
    fn begin(&self, optimizer: &Bound<'_, PyAny>, recording: &Recording, number: u32, limits: u64) -> PyResult<bool> {
        let py = optimizer.py();
        let start = Instant::now();
        let popped = recording.enter(py)?;
        let calm = self.gradients(optimizer, recording, limits);
        let Ok(Some(look)) = calm else {
            recording.leave(py, popped)?;
            return calm.map(|_| false);
        };
        let optimizer = optimizer.as_ptr() as usize;
        let mut state = self.state();
        let seen = look.get();
        if seen.read
            && let Some(known) = state.known.get_mut(&optimizer)
        {
            known.zeros = Some((seen.zeros.clone(), 0));
        }
        state.nanos += nanos(start);
        let stale = state.running.replace(Running { optimizer, number, popped, look });
        drop(state);
        drop(stale);
        Ok(true)
    }

    /// What was seen of the gradients, if they and all else are as they should be.
    fn gradients(
        &self,
        optimizer: &Bound<'_, PyAny>,
        recording: &Recording,
        limits: u64,
    ) -> PyResult<Option<Py<Look>>> {
        let py = optimizer.py();
        // Whatever else somebody has put there is for Python to look at.
        let Ok(groups) = optimizer.getattr(intern!(py, "param_groups"))?.cast_into::<PyList>() else { return Ok(None) };
        let look = match self.look_of_clipped(optimizer, recording, &groups)? {
            Some(look) => look,
            None => look(py, &groups)?,
        };
        if !look.is_calm(limits, self.vouched) {
            return Ok(None);
        }
        let changed = recording.changed(py).into_bound(py);
        if !changed.is_empty() {
            let found = scan(py, &changed)?;
            if found.is_bad_or_unread() {
                return Ok(None);
            }
        }
        let monitor = self.monitor.get();
        if monitor.batch_due(look.norm(), recording) {
            monitor.batch(py, self.clock.get().step_of(optimizer), recording)?;
        }
        Ok(Some(Py::new(py, look)?))
    }

    /// What is known of gradients that were clipped, and nothing has happened since.
    fn look_of_clipped(
        &self,
        optimizer: &Bound<'_, PyAny>,
        recording: &Recording,
        groups: &Bound<'_, PyList>,
    ) -> PyResult<Option<Look>> {
        let (clipped, zeros) = {
            let mut state = self.state();
            let Some((serial, clipped)) = state.clipped.take() else { return Ok(None) };
            let known = state.known.get_mut(&(optimizer.as_ptr() as usize));
            let Some((zeros, steps)) = known.and_then(|known| known.zeros.as_mut()) else { return Ok(None) };
            *steps += 1;
            if serial != recording.serial() || *steps >= READ_EVERY {
                return Ok(None);
            }
            (clipped, zeros.clone())
        };
        clipped.look(groups, &zeros)
    }

    fn end(&self, optimizer: &Bound<'_, PyAny>, recording: &Recording, running: Running) -> PyResult<()> {
        let py = optimizer.py();
        let start = Instant::now();
        recording.count_step();
        let step: u64 = self.clock.get().stepped(optimizer)?;
        let scaler = self.state().scaler.as_ref().map(|scaler| scaler.clone_ref(py));
        let scale = match scaler {
            Some(scaler) => {
                let scale = scaler.bind(py).getattr(intern!(py, "_scale"))?;
                if scale.is_none() { None } else { number(&scale)? }
            }
            None => None,
        };
        let (log, loss, spent) = {
            let mut state = self.state();
            let spent = std::mem::take(&mut state.nanos);
            state.total_nanos += spent;
            (state.log.as_ref().map(|log| log.clone_ref(py)), state.loss, spent)
        };
        let alarm = self.monitor.get().step(
            log.as_ref().map(Py::get),
            step,
            spent,
            running.number,
            loss,
            running.look.get(),
            scale,
            false,
            false,
        );
        let took = nanos(start);
        let told = match alarm {
            Some(alarm) => self.alarmed.bind(py).call1((alarm, optimizer, loss)).map(drop),
            None => Ok(()),
        };
        {
            let mut state = self.state();
            (state.loss, state.unscaled) = (None, None);
        }
        let start = Instant::now();
        recording.boundary(py)?;
        self.state().nanos += took + nanos(start); // counted in the next step: the record of this one is written
        told
    }
}

/// The value of a floating tensor of one element on the CPU; None for others. Read where it lies if that tells all: an operator
/// would be seen by a profiler or a mode of the program's. The memory of a lazy negation holds the other sign.
fn number(tensor: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    let py = tensor.py();
    if let Some(memory) = Memory::of(tensor, Dtypes::of_torch(py)?)? {
        // SAFETY: the caller's reference keeps the tensor, and so its memory.
        let view = unsafe { memory.view() };
        if view.len() != 1 || !view.dtype().is_floating() {
            return Ok(None);
        }
        if !tensor.call_method0(intern!(py, "is_neg"))?.extract::<bool>()? {
            return Ok(Some(view.get(0)));
        }
    }
    if !tensor.getattr(intern!(py, "is_cpu"))?.extract::<bool>()?
        || tensor.call_method0(intern!(py, "numel"))?.extract::<usize>()? != 1
    {
        return Ok(None);
    }
    let value = tensor.call_method0(intern!(py, "item"))?;
    Ok(value.cast_exact::<PyFloat>().ok().map(PyFloatMethods::value))
}

fn nanos(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
