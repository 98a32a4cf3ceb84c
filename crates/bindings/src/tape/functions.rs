use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::recording::{Recording, requires_grad};

/// What a function mode calls: a function that is passed by, and one that only computes, without a frame of Python.
#[pyclass(frozen, module = "nanscope._core")]
pub(crate) struct Functions {
    recorder: Py<Recording>,
    /// What a function is to the tape.
    kinds: Py<PyDict>,
    skip: u8,
    pure: u8,
    other: Py<PyAny>,
    returned: Py<PyAny>,
}

#[pymethods]
impl Functions {
    /// `kinds` tells what a function is: `skip` is passed by, `pure` computes, and all else, what it does not know included, is
    /// `other(func, types, args, kwargs)`. `returned(func, args, kwargs, result, pinned)` is told of results after backward;
    /// `pinned` says that one has a graph.
    #[new]
    fn new(
        recorder: Py<Recording>,
        kinds: Py<PyDict>,
        skip: u8,
        pure: u8,
        other: Py<PyAny>,
        returned: Py<PyAny>,
    ) -> Self {
        Functions { recorder, kinds, skip, pure, other, returned }
    }

    /// As `__torch_function__` of a mode.
    #[pyo3(signature = (mode, func, types, args=None, kwargs=None))]
    fn __call__<'py>(
        &self,
        mode: &Bound<'py, PyAny>,
        func: &Bound<'py, PyAny>,
        types: &Bound<'py, PyAny>,
        args: Option<Bound<'py, PyTuple>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let args = args.unwrap_or_else(|| PyTuple::empty(mode.py()));
        self.seen(func, Some(types), &args, kwargs)
    }
}

impl Functions {
    fn seen<'py>(
        &self,
        func: &Bound<'py, PyAny>,
        types: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = func.py();
        let kind = match self.kinds.bind(py).get_item(func)? {
            Some(kind) => Some(kind.extract::<u8>()?),
            None => None,
        };
        let recording = self.recorder.get();
        if kind == Some(self.skip) || (kind.is_some() && recording.is_off()) {
            return func.call(args, kwargs);
        }
        let plain = kind == Some(self.pure) && !recording.is_observed(py) && !names_its_own(kwargs)?;
        if !plain {
            let types = types.map_or_else(|| PyTuple::empty(py).into_any(), Bound::clone);
            return self.other.bind(py).call1((func, types, args, kwargs));
        }
        match func.call(args, kwargs) {
            Ok(result) => {
                if let Err(error) = self.note(recording, func, args, kwargs, &result) {
                    recording.excused(py, error)?;
                }
                Ok(result)
            }
            Err(error) => {
                if let Ok(event) = recording.event(py, intern!(py, "function"), func, false) {
                    recording.mark_failed(&event, args.as_any(), kwargs, &error);
                }
                Err(error)
            }
        }
    }

    fn note<'py>(
        &self,
        recording: &Recording,
        func: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
        result: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let py = func.py();
        let pinned = if recording.is_tensor(result) {
            requires_grad(result)?
        } else {
            if recording.is_atom(result) {
                return Ok(());
            }
            let found = PyList::empty(py);
            recording.torch.flatten.call1(py, (result, &found))?;
            if found.is_empty() {
                return Ok(());
            }
            any_requires_grad(&found)?
        };
        if !recording.step.is_forward(py) {
            let kwargs = kwargs.map_or_else(|| PyDict::new(py), Bound::clone);
            self.returned.bind(py).call1((func, args, kwargs, result, pinned))?;
            return Ok(());
        }
        let event = recording.event(py, intern!(py, "function"), func, false)?;
        recording.put(&event, args.as_any(), kwargs, pinned)?;
        recording.outputs(&event, result, !pinned, 0)
    }
}

/// True when the call brings a generator or the place of its result.
fn names_its_own(kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
    let Some(kwargs) = kwargs.filter(|kwargs| !kwargs.is_empty()) else { return Ok(false) };
    let py = kwargs.py();
    Ok(kwargs.contains(intern!(py, "out"))? || kwargs.contains(intern!(py, "generator"))?)
}

/// True when one of the tensors has a graph.
pub(super) fn any_requires_grad(tensors: &Bound<'_, PyList>) -> PyResult<bool> {
    for tensor in tensors {
        if requires_grad(&tensor)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Stands in for `handle_torch_function`, through which torch hands a function written in Python to a mode, at a greater
/// cost than recording it: where ours is the only mode and no argument brings its own, ours is called at once.
#[pyclass(frozen, dict, weakref, module = "nanscope._core")]
pub(crate) struct Shortcut {
    functions: Py<Functions>,
    depth: Py<PyAny>,
    original: Py<PyAny>,
}

#[pymethods]
impl Shortcut {
    /// `depth()` tells how many modes there are.
    #[new]
    fn new(functions: Py<Functions>, depth: Py<PyAny>, original: Py<PyAny>) -> Self {
        Shortcut { functions, depth, original }
    }

    #[pyo3(signature = (*args: "object", **kwargs: "object"))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = args.py();
        let functions = self.functions.get();
        let recording = functions.recorder.get();
        if args.len() >= 2
            && self.depth.bind(py).call0()?.extract::<usize>()? == 1
            && recording.plain(&args.get_item(1)?)?
        {
            let top = recording.torch.pop.call0(py)?;
            let ours = recording.is_mode(py, &top);
            let result = ours.then(|| functions.seen(&args.get_item(0)?, None, &args.get_slice(2, args.len()), kwargs));
            recording.torch.push.call1(py, (top,))?;
            if let Some(result) = result {
                return result;
            }
        }
        self.original.bind(py).call(args, kwargs)
    }
}
