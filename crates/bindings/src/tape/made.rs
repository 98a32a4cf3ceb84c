use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyList, PyWeakrefMethods, PyWeakrefReference};
use rustc_hash::FxHashMap;

use super::event::Event;

/// Which event made a tensor, as which of its outputs. `chain` counts in-place changes under `no_grad`.
#[pyclass(frozen, module = "nanscope._core")]
pub(crate) struct Made {
    tensor: Py<PyWeakrefReference>,
    #[pyo3(get)]
    event: Py<Event>,
    #[pyo3(get)]
    position: usize,
    #[pyo3(get)]
    chain: usize,
}

struct Entry {
    tensor: Py<PyWeakrefReference>,
    event: Py<Event>,
    position: usize,
    chain: usize,
}

/// Tensors by address. An address is given out again when a tensor dies: the weak reference tells which one was meant.
///
/// What is taken out of the table is dropped only when the table is unlocked again: the death of an event can bring
/// about that of a tensor, whose weak reference then wants to take out its own entry.
#[derive(Default)]
pub(super) struct Table(Mutex<FxHashMap<usize, Entry>>);

impl Table {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<usize, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn insert(
        &self,
        tensor: &Bound<'_, PyAny>,
        weak: Bound<'_, PyWeakrefReference>,
        event: &Bound<'_, Event>,
        position: usize,
        chain: usize,
    ) {
        let entry = Entry { tensor: weak.unbind(), event: event.clone().unbind(), position, chain };
        let replaced = self.lock().insert(tensor.as_ptr() as usize, entry);
        drop(replaced);
    }

    /// The event and position that made `tensor`.
    pub(super) fn find(&self, tensor: &Bound<'_, PyAny>) -> Option<(Py<Event>, usize)> {
        let py = tensor.py();
        let table = self.lock();
        let entry = table.get(&(tensor.as_ptr() as usize))?;
        // Comparing with a live object: the weak reference of a dead one gives None, which it is not.
        let alive = entry.tensor.bind(py).upgrade()?;
        alive.is(tensor).then(|| (entry.event.clone_ref(py), entry.position))
    }

    /// Whether an event made one of them.
    pub(super) fn has_one_of(&self, tensors: &Bound<'_, PyList>) -> bool {
        let table = self.lock();
        let made = |tensor: Bound<'_, PyAny>| {
            let entry = table.get(&(tensor.as_ptr() as usize));
            entry.and_then(|entry| entry.tensor.bind(tensor.py()).upgrade()).is_some_and(|alive| alive.is(&tensor))
        };
        !table.is_empty() && tensors.iter().any(made)
    }

    pub(super) fn get(&self, tensor: &Bound<'_, PyAny>) -> Option<Made> {
        let py = tensor.py();
        let table = self.lock();
        let entry = table.get(&(tensor.as_ptr() as usize))?;
        let alive = entry.tensor.bind(py).upgrade()?;
        alive.is(tensor).then(|| Made {
            tensor: entry.tensor.clone_ref(py),
            event: entry.event.clone_ref(py),
            position: entry.position,
            chain: entry.chain,
        })
    }

    pub(super) fn living(&self, event: &Bound<'_, Event>) -> Vec<Py<PyAny>> {
        let py = event.py();
        let table = self.lock();
        let of_event = table.values().filter(|entry| entry.event.is(event));
        of_event.filter_map(|entry| Some(entry.tensor.bind(py).upgrade()?.unbind())).collect()
    }

    /// Living tensors that events after `serial` made.
    pub(super) fn since<'py>(&self, py: Python<'py>, serial: u64) -> Vec<Bound<'py, PyAny>> {
        let table = self.lock();
        let later = table.values().filter(|entry| entry.event.borrow(py).serial > serial);
        later.filter_map(|entry| entry.tensor.bind(py).upgrade()).collect()
    }

    pub(super) fn remove(&self, address: usize) {
        let removed = self.lock().remove(&address);
        drop(removed);
    }

    /// Removes the entry at `address` if it is still the one of `weak`, whose tensor has died.
    fn died(&self, address: usize, weak: &Bound<'_, PyAny>) {
        let mut table = self.lock();
        let same = table.get(&address).is_some_and(|entry| entry.tensor.is(weak));
        let removed = if same { table.remove(&address) } else { None };
        drop(table);
        drop(removed);
    }

    /// Keeps the entries of living tensors that `keep` wants.
    pub(super) fn retain(
        &self,
        py: Python<'_>,
        mut keep: impl FnMut(&Bound<'_, PyAny>) -> PyResult<bool>,
    ) -> PyResult<()> {
        // The questions may run Python: the table must not be locked then.
        let all: Vec<(usize, Py<PyWeakrefReference>)> =
            self.lock().iter().map(|(address, entry)| (*address, entry.tensor.clone_ref(py))).collect();
        let mut stale = vec![];
        for (address, weak) in all {
            let wanted = match weak.bind(py).upgrade() {
                Some(tensor) => keep(&tensor)?,
                None => false,
            };
            if !wanted {
                stale.push(address);
            }
        }
        let removed: Vec<Option<Entry>> = {
            let mut table = self.lock();
            stale.iter().map(|address| table.remove(address)).collect()
        };
        drop(removed);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(super) fn clear(&self) {
        let removed = std::mem::take(&mut *self.lock());
        drop(removed);
    }
}

/// Called when a tensor dies: its entry goes with it.
#[pyclass(frozen, module = "nanscope._core")]
pub(super) struct Forget {
    pub(super) table: std::sync::Arc<Table>,
    pub(super) address: usize,
}

#[pymethods]
impl Forget {
    fn __call__(&self, weak: &Bound<'_, PyAny>) {
        self.table.died(self.address, weak);
    }
}

#[pymethods]
impl Made {
    /// The tensor; None when it is gone.
    fn tensor(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        Some(self.tensor.bind(py).upgrade()?.unbind())
    }
}
