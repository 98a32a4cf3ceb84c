use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

/// An attribute that Python sets.
pub(super) struct Slot<T = PyAny>(Mutex<Py<T>>);

impl<T> Slot<T> {
    pub(super) fn new(value: Py<T>) -> Slot<T> {
        Slot(Mutex::new(value))
    }

    pub(super) fn get(&self, py: Python<'_>) -> Py<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone_ref(py)
    }

    pub(super) fn set(&self, value: Py<T>) {
        // The old one is dropped unlocked: that may run Python.
        let old = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), value);
        drop(old);
    }
}
