//! The one file that knows nanscope-diagnose.

use nanscope_diagnose::Part;
use nanscope_lang::Lang;
use nanscope_trace::{
    Log, Run,
    schema::{Outcomes, RankSummary, Report, RunInfo, Trip, Verdict},
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

/// The report of all ranks of a run, in a language. None where none has tripped or no step was run again.
pub(crate) fn merged(run: &Run, lang: Lang) -> Option<Report> {
    let unknown = RunInfo::default();
    nanscope_diagnose::merged(&parts(run, &unknown), lang)
}

/// What each rank of a run that was not diagnosed has left.
pub(crate) fn roles(run: &Run, report: &Report, lang: Lang) -> Vec<RankSummary> {
    let unknown = RunInfo::default();
    nanscope_diagnose::roles(&parts(run, &unknown), report, lang)
}

fn parts<'a>(run: &'a Run, unknown: &'a RunInfo) -> Vec<Part<'a>> {
    run.parts()
        .into_iter()
        .map(|(group, log)| Part {
            group,
            info: log.info.as_ref().unwrap_or(unknown),
            steps: &log.steps,
            trip: log.trips.first(),
            ledger: log.ledgers.first(),
            outcomes: tried_first(log),
            skips: &log.skips,
            end: log.end.as_ref(),
        })
        .collect()
}

/// What was tried after the first trip of a log, the last that was told of it; where it has none, after the run.
pub(crate) fn tried_first(log: &Log) -> Option<&Outcomes> {
    let first = log.trips.first().map(|trip| trip.step);
    log.outcomes.iter().rfind(|outcomes| first.is_none_or(|step| outcomes.step == step))
}

/// The report of a run of several ranks in which nothing was found. None where one of them did not end.
pub(crate) fn finite(run: &Run) -> Option<Report> {
    let parts = run.parts();
    if parts.iter().any(|(_, log)| log.end.is_none() || !log.trips.is_empty()) {
        return None;
    }
    let (_, longest) = parts.iter().max_by_key(|(_, log)| log.steps.len())?;
    let mut report = nanscope_diagnose::finite(longest.info.as_ref()?, &longest.steps, longest.end.as_ref());
    report.run.world_size = report.run.world_size.max(parts.len() as u32);
    Some(report)
}

/// What a trip means for the run.
pub(crate) fn verdict(trip: &Trip) -> Verdict {
    nanscope_diagnose::verdict(trip)
}
