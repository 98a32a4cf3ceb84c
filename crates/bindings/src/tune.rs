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

/// Writes what was found (JSON, schema `nanscope.checkpoint/1`) into the run folder `folder`: `checkpoint.json`, `checkpoint.svg`, and
/// `checkpoint.diff` where there is one. Returns it as text for a terminal, in the language `lang`.
///
/// Raises `OSError` when it cannot be written, `ValueError` when it is no such JSON, or there is no such language.
#[pyfunction]
pub(crate) fn checkpoint_write(folder: std::path::PathBuf, tuned: &str, lang: &str) -> PyResult<String> {
    let lang: Lang = lang.parse().map_err(|error: nanscope_lang::UnknownLang| wrong(error))?;
    let read: Tuned = serde_json::from_str(tuned).map_err(wrong)?;
    let plot = nanscope_tune::plot(&read, lang);
    let diff = read.diff.as_deref();
    let files = [("checkpoint.json", Some(tuned)), ("checkpoint.svg", Some(&plot)), ("checkpoint.diff", diff)];
    for (name, text) in files {
        if let Some(text) = text {
            nanscope_trace::write_atomically(&folder.join(name), text.as_bytes()).map_err(crate::log::raised)?;
        }
    }
    Ok(nanscope_tune::text(&read, lang))
}

/// A diff for a terminal.
#[pyfunction]
pub(crate) fn diff_told(diff: &str, colour: bool) -> String {
    nanscope_report::diff(diff, colour)
}
