use nanscope_trace::schema::{Confidence, Phase, Report, Verdict};

use super::number::{count, seconds};

/// The first line: an id where a cause is known, and one sentence.
pub(crate) struct Headline<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) text: String,
}

/// The headline of a report whose verdict is not `finite`.
pub(crate) fn headline(report: &Report) -> Headline<'_> {
    if let Some(cause) = report.causes.first() {
        let text = format!("{} ({})", cause.title, confidence(cause.confidence));
        return Headline { id: Some(&cause.id), text };
    }
    let text = match (report.verdict, &report.origin) {
        (Verdict::Nonfinite, Some(origin)) => {
            let kind = &origin.kind;
            match origin.phase {
                Phase::Data => format!("{kind} was already in the data; its cause is unknown"),
                Phase::Param => format!("{kind} was already in a parameter; its cause is unknown"),
                _ => format!("{kind} began here; its cause is unknown"),
            }
        }
        (Verdict::Nonfinite, None) => "a value stopped being finite; where it began was not found".into(),
        (Verdict::Diverging, _) => "the run is diverging; its cause is unknown".into(),
        (Verdict::Mismatch, _) => "two executions that must agree do not; the cause is unknown".into(),
        (Verdict::Unhealthy, _) => "the run is finite but does not learn; the cause is unknown".into(),
        (Verdict::Finite, _) => finite(report),
    };
    Headline { id: None, text }
}

/// How sure, in one word.
pub(crate) fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Proved => "proved",
        Confidence::Likely => "likely",
        Confidence::Possible => "possible",
    }
}

/// The whole story of a run in which nothing was found.
pub(crate) fn finite(report: &Report) -> String {
    let run = &report.run;
    let steps = count(run.steps, "step");
    match run.seconds {
        // Without an end nobody knows what happened after the last record.
        None => format!("finite as far as recorded: {steps}, then the log stops"),
        Some(total) => format!("finite: {steps}, nothing found ({})", seconds(total)),
    }
}
