//! The plan of experiments, and the searches that need many replays. Python runs what they ask for.

use nanscope_diagnose::experiments::{self, Kept, Next, Scouted, Seen, Shown};
use nanscope_trace::schema::{Ledger, Report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What to try after a diagnosis, as a JSON list of `{id, family, arguments, change: {en, ko}}`, the most telling first.
/// `scouted` is what a replay without observation has seen, as JSON.
///
/// Raises `ValueError` when a text is not what the schema says.
#[pyfunction]
pub(crate) fn plan(py: Python<'_>, report: &str, ledger: &str, scouted: &str) -> PyResult<String> {
    let wrong =
        |error: serde_json::Error| PyValueError::new_err(format!("expected a report, a ledger and facts: {error}"));
    let report: Report = serde_json::from_str(report).map_err(wrong)?;
    let ledger: Ledger = serde_json::from_str(ledger).map_err(wrong)?;
    let scouted: Scouted = serde_json::from_str(scouted).map_err(wrong)?;
    let found = py.detach(|| experiments::plan(&report, &ledger, &scouted));
    serde_json::to_string(&found).map_err(wrong)
}

/// The search for the smallest set of units that must run in a wider format.
#[pyclass(module = "nanscope._core")]
pub(crate) struct IslandSearch(experiments::IslandSearch);

#[pymethods]
impl IslandSearch {
    /// Over units `0..units`, in the order in which they are called first; at most `limit` replays.
    #[new]
    fn new(units: usize, limit: usize) -> Self {
        IslandSearch(experiments::IslandSearch::new(units, limit))
    }

    /// Units (ascending) whose replay in the wider format is wanted next; None when the search is over.
    fn next(&self) -> Option<Vec<usize>> {
        match self.0.next() {
            Next::Ask(set) => Some(set),
            Next::Found(_) => None,
        }
    }

    /// What the replay of `units` has shown: whether it was finite, and the unit of the first bad value.
    #[pyo3(signature = (units, finite, birth=None))]
    fn answer(&mut self, units: Vec<usize>, finite: bool, birth: Option<usize>) {
        self.0.answer(units, Seen { finite, birth });
    }

    /// `(members, minimal, alternatives, not monotone, replays)`; the fourth is a finite set and a larger one that is not.
    /// None while the search is not over.
    #[allow(clippy::type_complexity, reason = "the tuple that Python unpacks")]
    fn found(&self) -> Option<(Vec<usize>, bool, Vec<Vec<usize>>, Option<(Vec<usize>, Vec<usize>)>, usize)> {
        match self.0.next() {
            Next::Ask(_) => None,
            Next::Found(found) => {
                Some((found.members, found.minimal, found.alternatives, found.not_monotone, found.replays))
            }
        }
    }
}

/// The search for the samples of a batch that make the step fail.
#[pyclass(module = "nanscope._core")]
pub(crate) struct GuiltySearch(experiments::GuiltySearch);

#[pymethods]
impl GuiltySearch {
    /// Over samples `0..n`; at most `limit` replays.
    #[new]
    fn new(n: usize, limit: usize) -> Self {
        GuiltySearch(experiments::GuiltySearch::new(n, limit))
    }

    /// `(samples, stand_in)`: the replay wanted next keeps `samples` and has copies of `stand_in` for all others. None when
    /// the search is over.
    fn next(&self) -> Option<(Vec<usize>, usize)> {
        match self.0.next() {
            Next::Ask(Kept { samples, stand_in }) => Some((samples, stand_in)),
            Next::Found(_) => None,
        }
    }

    /// What that replay has shown: whether it was finite, and the samples whose rows were bad first.
    #[pyo3(signature = (samples, stand_in, finite, rows))]
    fn answer(&mut self, samples: Vec<usize>, stand_in: usize, finite: bool, rows: Vec<usize>) {
        self.0.answer(Kept { samples, stand_in }, Shown { finite, rows });
    }

    /// `(guilty, enough, each, replays)`: finite without them, and each fails by itself. None while the search is not over.
    fn found(&self) -> Option<(Vec<usize>, bool, bool, usize)> {
        match self.0.next() {
            Next::Ask(_) => None,
            Next::Found(found) => Some((found.guilty, found.enough, found.each, found.replays)),
        }
    }
}
