use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods, PyList};

use super::events::empty;

/// What is known of the running step besides its tape.
pub(super) struct Step {
    /// Outermost modules that were called.
    pub(super) roots: Py<PyList>,
    /// Parameters that the program itself has changed since backward.
    pub(super) updated: Py<PyList>,
    /// Storage -> parameter whose `.data` was taken.
    pub(super) aliased: Py<PyDict>,
    /// Buffers that module calls have changed.
    pub(super) changed: Py<PyList>,
    /// The present tape belongs to a trip.
    pub(super) kept: AtomicBool,
    pub(super) backward_done: AtomicBool,
    pub(super) backwards: AtomicU64,
    /// Backward is running.
    pub(super) in_backward: AtomicBool,
    /// Of the last backward or grad event.
    pub(super) backward_serial: AtomicU64,
}

impl Step {
    pub(super) fn new(py: Python<'_>) -> Self {
        Step {
            roots: PyList::empty(py).unbind(),
            updated: PyList::empty(py).unbind(),
            aliased: PyDict::new(py).unbind(),
            changed: PyList::empty(py).unbind(),
            kept: AtomicBool::new(false),
            backward_done: AtomicBool::new(false),
            backwards: AtomicU64::new(0),
            in_backward: AtomicBool::new(false),
            backward_serial: AtomicU64::new(0),
        }
    }

    /// The next step begins.
    pub(super) fn clear(&self, py: Python<'_>) -> PyResult<()> {
        empty(self.roots.bind(py))?;
        if self.backward_done.swap(false, Relaxed) {
            empty(self.updated.bind(py))?;
            let aliased = self.aliased.bind(py);
            if !aliased.is_empty() {
                aliased.clear();
            }
        }
        empty(self.changed.bind(py))?;
        self.backwards.store(0, Relaxed);
        Ok(())
    }

    /// True when nothing that the program does now can be an update of its own, or what follows one.
    pub(super) fn is_forward(&self, py: Python<'_>) -> bool {
        !self.backward_done.load(Relaxed) && self.updated.bind(py).is_empty()
    }
}
