use std::path::{Path, PathBuf};

use nanscope_report::{Format, Options, render};
use nanscope_trace::{
    Run,
    schema::{Ledger, Outcomes, Report},
};

use crate::{Color, Lang, knowledge, output, recorded};

/// Shows what was found in a run.
pub(crate) fn explain(folders: &[PathBuf], format: Format, color: Color, lang: Lang) -> anyhow::Result<()> {
    let run = match folders {
        [one] => Run::open(one)?,
        several => Run::gather(several)?,
    };
    let options = Options {
        colour: color.on_stdout(),
        width: std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()),
        folder: folders.first().map(|folder| folder.display().to_string()),
    };
    output::write(&render(&report(&run, lang), format, &options, lang))
}

/// The report of all processes whose logs lie in a folder.
///
/// # Errors
/// As [`Run::open`].
pub fn merged(folder: &Path, lang: Lang) -> Result<Report, nanscope_trace::Error> {
    let mut run = Run::open(folder)?;
    // What lies there was written by one process about itself.
    run.report = None;
    Ok(report(&run, lang))
}

/// What one rank of a run has left.
#[derive(Clone, Debug, PartialEq)]
pub struct OfRank {
    /// Its log.
    pub log: PathBuf,
    /// Step of its first trip.
    pub step: Option<u64>,
    /// That of its first trip; absent where its step was not run again.
    pub ledger: Option<Ledger>,
    /// What was tried after that trip.
    pub outcomes: Option<Outcomes>,
}

/// What rank `number` has left; of several with that number, the first that tripped, else the first.
///
/// # Errors
/// As [`Run::open`].
pub fn rank(folder: &Path, number: u32) -> Result<Option<OfRank>, nanscope_trace::Error> {
    let run = Run::open(folder)?;
    let of = |log: &&nanscope_trace::Log| {
        let known = log.info.as_ref().map(|info| info.rank);
        log.trips.first().map(|trip| trip.rank).or(known) == Some(number)
    };
    let parts = run.parts();
    let mut logs: Vec<&nanscope_trace::Log> = parts.iter().map(|(_, log)| *log).filter(of).collect();
    logs.sort_by_key(|log| log.trips.is_empty());
    Ok(logs.first().map(|log| OfRank {
        log: log.path.clone(),
        step: log.trips.first().map(|trip| trip.step),
        ledger: log.ledgers.first().cloned(),
        outcomes: knowledge::tried_first(log).cloned(),
    }))
}

/// The best that the folder can tell: diagnosed anew, as it was reported, or from the steps alone.
pub(crate) fn report(run: &Run, lang: Lang) -> Report {
    let mut report = if run.parts().len() > 1 { of_ranks(run, lang) } else { of_one(run, lang) };
    for problem in run.problems() {
        if !report.warnings.contains(&problem) {
            report.warnings.push(problem);
        }
    }
    report
}

fn of_ranks(run: &Run, lang: Lang) -> Report {
    let found = knowledge::merged(run, lang).or_else(|| knowledge::finite(run));
    found.unwrap_or_else(|| recorded::report(run, lang))
}

fn of_one(run: &Run, lang: Lang) -> Report {
    match (knowledge::diagnose(run, lang), &run.report) {
        (Some(anew), Some(old)) if run.logs.iter().all(|log| log.outcomes.is_empty()) => with_trials(anew, old),
        (Some(anew), _) => anew,
        (None, Some(old)) => old.clone(),
        (None, None) => recorded::report(run, lang),
    }
}

/// What only the run itself could try, from the report of a version that kept it nowhere else.
fn with_trials(mut anew: Report, old: &Report) -> Report {
    anew.experiments.clone_from(&old.experiments);
    anew.island.clone_from(&old.island);
    let tried = old.fixes.iter().filter(|fix| fix.proof.is_some());
    let untried = anew.fixes.into_iter().filter(|fix| !old.fixes.iter().any(|o| o.proof.is_some() && o.id == fix.id));
    anew.fixes = tried.cloned().chain(untried).collect();
    anew
}
