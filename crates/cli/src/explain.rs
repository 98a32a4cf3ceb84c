use std::path::Path;

use nanscope_report::{Format, Options, render};
use nanscope_trace::{Run, schema::Report};

use crate::{Color, Lang, knowledge, output, recorded};

/// Shows what was found in a run.
pub(crate) fn explain(folder: &Path, format: Format, color: Color, lang: Lang) -> anyhow::Result<()> {
    let run = Run::open(folder)?;
    let options = Options {
        colour: color.on_stdout(),
        width: std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()),
        folder: Some(folder.display().to_string()),
    };
    output::write(&render(&report(&run, lang), format, &options, lang))
}

/// The best that the folder can tell: diagnosed anew, as it was reported, or from the steps alone.
pub(crate) fn report(run: &Run, lang: Lang) -> Report {
    let mut report = match (knowledge::diagnose(run, lang), &run.report) {
        (Some(anew), Some(old)) if run.logs.iter().all(|log| log.outcomes.is_empty()) => with_trials(anew, old),
        (Some(anew), _) => anew,
        (None, Some(old)) => old.clone(),
        (None, None) => recorded::report(run, lang),
    };
    for problem in run.problems() {
        if !report.warnings.contains(&problem) {
            report.warnings.push(problem);
        }
    }
    report
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
