//! The one file that knows nanscope-diagnose.

use nanscope_lang::Lang;
use nanscope_trace::{
    Run,
    schema::{Report, RunInfo, Trip, Verdict},
};

/// Every rule, sorted by id.
pub(crate) fn rules() -> Vec<&'static dyn nanscope_diagnose::Rule> {
    let mut rules = nanscope_diagnose::rules::all().to_vec();
    rules.sort_by_key(|rule| rule.id());
    rules
}

/// Diagnoses the earliest trip that was replayed, in a language. None where no ledger was kept.
pub(crate) fn diagnose(run: &Run, lang: Lang) -> Option<Report> {
    let replayed = run.logs.iter().filter_map(|log| Some((log.trips.first()?, log.ledgers.first()?, log)));
    let (trip, ledger, log) = replayed.min_by_key(|(trip, ..)| (trip.step, trip.rank))?;
    let unknown = RunInfo::default();
    let info = log.info.as_ref().or(run.info()).unwrap_or(&unknown);
    let mut report = nanscope_diagnose::report(info, &log.steps, trip, ledger, log.end.as_ref(), lang);
    if let Some(outcomes) = log.outcomes.iter().rfind(|outcomes| outcomes.step == trip.step) {
        nanscope_diagnose::tried(&mut report, outcomes, lang);
    }
    Some(report)
}

/// What a trip means for the run.
pub(crate) fn verdict(trip: &Trip) -> Verdict {
    nanscope_diagnose::verdict(trip)
}
