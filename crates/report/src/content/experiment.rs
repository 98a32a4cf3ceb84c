use nanscope_trace::schema::{Experiment, Island, Report};

use super::number::{count, number};

/// The table of experiments, a header first; empty when none was run.
pub(crate) fn experiments(report: &Report) -> Vec<[String; 6]> {
    if report.experiments.is_empty() {
        return Vec::new();
    }
    let header = ["change", "finite", "loss", "error", "time", "memory"].map(str::to_owned);
    std::iter::once(header).chain(report.experiments.iter().map(cells)).collect()
}

fn cells(experiment: &Experiment) -> [String; 6] {
    let ratio = |x: Option<f64>| x.map(|x| format!("{x:.2}x")).unwrap_or_default();
    let change = match &experiment.note {
        Some(note) => format!("{} ({note})", experiment.change),
        None => experiment.change.clone(),
    };
    [
        change,
        if experiment.finite { "yes".into() } else { "no".into() },
        experiment.loss.map(|loss| number(loss.0)).unwrap_or_default(),
        experiment.reference_error.map(number).unwrap_or_default(),
        ratio(experiment.time_ratio),
        ratio(experiment.memory_ratio),
    ]
}

/// `encoder and train.py:39 in float32 are enough (minimal; found in 11 replays)`.
pub(crate) fn island(island: &Island) -> String {
    let minimal = if island.minimal { "minimal" } else { "not shown to be minimal" };
    let replays = count(island.replays as u64, "replay");
    format!("float32 is enough for {} ({minimal}; found in {replays})", island.members.join(", "))
}
