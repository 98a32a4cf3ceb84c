//! Tensors to numbers: reads CPU memory in place through the tensor's own methods.

use nanscope_numeric::{Dtype, View};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList};

use crate::dlpack::{Seen, see};

/// What one pass over a list of tensors found. An empty list: nothing bad, both numbers 0.
#[pyclass(frozen, get_all, module = "nanscope._core")]
pub(crate) struct Pass {
    /// Index in the list of the first tensor that holds an infinity or NaN; None when there is none.
    first_bad: Option<usize>,
    /// Largest finite magnitude over all tensors that were read.
    max_abs: f64,
    /// Sum of the squares of all finite elements that were read, added in float64.
    sum_squares: f64,
    /// Indices of what could not be read in place: not on the CPU, not strided, without memory of its own.
    unread: Vec<usize>,
    /// Bytes of the tensors that were read, expanded elements as often as they are seen.
    bytes: u64,
}

impl Pass {
    pub(crate) fn is_bad_or_unread(&self) -> bool {
        self.first_bad.is_some() || !self.unread.is_empty()
    }
}

/// Reads every tensor of a list once, the GIL released.
///
/// Torch functions may be intercepted by a mode or subclass: call with those disabled. Raises RuntimeError when torch
/// has not been imported; never for what a tensor does, which is listed in `Pass.unread`.
#[pyfunction]
pub(crate) fn scan(py: Python<'_>, tensors: &Bound<'_, PyList>) -> PyResult<Pass> {
    let dtypes = Dtypes::of_torch(py)?;
    // One reference each: another thread may change the list while the GIL is released.
    let owned: Vec<Bound<'_, PyAny>> = tensors.iter().collect();
    let mut memories = Vec::with_capacity(owned.len());
    let mut found = Pass { first_bad: None, max_abs: 0.0, sum_squares: 0.0, unread: Vec::new(), bytes: 0 };
    for (index, tensor) in owned.iter().enumerate() {
        match Memory::of(tensor, dtypes)? {
            Some(memory) => memories.push((index, memory)),
            None => found.unread.push(index),
        }
    }
    found.bytes = memories.iter().map(|(_, memory)| memory.bytes() as u64).sum();
    let threads = threads(py, found.bytes as usize)?;
    // SAFETY: `owned` keeps every tensor, and so its memory, until after the views were read.
    let views: Vec<View> = memories.iter().map(|(_, memory)| unsafe { memory.view() }).collect();
    let read = |mut found: Pass| {
        for ((index, _), pass) in memories.iter().zip(nanscope_numeric::passes(&views, threads)) {
            if !pass.finite {
                found.first_bad.get_or_insert(*index);
            }
            found.max_abs = found.max_abs.max(pass.max_abs);
            found.sum_squares += pass.sum_squares;
        }
        found
    };
    Ok(py.detach(|| read(found)))
}

/// Whether no tensor of a list holds an infinity or NaN. None when all that could be read in place are finite, and some could not.
///
/// Stops at the first block of memory that holds one; the GIL is released. Torch functions may be intercepted by a mode or
/// subclass: call with those disabled. Raises RuntimeError when torch has not been imported.
#[pyfunction]
pub(crate) fn all_finite(py: Python<'_>, tensors: &Bound<'_, PyList>) -> PyResult<Option<bool>> {
    let dtypes = Dtypes::of_torch(py)?;
    let owned: Vec<Bound<'_, PyAny>> = tensors.iter().collect();
    let memories: Vec<_> = owned.iter().map(|tensor| Memory::of(tensor, dtypes)).collect::<PyResult<_>>()?;
    let threads = threads(py, memories.iter().flatten().map(Memory::bytes).sum())?;
    // SAFETY: `owned` keeps every tensor, and so its memory, until after the views were read.
    let views: Vec<View> = memories.iter().flatten().map(|memory| unsafe { memory.view() }).collect();
    let bad = py.detach(|| nanscope_numeric::first_not_finite(&views, threads));
    let all_read = views.len() == owned.len();
    Ok(if bad.is_some() { Some(false) } else { all_read.then_some(true) })
}

/// Exclusive or of all 64-bit words in the memory of a tensor: the least that a read of all of it costs, for benchmarks to
/// compare with. None when it cannot be read in place. Raises RuntimeError when torch has not been imported.
#[pyfunction]
pub(crate) fn plain_read(tensor: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let py = tensor.py();
    let Some(memory) = Memory::of(tensor, Dtypes::of_torch(py)?)? else { return Ok(None) };
    let threads = threads(py, memory.bytes())?;
    // SAFETY: the caller's reference keeps the tensor, and so its memory, until after this.
    Ok(Some(py.detach(|| nanscope_numeric::plain_read(&unsafe { memory.view() }, threads))))
}

/// Below this one thread is faster: it has read so much by the time that others have started.
const THREADED_BYTES: usize = 4 << 20;

/// How many threads may read so many bytes: what torch may use, and one where that cannot be told.
pub(crate) fn threads(py: Python<'_>, bytes: usize) -> PyResult<usize> {
    if bytes < THREADED_BYTES {
        return Ok(1);
    }
    let torch = py.import(intern!(py, "torch"))?;
    torch.call_method0(intern!(py, "get_num_threads"))?.extract()
}

/// `(nan, posinf, neginf, largest finite magnitude)`.
type CountsTuple = (u64, u64, u64, Option<f64>);

/// `(nan, posinf, neginf, largest finite magnitude)`; the magnitude is None when no element is finite.
///
/// None when the tensor cannot be read in place or is neither floating-point nor complex. A complex element counts as
/// its two parts. Raises RuntimeError when torch has not been imported.
#[pyfunction]
pub(crate) fn counts(tensor: &Bound<'_, PyAny>) -> PyResult<Option<CountsTuple>> {
    let py = tensor.py();
    let Some(memory) = Memory::of(tensor, Dtypes::of_torch(py)?)? else { return Ok(None) };
    if !memory.dtype.is_floating() && !memory.dtype.is_complex() {
        return Ok(None);
    }
    let threads = threads(py, memory.bytes())?;
    // SAFETY: the caller's reference keeps the tensor, and so its memory, until after this.
    let counts = py.detach(|| nanscope_numeric::counts_on(&unsafe { memory.view() }, threads));
    Ok(Some((counts.nan, counts.posinf, counts.neginf, counts.max_abs)))
}

/// The census of a tensor as JSON; None when it cannot be read in place, or is a lazy conjugate or negation, whose
/// memory holds other signs.
///
/// Raises RuntimeError when torch has not been imported.
#[pyfunction]
pub(crate) fn census(tensor: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = tensor.py();
    let Some(memory) = Memory::of(tensor, Dtypes::of_torch(py)?)? else { return Ok(None) };
    let lazy = |name| tensor.call_method0(name)?.extract::<bool>();
    if lazy(intern!(py, "is_conj"))? || lazy(intern!(py, "is_neg"))? {
        return Ok(None);
    }
    let threads = threads(py, memory.bytes())?;
    // SAFETY: the caller's reference keeps the tensor, and so its memory, until after this.
    let census = py.detach(|| nanscope_numeric::census_on(&unsafe { memory.view() }, threads));
    serde_json::to_string(&census).map(Some).map_err(|error| PyRuntimeError::new_err(error.to_string()))
}

/// `(relative, largest, lost zeros, saturated, flipped, rescued, not finite in the reference, same, row-major index, that of the
/// first saturated element)`.
type DriftTuple = (f64, f64, u64, u64, u64, u64, u64, bool, Option<usize>, Option<usize>);

/// How far a tensor is from `reference`, the same tensor in float64 (complex128), of the same shape and contiguous.
///
/// None when either cannot be read in place, or they do not fit each other. Raises RuntimeError when torch has not been
/// imported.
#[pyfunction]
pub(crate) fn drift(run: &Bound<'_, PyAny>, reference: &Bound<'_, PyAny>) -> PyResult<Option<DriftTuple>> {
    let py = run.py();
    let dtypes = Dtypes::of_torch(py)?;
    let (Some(mine), Some(other)) = (Memory::of(run, dtypes)?, Memory::of(reference, dtypes)?) else { return Ok(None) };
    let Extent::Contiguous(elements) = other.extent else { return Ok(None) };
    if other.dtype.part() != Dtype::Float64
        || other.address % align_of::<f64>() != 0
        || other.dtype.parts() != mine.dtype.parts()
        || mine.bytes() / mine.dtype.size() != elements
    {
        return Ok(None);
    }
    let numbers = elements * other.dtype.parts();
    let found = py.detach(|| {
        let start = std::ptr::with_exposed_provenance::<f64>(other.address);
        // SAFETY: aligned, as was seen, and the caller's reference keeps the tensor, and so its memory.
        let wide = if numbers == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(start, numbers) } };
        // SAFETY: as above.
        nanscope_numeric::drift(&unsafe { mine.view() }, wide)
    });
    let nanscope_numeric::Drift { relative, largest, lost_zeros, saturated, flipped, rescued, .. } = found;
    Ok(Some((
        relative,
        largest,
        lost_zeros,
        saturated,
        flipped,
        rescued,
        found.reference_bad,
        found.same,
        found.at,
        found.saturated_at,
    )))
}

/// 64 bits that stand for the bytes of a tensor, read in row-major order; None when it cannot be read in place, or is a
/// lazy conjugate or negation.
///
/// Raises RuntimeError when torch has not been imported.
#[pyfunction]
pub(crate) fn digest(tensor: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let py = tensor.py();
    let Some(memory) = Memory::of(tensor, Dtypes::of_torch(py)?)? else { return Ok(None) };
    let lazy = |name| tensor.call_method0(name)?.extract::<bool>();
    if lazy(intern!(py, "is_conj"))? || lazy(intern!(py, "is_neg"))? {
        return Ok(None);
    }
    // SAFETY: the caller's reference keeps the tensor, and so its memory, until after this.
    Ok(Some(py.detach(|| nanscope_numeric::digest(&unsafe { memory.view() }))))
}

/// `(xor, sum, sum weighted by position)` over the bits of one tensor, modulo 2^64; None when it cannot be read.
type Imprint = Option<(u64, u64, u64)>;

/// The imprint of each tensor, read in row-major order: tensors of one type and shape that hold the same bits share it. None
/// for one that cannot be read in place, or is a lazy conjugate or negation.
///
/// Raises RuntimeError when torch has not been imported.
#[pyfunction]
pub(crate) fn imprints(py: Python<'_>, tensors: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Imprint>> {
    let dtypes = Dtypes::of_torch(py)?;
    let mut memories = vec![];
    for tensor in &tensors {
        let lazy = |name| tensor.call_method0(name)?.extract::<bool>();
        let readable = !lazy(intern!(py, "is_conj"))? && !lazy(intern!(py, "is_neg"))?;
        memories.push(if readable { Memory::of(tensor, dtypes)? } else { None });
    }
    // SAFETY: `tensors` keeps every tensor, and so its memory, until after this.
    let read = |memory: &Memory| nanscope_numeric::imprint(&unsafe { memory.view() });
    Ok(py.detach(|| {
        let found = memories.iter().map(|memory| memory.as_ref().map(read));
        found.map(|found| found.map(|one| (one.xor, one.sum, one.weighted))).collect()
    }))
}

/// `(row-major index, bits that differ)` of the single element in which two tensors of `elements` elements differ, told from
/// their imprints; None where they are equal or differ in more.
#[pyfunction]
pub(crate) fn single(one: (u64, u64, u64), other: (u64, u64, u64), elements: u64) -> Option<(u64, u64)> {
    let of = |(xor, sum, weighted)| nanscope_numeric::Imprint { xor, sum, weighted };
    of(one).single(of(other), elements)
}

/// torch's dtype objects, which live as long as the process: one is known by its address.
pub(crate) struct Dtypes(Vec<(Py<PyAny>, Dtype)>);

impl Dtypes {
    pub(crate) fn of_torch(py: Python<'_>) -> PyResult<&Dtypes> {
        static DTYPES: PyOnceLock<Dtypes> = PyOnceLock::new();
        DTYPES.get_or_try_init(py, || {
            let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?.cast_into::<PyDict>()?;
            let torch = modules
                .get_item(intern!(py, "torch"))?
                .ok_or_else(|| PyRuntimeError::new_err("torch is not imported: there can be no tensor to read"))?;
            let mut dtypes = Vec::new();
            for &dtype in Dtype::ALL {
                // Older torch lacks the newer types.
                if let Some(object) = torch.getattr_opt(dtype.name())? {
                    dtypes.push((object.unbind(), dtype));
                }
            }
            Ok(Dtypes(dtypes))
        })
    }

    fn find(&self, object: &Bound<'_, PyAny>) -> Option<Dtype> {
        self.0.iter().find(|(known, _)| known.is(object)).map(|(_, dtype)| *dtype)
    }
}

/// Where a tensor's elements lie.
pub(crate) struct Memory {
    address: usize,
    dtype: Dtype,
    extent: Extent,
}

pub(crate) enum Extent {
    /// So many elements side by side.
    Contiguous(usize),
    /// Shape, and strides in elements.
    Strided(Vec<usize>, Vec<usize>),
}

impl Memory {
    /// `None` when the object has no CPU memory of its own in one of the known types. An exception of the object's
    /// own, as sparse and fake tensors raise, means the same; only what is no `Exception` (an interrupt) is an error.
    pub(crate) fn of(tensor: &Bound<'_, PyAny>, dtypes: &Dtypes) -> PyResult<Option<Memory>> {
        match Memory::ask(tensor, dtypes) {
            Err(error) if error.is_instance_of::<PyException>(tensor.py()) => Ok(None),
            memory => memory,
        }
    }

    fn ask(tensor: &Bound<'_, PyAny>, dtypes: &Dtypes) -> PyResult<Option<Memory>> {
        match see(tensor) {
            Seen::Here(address, dtype, extent) => return Ok(Some(Memory { address, dtype, extent })),
            Seen::Elsewhere => return Ok(None),
            Seen::Unknown => {}
        }
        let py = tensor.py();
        if !tensor.getattr(intern!(py, "is_cpu"))?.extract::<bool>()? {
            return Ok(None);
        }
        let Some(dtype) = dtypes.find(&tensor.getattr(intern!(py, "dtype"))?) else { return Ok(None) };
        // Raises for every layout that is not strided.
        let address = tensor.call_method0(intern!(py, "data_ptr"))?.extract::<usize>()?;
        let elements = tensor.call_method0(intern!(py, "numel"))?.extract::<usize>()?;
        if address == 0 && elements > 0 {
            return Ok(None);
        }
        // A wrapper (DTensor) has no memory of its own, and its address is its offset: this raises.
        tensor.call_method0(intern!(py, "untyped_storage"))?.call_method0(intern!(py, "data_ptr"))?;
        let extent = if elements == 0 || tensor.call_method0(intern!(py, "is_contiguous"))?.extract::<bool>()? {
            Extent::Contiguous(elements)
        } else {
            let shape = tensor.getattr(intern!(py, "shape"))?.extract()?;
            Extent::Strided(shape, tensor.call_method0(intern!(py, "stride"))?.extract()?)
        };
        Ok(Some(Memory { address, dtype, extent }))
    }

    /// Bytes of its elements, expanded ones as often as they are seen.
    pub(crate) fn bytes(&self) -> usize {
        let elements = match &self.extent {
            Extent::Contiguous(elements) => *elements,
            Extent::Strided(shape, _) => shape.iter().product(),
        };
        elements * self.dtype.size()
    }

    /// # Safety
    /// The tensor must outlive the view.
    pub(crate) unsafe fn view(&self) -> View<'_> {
        let start = std::ptr::with_exposed_provenance(self.address);
        match &self.extent {
            // SAFETY: torch says that these elements lie there, and the caller keeps the tensor.
            Extent::Contiguous(elements) => unsafe { View::contiguous(start, self.dtype, *elements) },
            // SAFETY: as above.
            Extent::Strided(shape, strides) => unsafe { View::new(start, self.dtype, shape, strides) },
        }
    }
}
