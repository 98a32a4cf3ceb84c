use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

/// Which step of the user's loop it is, with any number of optimizers.
///
/// Counts rounds of optimizer steps: a round ends when an optimizer steps that has stepped in it already, or when one of
/// its optimizers is gone. With one optimizer this is the number of completed steps; with a GAN's two, the number of
/// completed loop iterations.
#[pyclass(frozen, module = "nanscope._core")]
pub(crate) struct Clock(Mutex<State>);

#[derive(Default)]
struct State {
    rounds: u64,
    /// Who has stepped in this round.
    round: Vec<Py<PyWeakrefReference>>,
    /// How many stepped in the last one.
    last: usize,
}

impl State {
    fn has(&self, optimizer: &Bound<'_, PyAny>) -> bool {
        let same =
            |member: &Py<PyWeakrefReference>| member.bind(optimizer.py()).upgrade().is_some_and(|m| m.is(optimizer));
        self.round.iter().any(same)
    }

    fn settle(&mut self, py: Python<'_>) {
        if self.round.iter().any(|member| member.bind(py).upgrade().is_none()) {
            self.close();
        }
    }

    fn close(&mut self) {
        self.rounds += 1;
        self.last = self.round.len();
        self.round.clear();
    }
}

#[pymethods]
impl Clock {
    #[new]
    fn new() -> Self {
        Clock(Mutex::default())
    }

    /// The step that `optimizer` is about to take.
    pub(crate) fn step_of(&self, optimizer: &Bound<'_, PyAny>) -> u64 {
        let mut state = self.lock();
        state.settle(optimizer.py());
        state.rounds + u64::from(state.has(optimizer))
    }

    /// The step that the program is in, when no optimizer is at work.
    fn now(&self, py: Python<'_>) -> u64 {
        let mut state = self.lock();
        state.settle(py);
        state.rounds + u64::from(!state.round.is_empty() && state.round.len() >= state.last)
    }

    /// `optimizer` has completed (or skipped) a step; returns which.
    pub(crate) fn stepped(&self, optimizer: &Bound<'_, PyAny>) -> PyResult<u64> {
        {
            let mut state = self.lock();
            if let [_] = state.round[..]
                && state.has(optimizer)
            {
                // One optimizer: its round ends when it steps again.
                state.rounds += 1;
                state.last = 1;
                return Ok(state.rounds);
            }
        }
        let member = PyWeakrefReference::new(optimizer)?.unbind();
        let mut state = self.lock();
        state.settle(optimizer.py());
        if state.has(optimizer) {
            state.close();
        }
        state.round.push(member);
        Ok(state.rounds)
    }

    /// Steps completed so far, a begun round counted.
    fn completed(&self) -> u64 {
        let state = self.lock();
        state.rounds + u64::from(!state.round.is_empty())
    }
}

impl Clock {
    // Only weak references are read and dropped under the lock, which runs no Python.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
