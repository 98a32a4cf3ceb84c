use std::sync::atomic::Ordering::Relaxed;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyWeakrefReference};

use super::event::Ref;
use super::events::Tape;
use super::recording::{Recording, requires_grad, untracked};

/// Bytes of outside tensors that events without a graph may keep alive (an evaluation between steps).
const FLOATING_MAX_BYTES: u64 = 256 << 20;

impl Recording {
    /// See `encode`.
    pub(super) fn encoded<'py>(&self, value: &Bound<'py, PyAny>, tape: Option<&Tape>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        if self.is_atom(value) {
            return Ok(value.clone());
        }
        if self.is_tensor(value) {
            return self.encode_tensor(value, tape);
        }
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            let items = tuple.iter().map(|item| self.encoded(&item, tape)).collect::<PyResult<Vec<_>>>()?;
            return Ok(untracked(PyTuple::new(py, items)?.into_any()));
        }
        if let Ok(list) = value.cast_exact::<PyList>() {
            let items = list.iter().map(|item| self.encoded(&item, tape)).collect::<PyResult<Vec<_>>>()?;
            return Ok(PyList::new(py, items)?.into_any());
        }
        if let Ok(dict) = value.cast_exact::<PyDict>() {
            let encoded = PyDict::new(py);
            for (key, item) in dict {
                encoded.set_item(key, self.encoded(&item, tape)?)?;
            }
            return Ok(encoded.into_any());
        }
        if let Ok(tuple) = value.cast::<PyTuple>()
            && value.hasattr(intern!(py, "_fields"))?
        {
            let items = tuple.iter().map(|item| self.encoded(&item, tape)).collect::<PyResult<Vec<_>>>()?;
            // Not by its own constructor, which may look at what it is given (`PackedSequence`): references are no tensors.
            let made = (value.get_type(), PyTuple::new(py, items)?);
            return py.get_type::<PyTuple>().call_method1(intern!(py, "__new__"), made);
        }
        Ok(value.clone())
    }

    fn encode_tensor<'py>(&self, value: &Bound<'py, PyAny>, tape: Option<&Tape>) -> PyResult<Bound<'py, PyAny>> {
        let py = value.py();
        if let Some((event, position)) = self.made.find(value) {
            return Ok(untracked(Bound::new(py, Ref { event, position })?.into_any()));
        }
        let key = value.as_ptr() as usize;
        if let Some(tape) = tape {
            let held = tape.held(py).into_bound(py);
            if !held.contains(key)? {
                let version = version(value)?;
                held.set_item(key, (value, version))?;
                tape.fresh(py).bind(py).append(PyWeakrefReference::new(value)?)?;
            }
            return Ok(value.clone());
        }
        let tape = self.tape.get(py);
        let read = tape.get().read(py).into_bound(py);
        if !read.contains(key)? {
            let weak = PyWeakrefReference::new(value)?;
            read.set_item(key, &weak)?;
            tape.get().fresh(py).bind(py).append(weak)?;
            self.count(value)?;
        }
        Ok(value.clone())
    }

    /// Counts what events without a graph keep alive; beyond the limit they are forgotten.
    fn count(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = value.py();
        let elements: u64 = value.call_method0(intern!(py, "numel"))?.extract()?;
        let size: u64 = value.call_method0(intern!(py, "element_size"))?.extract()?;
        let bytes = elements * size;
        if self.floating_bytes.fetch_add(bytes, Relaxed) + bytes > FLOATING_MAX_BYTES {
            self.floating_bytes.store(0, Relaxed);
            self.made.retain(py, requires_grad)?;
        }
        Ok(())
    }
}

/// How often a tensor was changed in place; 0 for an inference tensor, whose changes are not counted.
fn version(tensor: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = tensor.py();
    match tensor.getattr(intern!(py, "_version")) {
        Ok(version) => version.extract(),
        Err(error) => {
            if tensor.call_method0(intern!(py, "is_inference"))?.extract()? {
                Ok(0)
            } else {
                Err(error)
            }
        }
    }
}
