//! The memory of a run over its steps and inputs. What it looks for is told in `crates/diagnose/src/monitor`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use nanscope_diagnose::{Input, Signals, monitor};
use nanscope_trace::schema::{Place, StepRecord};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::log::Log;
use crate::look::Look;
use crate::scan::{Dtypes, Memory};
use crate::tape::Recording;

/// What shows over several steps while every value is still finite.
#[pyclass(frozen, get_all, module = "nanscope._core")]
pub(crate) struct Alarm {
    /// `divergence`, `loss-scale-collapse`, `silent-zero`, `pile-up`, `zero-rate` or `dead-units`.
    kind: &'static str,
    /// Where it began.
    step: u64,
    /// Where it was certain.
    seen: u64,
    /// Its position among all alarms of the monitor.
    index: usize,
}

/// The memory of one run. Bounded; safe to use from several threads.
#[pyclass(frozen, module = "nanscope._core")]
pub(crate) struct Monitor(Mutex<State>);

/// The monitor, room for the norms of the groups, and which batches were looked at.
struct State(monitor::Monitor, Vec<f64>, Batches);

/// Steps whose inputs are all looked at.
const EVERY_BATCH: u64 = 32;
/// Steps between two looks later on.
const BATCH_AGAIN: u64 = 16;
/// Times the last gradient norm that makes a step worth a look.
const JUMP: f64 = 4.0;

#[derive(Default)]
struct Batches {
    steps: u64,
    norm: Option<f64>,
    /// The last step that was looked at.
    seen: Option<u64>,
}

#[pymethods]
impl Monitor {
    /// A monitor that has seen nothing.
    #[new]
    fn new() -> Self {
        Monitor(Mutex::new(State(monitor::Monitor::new(), vec![], Batches::default())))
    }

    /// Looks at one optimizer step, taken or skipped; what was not read is None. Gives each kind of alarm once per optimizer.
    ///
    /// `optimizer` counts from 0 in the order in which optimizers were first seen. `groups` are the gradient norms of the
    /// parameter groups, `tensors` the number of gradients, `zeros` the positions, ascending, of the parameters whose
    /// gradient is exactly 0 throughout, `lr` the largest of all groups. `carried`: the gradients contain those of the
    /// previous step.
    #[pyo3(signature = (step, optimizer=0, loss=None, grad_norm=None, grad_max=None, groups=vec![], tensors=0, zeros=vec![], lr=None, scale=None, skipped=false, carried=false))]
    #[allow(clippy::too_many_arguments)]
    fn observe(
        &self,
        step: u64,
        optimizer: u32,
        loss: Option<f64>,
        grad_norm: Option<f64>,
        grad_max: Option<f64>,
        groups: Vec<f64>,
        tensors: u32,
        zeros: Vec<u32>,
        lr: Option<f64>,
        scale: Option<f64>,
        skipped: bool,
        carried: bool,
    ) -> Option<Alarm> {
        let (groups, zeros) = (&groups[..], &zeros[..]);
        let State(monitor, ..) = &mut *self.lock();
        let alarm = monitor.observe(&Signals {
            step,
            optimizer,
            loss,
            grad_norm,
            grad_max,
            groups,
            tensors,
            zeros,
            lr,
            scale,
            skipped,
            carried,
        })?;
        let index = monitor.alarms().len() - 1;
        Some(Alarm { kind: alarm.kind.name(), step: alarm.step, seen: alarm.seen, index })
    }

    /// `observe`, and the step's record in `log`, from one look at the optimizer; `log` is None once it is closed.
    /// `watch_nanos` is what the watch itself took.
    #[pyo3(signature = (log, step, watch_nanos, optimizer, loss, look, scale, skipped, carried))]
    #[allow(clippy::too_many_arguments, reason = "one call at every step is what this is for")]
    pub(crate) fn step(
        &self,
        log: Option<&Log>,
        step: u64,
        watch_nanos: u64,
        optimizer: u32,
        loss: Option<f64>,
        look: &Look,
        scale: Option<f64>,
        skipped: bool,
        carried: bool,
    ) -> Option<Alarm> {
        let norm = look.norm();
        if let Some(log) = log {
            log.append_step(StepRecord {
                step,
                nanos: 0,
                watch_nanos,
                loss,
                grad_norm: Some(norm),
                grad_max: look.largest_read(),
                scale,
                lr: look.lr,
                skipped,
            });
        }
        let mut monitor = self.lock();
        let groups = &mut monitor.1;
        groups.clear();
        groups.extend(look.squares.iter().map(|squares| squares.sqrt()));
        let State(monitor, groups, _) = &mut *monitor;
        let alarm = monitor.observe(&Signals {
            step,
            optimizer,
            loss,
            grad_norm: Some(norm),
            grad_max: look.largest_read(),
            groups,
            tensors: u32::try_from(look.gradients).unwrap_or(u32::MAX),
            zeros: &look.zeros,
            lr: look.largest_lr,
            scale,
            skipped,
            carried,
        })?;
        let index = monitor.alarms().len() - 1;
        Some(Alarm { kind: alarm.kind.name(), step: alarm.step, seen: alarm.seen, index })
    }

    /// Looks at what came into the running step from outside, as `recording` has noted it, if that was not done yet.
    /// `inputs` tells the rest.
    pub(crate) fn batch(&self, py: Python<'_>, step: u64, recording: &Recording) -> PyResult<()> {
        let seen = self.lock().2.seen.replace(step);
        if seen == Some(step) {
            return Ok(());
        }
        let (tensors, slots) = recording.batch(py);
        self.inputs(py, step, &PyList::new(py, tensors)?, Some(slots))
    }

    /// Whether the inputs of a step with this gradient norm are to be looked at: all of the first steps, later every 16th
    /// and those where the norm jumps. Asked once a step; `recording` is told whether to keep those of the next.
    pub(crate) fn batch_due(&self, norm: f64, recording: &Recording) -> bool {
        let Batches { steps, norm: last, .. } = &mut self.lock().2;
        *steps += 1;
        let jump = last.is_some_and(|last| norm > JUMP * last);
        *last = Some(norm);
        let due = |step: u64| step <= EVERY_BATCH || step.is_multiple_of(BATCH_AGAIN);
        recording.keep_inputs(due(*steps + 1));
        due(*steps) || jump
    }

    /// Looks at what comes into a step from outside, the GIL released: once for every batch, before its forward pass.
    ///
    /// `slots` says which input each tensor is (0 to 31, the same number for the same argument at every step); without it
    /// their order does. What cannot be read in place is left out. Torch functions may be intercepted by a mode or subclass:
    /// call with those disabled. Raises RuntimeError when torch has not been imported, ValueError when `slots` are not as
    /// many as `tensors`.
    #[pyo3(signature = (step, tensors, slots=None))]
    fn inputs(&self, py: Python<'_>, step: u64, tensors: &Bound<'_, PyList>, slots: Option<Vec<u32>>) -> PyResult<()> {
        let dtypes = Dtypes::of_torch(py)?;
        // One reference each: another thread may change the list while the GIL is released.
        let owned: Vec<Bound<'_, PyAny>> = tensors.iter().collect();
        if let Some(slots) = slots.as_ref().filter(|slots| slots.len() != owned.len()) {
            let message = format!("expected one slot for each of {} tensors, got {}", owned.len(), slots.len());
            return Err(PyValueError::new_err(message));
        }
        let mut read = Vec::with_capacity(owned.len());
        for (index, tensor) in owned.iter().enumerate() {
            if let Some(memory) = Memory::of(tensor, dtypes)? {
                let shape: Vec<usize> = tensor.getattr(intern!(py, "shape"))?.extract()?;
                read.push((slots.as_ref().map_or(index as u32, |slots| slots[index]), memory, shape));
            }
        }
        py.detach(|| {
            let inputs: Vec<Input> = read
                .iter()
                .map(|(slot, memory, shape)| {
                    // SAFETY: `owned` keeps every tensor, and so its memory, until after this.
                    Input { slot: *slot, view: unsafe { memory.view() }, shape }
                })
                .collect();
            self.lock().0.inputs(step, &inputs);
        });
        Ok(())
    }

    /// Names of the inputs by slot, as the ledger calls them: `argument x of Net.forward`.
    fn name_inputs(&self, names: Vec<String>) {
        self.lock().0.name_inputs(names);
    }

    /// Names of an optimizer's parameters, in its order. For alarms given so far.
    fn name_parameters(&self, optimizer: u32, names: Vec<String>) {
        self.lock().0.name_parameters(optimizer, &names);
    }

    /// The trip that an alarm of this monitor is, as JSON. `place` is the JSON of the line that called backward or the
    /// optimizer's step.
    ///
    /// Raises ValueError when `place` is no place, or the alarm is another monitor's.
    #[pyo3(signature = (alarm, rank=0, place=None))]
    fn trip_json(&self, alarm: &Alarm, rank: u32, place: Option<&str>) -> PyResult<String> {
        let place: Option<Place> = place
            .map(serde_json::from_str)
            .transpose()
            .map_err(|error| PyValueError::new_err(format!("place: {error}")))?;
        let state = self.lock();
        let alarms = state.0.alarms();
        let known = alarms.get(alarm.index).ok_or_else(|| {
            PyValueError::new_err(format!("expected one of {} alarms, got number {}", alarms.len(), alarm.index))
        })?;
        json(&monitor::trip(known, rank, place))
    }

    /// All that is remembered, as JSON: `history` of a ledger.
    fn history_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| json(&self.lock().0.history()))
    }
}

impl Monitor {
    // Never held across a call into Python, so waiting for it while attached cannot lock up.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}
