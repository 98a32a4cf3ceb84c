use crate::case::Case;
use crate::rules::Finding;

rule! {
    /// ## What happened
    /// The target cannot be reached from the input: its probability is exactly 0 whatever the model says, and the loss is
    /// infinite.
    ///
    /// ## Why
    /// CTC needs at least one frame per label and one more between equal labels. A short clip, a wide stride or a long text
    /// breaks this for one sample of a batch.
    ///
    /// ## What to do
    /// Pass `zero_infinity=True`, or drop samples whose input is shorter than target length plus number of repeats.
    ///
    /// ## Example
    /// ```python
    /// loss = F.ctc_loss(logp, targets, input_lengths, target_lengths, zero_infinity=True)
    /// ```
    InfeasibleTarget, "infeasible-target", "a target that cannot be reached",
    "pass zero_infinity=True, or drop samples whose input has fewer frames than labels plus repeats",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || !matches!(case.op(), "_ctc_loss" | "_cudnn_ctc_loss") {
        return None;
    }
    let out = case.bad_output()?;
    let sample = out.index.as_deref().and_then(|at| at.first()).copied().unwrap_or(0);
    let counts = out.counts?;
    Finding::proved(8, vec![
        format!("{} of {} samples have probability 0; the first is sample {sample}", counts.bad(), out.shape.first()?),
        "the log-probabilities that went in are finite".to_owned(),
    ])
}
