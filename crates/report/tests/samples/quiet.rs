use nanscope_trace::schema::*;

use super::*;

/// Nothing found.
pub(crate) fn finite() -> Report {
    report(Verdict::Finite)
}

/// Nothing found, but the log stops in the middle.
pub(crate) fn torn() -> Report {
    let mut torn = report(Verdict::Finite);
    torn.run.seconds = None;
    torn.run.watch_seconds = None;
    torn.warnings = vec![
        "runs/a/rank-0.log: stopped at byte 4096: the frame ends after 12 of 88 bytes".into(),
        "over the last 5 steps the loss grew 120-fold, to 3.1e4".into(),
    ];
    torn
}
