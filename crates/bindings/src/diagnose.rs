use nanscope_diagnose::{finite, report, tried};
use nanscope_lang::Lang;
use nanscope_report::{Options, json, terminal};
use nanscope_trace::schema::{End, Ledger, Outcomes, RunInfo, StepRecord, Trip};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

fn read<'a, T: serde::Deserialize<'a>>(what: &str, text: &'a str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

fn lang(name: &str) -> PyResult<Lang> {
    name.parse().map_err(|error: nanscope_lang::UnknownLang| PyValueError::new_err(error.to_string()))
}

/// The report of a run, as JSON; its texts are in the language `lang`. `trip` and `ledger` are both there, or both absent
/// for a run in which nothing was found; `outcomes` is what was tried after the diagnosis.
///
/// Raises `ValueError` when a text is not what the schema says, or there is no such language.
#[pyfunction]
#[pyo3(signature = (info, trip, ledger, end, lang="en", outcomes=None))]
pub(crate) fn diagnose(
    py: Python<'_>,
    info: &str,
    trip: Option<&str>,
    ledger: Option<&str>,
    end: &str,
    lang: &str,
    outcomes: Option<&str>,
) -> PyResult<String> {
    let lang = self::lang(lang)?;
    let info: RunInfo = read("run", info)?;
    let end: End = read("end", end)?;
    let steps: &[StepRecord] = &[];
    let found = match (trip, ledger) {
        (Some(trip), Some(ledger)) => {
            let (trip, ledger): (Trip, Ledger) = (read("trip", trip)?, read("ledger", ledger)?);
            let outcomes: Option<Outcomes> = outcomes.map(|text| read("outcomes", text)).transpose()?;
            py.detach(|| {
                let mut found = report(&info, steps, &trip, &ledger, Some(&end), lang);
                if let Some(outcomes) = &outcomes {
                    tried(&mut found, outcomes, lang);
                }
                found
            })
        }
        _ => finite(&info, steps, Some(&end)),
    };
    Ok(json::render(&found))
}

/// A report (JSON) as text for a terminal, in the language `lang` but for texts that the report holds already.
///
/// Raises `ValueError` when it is no report, or there is no such language.
#[pyfunction]
#[pyo3(signature = (report, colour, width=None, folder=None, lang="en"))]
pub(crate) fn render(
    report: &str,
    colour: bool,
    width: Option<usize>,
    folder: Option<String>,
    lang: &str,
) -> PyResult<String> {
    let lang = self::lang(lang)?;
    let report = json::parse(report).map_err(|error| PyValueError::new_err(format!("report: {error}")))?;
    Ok(terminal::render(&report, &Options { colour, width, folder }, lang))
}

/// Writes `report.json` into the run folder `folder`, whole or not at all.
///
/// Raises `OSError` when it cannot be written, `ValueError` when it is no report.
#[pyfunction]
pub(crate) fn write_report(folder: &str, report: &str) -> PyResult<()> {
    nanscope_trace::write_report(std::path::Path::new(folder), report).map_err(crate::log::raised)
}

/// The report of all processes whose logs lie in `folder`, as JSON; its texts are in the language `lang`.
///
/// Raises `OSError` when there is no log that can be read, `ValueError` when there is no such language.
#[pyfunction]
#[pyo3(signature = (folder, lang="en"))]
pub(crate) fn merged(py: Python<'_>, folder: std::path::PathBuf, lang: &str) -> PyResult<String> {
    let lang = self::lang(lang)?;
    let found = py.detach(|| nanscope_cli::merged(&folder, lang)).map_err(crate::log::raised)?;
    Ok(json::render(&found))
}

/// Of rank `rank` of the run in `folder`, where a program has started ranks more than once of the first that tripped: the path of
/// its log; the step of its first trip; the ledger of that trip, and what was tried after it, as JSON. Each is None where there is
/// none.
///
/// Raises `OSError` when there is no log that can be read.
#[pyfunction]
pub(crate) fn rank(py: Python<'_>, folder: std::path::PathBuf, rank: u32) -> PyResult<OfRank> {
    let found = py.detach(|| nanscope_cli::rank(&folder, rank)).map_err(crate::log::raised)?;
    let text = |error: serde_json::Error| PyValueError::new_err(error.to_string());
    let Some(found) = found else { return Ok((None, None, None, None)) };
    let ledger = found.ledger.as_ref().map(serde_json::to_string).transpose().map_err(text)?;
    let outcomes = found.outcomes.as_ref().map(serde_json::to_string).transpose().map_err(text)?;
    Ok((Some(found.log.display().to_string()), found.step, ledger, outcomes))
}

type OfRank = (Option<String>, Option<u64>, Option<String>, Option<String>);
