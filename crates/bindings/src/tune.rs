use nanscope_lang::Lang;
use nanscope_tune::{Trace, Tuned};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn wrong(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Which settings of checkpointing to run, with what the trace of a step predicts of each, as JSON: none, all, every k-th block for
/// each of `every`, the program as it is, the best with a peak of at most `limit` bytes. `trace` is a `nanscope_tune::Trace` as JSON.
///
/// Raises `ValueError` when it is none.
#[pyfunction]
#[pyo3(signature = (trace, every, limit=None))]
pub(crate) fn checkpoint_plan(py: Python<'_>, trace: &str, every: Vec<u32>, limit: Option<u64>) -> PyResult<String> {
    let trace: Trace = serde_json::from_str(trace).map_err(wrong)?;
    let planned = py.detach(|| nanscope_tune::plan(&trace, &every, limit));
    serde_json::to_string(&planned).map_err(wrong)
}

/// What was found (JSON, schema `nanscope.checkpoint/1`) as `(text for a terminal, SVG)`, in the language `lang`.
///
/// Raises `ValueError` when it is no such JSON, or there is no such language.
#[pyfunction]
pub(crate) fn checkpoint_told(tuned: &str, lang: &str) -> PyResult<(String, String)> {
    let lang: Lang = lang.parse().map_err(|error: nanscope_lang::UnknownLang| wrong(error))?;
    let tuned: Tuned = serde_json::from_str(tuned).map_err(wrong)?;
    Ok((nanscope_tune::text(&tuned, lang), nanscope_tune::plot(&tuned, lang)))
}
