//! Which line of the user's program a call came from.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use rustc_hash::FxHashMap;

/// What is known of one code object, which is kept so that its address is not given to another.
struct Known {
    code: Py<PyAny>,
    user: bool,
    /// Places by instruction offset.
    places: Vec<(usize, Py<PyAny>)>,
}

/// By address: the hash of a code object reads all its constants.
#[derive(Default)]
struct Codes(Mutex<FxHashMap<usize, Known>>);

impl Codes {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<usize, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

static CODES: PyOnceLock<Codes> = PyOnceLock::new();
static IS_USER: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// The innermost frame of user code, as `(code, instruction offset, line)`; None if there is none.
///
/// What user code is, `nanscope.capture.lines.is_user` says, once for each code object.
#[pyfunction]
pub(crate) fn caller(py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
    let codes = CODES.get_or_init(py, Codes::default);
    let mut frame = current_frame(py);
    while let Some(at) = frame {
        let code = code_of(&at);
        let key = code.as_ptr() as usize;
        let known = codes.lock().get(&key).map(|known| known.user);
        let user = match known {
            Some(user) => user,
            None => {
                let is_user = IS_USER.import(py, "nanscope.capture.lines", "is_user")?;
                let user: bool = is_user.call1((&code,))?.extract()?;
                codes.lock().insert(key, Known { code: code.clone().unbind(), user, places: vec![] });
                user
            }
        };
        if user {
            return place(py, codes, key, &at, &code).map(Some);
        }
        let back = at.getattr(intern!(py, "f_back"))?;
        frame = (!back.is_none()).then_some(back);
    }
    Ok(None)
}

fn place(
    py: Python<'_>,
    codes: &Codes,
    key: usize,
    frame: &Bound<'_, PyAny>,
    code: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let offset: usize = frame.getattr(intern!(py, "f_lasti"))?.extract()?;
    if let Some(known) = codes.lock().get(&key)
        && known.code.is(code)
        && let Some((_, place)) = known.places.iter().find(|(at, _)| *at == offset)
    {
        return Ok(place.clone_ref(py));
    }
    let line = frame.getattr(intern!(py, "f_lineno"))?;
    let place = (code, offset, line).into_pyobject(py)?.into_any().unbind();
    if let Some(known) = codes.lock().get_mut(&key) {
        known.places.push((offset, place.clone_ref(py)));
    }
    Ok(place)
}

/// The Python frame that called into this extension.
fn current_frame(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    // SAFETY: attached to the interpreter; the reference is borrowed, and null outside any frame.
    unsafe { Bound::from_borrowed_ptr_or_opt(py, pyo3::ffi::PyEval_GetFrame().cast()) }
}

fn code_of<'py>(frame: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    // SAFETY: the object is a frame, and a frame has a code object; the reference is new.
    unsafe { Bound::from_owned_ptr(frame.py(), pyo3::ffi::PyFrame_GetCode(frame.as_ptr().cast()).cast()) }
}
