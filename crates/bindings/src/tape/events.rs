use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods, PyList, PyListMethods};

use super::event::Event;
use super::slot::Slot;

/// A tape longer than this cannot be a step one waits for; the rerun takes over.
const EVENTS_MAX: usize = 50_000;

/// The events since the last optimizer step, and the outside tensors they read.
///
/// `held` maps `id(tensor)` to `(tensor, version when first read)` for pinned events, `read` to a weak reference for the
/// others; `originals` maps it to `(tensor, copy made before the first in-place change)`. `fresh` holds weak references to
/// outside tensors whose storage was not looked at yet, `storages` maps a storage to that of the outside tensor read
/// through it. `unsafe` lists reasons why a replay cannot be exact.
#[pyclass(frozen, module = "nanscope._core")]
pub(crate) struct Tape {
    events: Slot<PyList>,
    held: Slot<PyDict>,
    fresh: Slot<PyList>,
    read: Slot<PyDict>,
    storages: Slot<PyDict>,
    originals: Slot<PyDict>,
    reasons: Slot<PyList>,
    overflow: AtomicBool,
}

#[pymethods]
impl Tape {
    /// A tape without events.
    #[new]
    pub(super) fn new(py: Python<'_>) -> Self {
        let (list, dict) = (|| PyList::empty(py).unbind(), || PyDict::new(py).unbind());
        Tape {
            events: Slot::new(list()),
            held: Slot::new(dict()),
            fresh: Slot::new(list()),
            read: Slot::new(dict()),
            storages: Slot::new(dict()),
            originals: Slot::new(dict()),
            reasons: Slot::new(list()),
            overflow: AtomicBool::new(false),
        }
    }

    #[getter]
    pub(super) fn events(&self, py: Python<'_>) -> Py<PyList> {
        self.events.get(py)
    }

    #[setter]
    fn set_events(&self, events: Py<PyList>) {
        self.events.set(events);
    }

    #[getter]
    pub(super) fn held(&self, py: Python<'_>) -> Py<PyDict> {
        self.held.get(py)
    }

    #[setter]
    fn set_held(&self, held: Py<PyDict>) {
        self.held.set(held);
    }

    #[getter]
    pub(super) fn fresh(&self, py: Python<'_>) -> Py<PyList> {
        self.fresh.get(py)
    }

    #[setter]
    fn set_fresh(&self, fresh: Py<PyList>) {
        self.fresh.set(fresh);
    }

    #[getter]
    pub(super) fn read(&self, py: Python<'_>) -> Py<PyDict> {
        self.read.get(py)
    }

    #[setter]
    fn set_read(&self, read: Py<PyDict>) {
        self.read.set(read);
    }

    #[getter]
    fn storages(&self, py: Python<'_>) -> Py<PyDict> {
        self.storages.get(py)
    }

    #[setter]
    fn set_storages(&self, storages: Py<PyDict>) {
        self.storages.set(storages);
    }

    #[getter]
    fn originals(&self, py: Python<'_>) -> Py<PyDict> {
        self.originals.get(py)
    }

    #[setter]
    fn set_originals(&self, originals: Py<PyDict>) {
        self.originals.set(originals);
    }

    #[getter]
    fn r#unsafe(&self, py: Python<'_>) -> Py<PyList> {
        self.reasons.get(py)
    }

    /// Whether there were more events than a tape takes.
    #[getter]
    fn overflow(&self) -> bool {
        self.overflow.load(Relaxed)
    }
}

impl Tape {
    /// Puts an event on the tape. A full tape is marked and takes no more.
    pub(super) fn append(&self, event: &Bound<'_, Event>) -> PyResult<()> {
        let events = self.events(event.py()).into_bound(event.py());
        if events.len() >= EVENTS_MAX {
            self.overflow.store(true, Relaxed);
            return Ok(());
        }
        events.append(event)
    }

    /// Notes why a replay of this tape cannot be exact.
    pub(super) fn distrust(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        self.reasons.get(py).bind(py).append(reason)
    }

    /// Empties the tape for the next step; its containers are used again.
    pub(super) fn clear(&self, py: Python<'_>) -> PyResult<()> {
        for list in [&self.events, &self.fresh, &self.reasons] {
            empty(list.get(py).bind(py))?;
        }
        for dict in [&self.held, &self.read, &self.storages, &self.originals] {
            let dict = dict.get(py).into_bound(py);
            if !dict.is_empty() {
                dict.clear();
            }
        }
        self.overflow.store(false, Relaxed);
        Ok(())
    }
}

/// Empties a list.
pub(super) fn empty(list: &Bound<'_, PyList>) -> PyResult<()> {
    let length = list.len();
    if length > 0 { list.del_slice(0, length) } else { Ok(()) }
}
