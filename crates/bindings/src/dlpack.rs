//! Where a tensor lies, in one call of C: the exchange interface of DLPack 1.2, which torch offers from 2.10 on.
//!
//! Layouts as in `dlpack.h` (<https://github.com/dmlc/dlpack>). Only the two oldest parts of it are read.

use std::ffi::{c_int, c_void};

use nanscope_numeric::Dtype;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use crate::scan::Extent;

const MAJOR: u32 = 1;
const CPU: c_int = 1;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device_type: c_int,
    device_id: i32,
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

type FromPython = unsafe extern "C" fn(*mut c_void, *mut DlTensor) -> c_int;

#[repr(C)]
struct ExchangeApi {
    major: u32,
    minor: u32,
    previous: *const c_void,
    allocate: *const c_void,
    managed_from_python: *const c_void,
    managed_to_python: *const c_void,
    view_from_python: Option<FromPython>,
}

/// The interface, and the types whose objects it may be given.
struct Exchange {
    view: FromPython,
    types: Vec<usize>,
}

static EXCHANGE: PyOnceLock<Option<Exchange>> = PyOnceLock::new();

/// What the interface tells of a tensor.
pub(crate) enum Seen {
    /// Elements of `Dtype` at an address.
    Here(usize, Dtype, Extent),
    /// No memory of the CPU.
    Elsewhere,
    /// Ask the tensor itself: an old torch, a subclass, a type or layout that is not read here.
    Unknown,
}

/// Asks for the memory of `tensor`. The answer holds while `tensor` is alive and not resized.
pub(crate) fn see(tensor: &Bound<'_, PyAny>) -> Seen {
    let py = tensor.py();
    let Some(exchange) = EXCHANGE.get_or_init(py, || discover(py)) else { return Seen::Unknown };
    if !exchange.types.contains(&(tensor.get_type_ptr() as usize)) {
        return Seen::Unknown;
    }
    let mut out = std::mem::MaybeUninit::<DlTensor>::uninit();
    // SAFETY: the object is of a type that the function was offered for, and the space is as large as it asks.
    if unsafe { (exchange.view)(tensor.as_ptr().cast(), out.as_mut_ptr()) } != 0 {
        drop(PyErr::take(py));
        return Seen::Unknown;
    }
    // SAFETY: 0 says that it was filled.
    let found = unsafe { out.assume_init() };
    if found.device_type != CPU {
        return Seen::Elsewhere;
    }
    let dtype = match (found.code, found.bits, found.lanes) {
        (FLOAT, 64, 1) => Dtype::Float64,
        (FLOAT, 32, 1) => Dtype::Float32,
        (FLOAT, 16, 1) => Dtype::Float16,
        (BFLOAT, 16, 1) => Dtype::BFloat16,
        _ => return Seen::Unknown,
    };
    let dimensions = usize::try_from(found.ndim).unwrap_or(0);
    let numbers = |start: *const i64| -> &[i64] {
        // SAFETY: the arrays are as long as there are dimensions and live with the tensor.
        if dimensions == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start, dimensions) } }
    };
    let shape = numbers(found.shape);
    let elements: i64 = shape.iter().product();
    let address = found.data as usize + found.byte_offset as usize;
    let (Ok(elements), true) = (usize::try_from(elements), address != 0 || elements == 0) else { return Seen::Unknown };
    let strides = if found.strides.is_null() { None } else { Some(numbers(found.strides)) };
    let extent = match strides {
        Some(strides) if elements > 0 && !contiguous(shape, strides) => {
            let sizes = |list: &[i64]| list.iter().map(|&x| usize::try_from(x).ok()).collect::<Option<Vec<_>>>();
            let (Some(shape), Some(strides)) = (sizes(shape), sizes(strides)) else { return Seen::Unknown };
            Extent::Strided(shape, strides)
        }
        _ => Extent::Contiguous(elements),
    };
    Seen::Here(address, dtype, extent)
}

fn contiguous(shape: &[i64], strides: &[i64]) -> bool {
    let mut expected = 1;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size != 1 && stride != expected {
            return false;
        }
        expected *= size;
    }
    true
}

/// `None` where this torch has no such interface, or a later one.
fn discover(py: Python<'_>) -> Option<Exchange> {
    let torch = py.import(intern!(py, "torch")).ok()?;
    let tensor = torch.getattr(intern!(py, "Tensor")).ok()?;
    let capsule = tensor.getattr(intern!(py, "__dlpack_c_exchange_api__")).ok()?.cast_into::<PyCapsule>().ok()?;
    let api = capsule.pointer_checked(Some(c"dlpack_exchange_api")).ok()?.cast::<ExchangeApi>();
    // SAFETY: the capsule's name says what lies there, and it lives as long as the process.
    let api = unsafe { api.as_ref() };
    let parameter = torch.getattr(intern!(py, "nn")).ok()?.getattr(intern!(py, "Parameter")).ok()?;
    let view = api.view_from_python.filter(|_| api.major == MAJOR)?;
    Some(Exchange { view, types: vec![tensor.as_ptr() as usize, parameter.as_ptr() as usize] })
}
