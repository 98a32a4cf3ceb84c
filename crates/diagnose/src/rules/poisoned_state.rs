use nanscope_trace::schema::Source;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A running statistic, a moving average, an optimizer moment or a weight was bad before this step began.
    ///
    /// ## Why
    /// One bad batch leaves its mark: running_mean * 0.9 + nan is NaN for ever, also when the update of that step was left out.
    /// A checkpoint written after the accident brings it back.
    ///
    /// ## What to do
    /// Reset the state (`reset_running_stats()`, a fresh optimizer, an older checkpoint) and reject a bad batch before the
    /// forward pass, not after it.
    ///
    /// ## Example
    /// ```python
    /// if not torch.isfinite(x).all(): continue      # before model(x)
    /// ```
    PoisonedState, "poisoned-state", "state carried a bad value in from before this step",
    "reset the state (reset_running_stats(), an older checkpoint, a fresh optimizer), and find the step that made it bad",
    check
}

fn check(case: &Case) -> Option<Finding> {
    let arg = case.outside()?;
    let source = arg.source.as_ref()?;
    match source {
        Source::Buffer { .. } | Source::State { .. } => {
            Finding::proved(4, vec![format!("{}: {} before the step began", text::source(source, case.lang), text::bad_of(arg, case.lang))])
        }
        Source::Param { unwritten: false, .. } => {
            Finding::likely(4, vec![format!("{}: {} before the step began", text::source(source, case.lang), text::bad_of(arg, case.lang))])
        }
        _ => None,
    }
}
