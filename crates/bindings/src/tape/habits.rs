use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use pyo3::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

/// Calls without random numbers after which none are expected.
const QUIET_CALLS: i64 = 3;
/// Calls after which a module that drew no random numbers is looked at again.
const RANDOM_AGAIN: i64 = 64;

/// What calls of an outermost module were seen to do, as far as every call asks.
#[pyclass(subclass, frozen, module = "nanscope._core")]
pub(crate) struct Habits {
    root: Py<PyWeakrefReference>,
    steady: AtomicBool,
    /// In evaluation and in training: calls in a row that drew no random numbers from torch; -1 once one has.
    quiet: [AtomicI64; 2],
}

#[pymethods]
impl Habits {
    #[new]
    fn new(root: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Habits {
            root: PyWeakrefReference::new(root)?.unbind(),
            steady: AtomicBool::new(false),
            quiet: [AtomicI64::new(0), AtomicI64::new(0)],
        })
    }

    /// The module; None when it is gone.
    pub(super) fn root<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.root.bind(py).upgrade()
    }

    /// Nothing was ever seen to change: there is nothing to copy before a call.
    #[getter]
    pub(super) fn steady(&self) -> bool {
        self.steady.load(Relaxed)
    }

    #[setter]
    fn set_steady(&self, steady: bool) {
        self.steady.store(steady, Relaxed);
    }

    /// Whether the next call may draw random numbers from torch. Once it has, it always may; `looked` is told afterwards.
    ///
    /// A module that begins to draw between two looks makes the replay of that step unfaithful, which is seen and mended by
    /// a rerun; the state of all generators at every call would cost more than the rest of its recording.
    fn draws(&self, training: &Bound<'_, PyAny>) -> PyResult<bool> {
        let training = training.is_truthy()?;
        let draws = self.may_draw(training);
        if !draws {
            self.count(training);
        }
        Ok(draws)
    }

    /// A call is over that might have drawn random numbers, and has or has not.
    fn looked(&self, training: &Bound<'_, PyAny>, drew: bool) -> PyResult<()> {
        let quiet = &self.quiet[usize::from(training.is_truthy()?)];
        if drew {
            quiet.store(-1, Relaxed);
        } else if quiet.load(Relaxed) >= 0 {
            quiet.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    /// Whether a call was seen to draw random numbers.
    fn has_drawn(&self, training: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.quiet[usize::from(training.is_truthy()?)].load(Relaxed) < 0)
    }
}

impl Habits {
    /// `draws`, without counting the call.
    pub(super) fn may_draw(&self, training: bool) -> bool {
        let quiet = self.quiet[usize::from(training)].load(Relaxed);
        quiet < QUIET_CALLS || quiet % RANDOM_AGAIN == 0
    }

    /// A call that draws nothing.
    pub(super) fn count(&self, training: bool) {
        self.quiet[usize::from(training)].fetch_add(1, Relaxed);
    }
}
