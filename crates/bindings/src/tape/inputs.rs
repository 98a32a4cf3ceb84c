use std::sync::atomic::Ordering::Relaxed;
use std::sync::{MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyWeakrefMethods, PyWeakrefReference};

use super::event::Event;
use super::recording::{Recording, requires_grad};

/// Inputs that are noted in a step.
const INPUTS_MAX: usize = 16;

/// A tensor without a graph that a pinned event of this step took in.
pub(super) struct Input {
    pub(super) tensor: Py<PyWeakrefReference>,
    /// Keeps it until the step ends, in a step whose inputs are to be looked at.
    _kept: Option<Py<PyAny>>,
    pub(super) event: u64,
    /// Its number among the tensors in the event's arguments.
    pub(super) leaf: usize,
}

impl Recording {
    /// The inputs of this step that are alive, and their slots.
    pub(crate) fn batch<'py>(&self, py: Python<'py>) -> (Vec<Bound<'py, PyAny>>, Vec<u32>) {
        let noted: Vec<Option<Bound<'_, PyAny>>> =
            self.inputs().iter().map(|input| input.tensor.bind(py).upgrade()).collect();
        let (mut tensors, mut slots) = (vec![], vec![]);
        for (slot, tensor) in noted.into_iter().enumerate() {
            if let Some(tensor) = tensor {
                tensors.push(tensor);
                slots.push(slot as u32);
            }
        }
        (tensors, slots)
    }

    pub(super) fn inputs(&self) -> MutexGuard<'_, Vec<Input>> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note_inputs(
        &self,
        event: &Bound<'_, Event>,
        args: &Bound<'_, PyAny>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        if self.inputs().len() >= INPUTS_MAX {
            return Ok(());
        }
        let serial = event.borrow().serial;
        let mut leaf = 0;
        self.note_leaves(serial, &mut leaf, args)?;
        kwargs.map_or(Ok(()), |kwargs| self.note_leaves(serial, &mut leaf, kwargs))
    }

    fn note_leaves(&self, event: u64, leaf: &mut usize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if self.is_atom(value) {
            return Ok(());
        }
        if self.is_tensor(value) {
            // Of torch's own type: parameters and other subclasses are no data.
            if value.get_type_ptr().cast() == self.torch.tensor.as_ptr() && !requires_grad(value)? {
                let tensor = PyWeakrefReference::new(value)?.unbind();
                let mut inputs = self.inputs();
                let known = inputs.iter().any(|input| input.tensor.is(&tensor));
                if !known && inputs.len() < INPUTS_MAX {
                    let kept = self.keeps_inputs.load(Relaxed).then(|| value.clone().unbind());
                    inputs.push(Input { tensor, _kept: kept, event, leaf: *leaf });
                }
            }
            *leaf += 1;
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            for item in tuple {
                self.note_leaves(event, leaf, &item)?;
            }
        } else if let Ok(list) = value.cast_exact::<PyList>() {
            for item in list {
                self.note_leaves(event, leaf, &item)?;
            }
        } else if let Ok(dict) = value.cast_exact::<PyDict>() {
            for item in dict.values() {
                self.note_leaves(event, leaf, &item)?;
            }
        }
        Ok(())
    }
}
