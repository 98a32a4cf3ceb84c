use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Experiment, Island, Report};

use super::number::{count, number};

/// The table of experiments, a header first; empty when none was run.
pub(crate) fn experiments(report: &Report, lang: Lang) -> Vec<[String; 6]> {
    if report.experiments.is_empty() {
        return Vec::new();
    }
    let header = lang.pick(
        ["change", "finite", "loss", "error", "time", "memory"],
        ["변경", "유한", "손실", "오차", "시간", "메모리"],
    );
    let rows = report.experiments.iter().map(|experiment| cells(experiment, lang));
    std::iter::once(header.map(str::to_owned)).chain(rows).collect()
}

fn cells(experiment: &Experiment, lang: Lang) -> [String; 6] {
    let ratio = |x: Option<f64>| x.map(|x| format!("{x:.2}x")).unwrap_or_default();
    let change = match &experiment.note {
        Some(note) => format!("{} ({note})", experiment.change),
        None => experiment.change.clone(),
    };
    [
        change,
        if experiment.finite { lang.pick("yes", "예") } else { lang.pick("no", "아니요") }.to_owned(),
        experiment.loss.map(|loss| number(loss.0)).unwrap_or_default(),
        experiment.reference_error.map(number).unwrap_or_default(),
        ratio(experiment.time_ratio),
        ratio(experiment.memory_ratio),
    ]
}

/// `float32 is enough for encoder, train.py:39 (minimal; found in 11 replays)`.
pub(crate) fn island(island: &Island, lang: Lang) -> String {
    let minimal = if island.minimal {
        lang.pick("minimal", "최소 집합임")
    } else {
        lang.pick("not shown to be minimal", "최소 집합인지는 확인되지 않음")
    };
    say!(
        lang,
        "float32 is enough for {members} ({minimal}; found in {replays})",
        "float32로 실행하면 충분한 곳: {members} ({minimal}; {replays} 만에 찾음)",
        members = island.members.join(", "),
        replays = lang.pick(count(island.replays as u64, "replay"), format!("재실행 {}회", island.replays))
    )
}
