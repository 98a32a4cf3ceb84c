use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// The logarithm of exactly 0 was taken; it is -inf.
    ///
    /// ## Why
    /// A probability that was rounded to 0 or to 1: a saturated sigmoid or softmax (float32 rounds sigmoid(17) to 1, float16
    /// sigmoid(9)), a standard deviation that underflowed, a histogram bin without entries, an eps that does not exist in the
    /// number format.
    ///
    /// ## What to do
    /// Stay in the logarithmic domain: `log_softmax`, `logsigmoid`, `binary_cross_entropy_with_logits`, `log1p`. Otherwise
    /// clamp the argument from below with a number that exists in its format.
    ///
    /// ## Example
    /// ```python
    /// loss = F.binary_cross_entropy_with_logits(logits, y)   # instead of log(sigmoid(logits))
    /// ```
    LogOfZero, "log-of-zero", "the logarithm of exactly zero",
    "stay in the logarithmic domain (log_softmax, logsigmoid, binary_cross_entropy_with_logits), or clamp the argument from below before log",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() {
        return None;
    }
    let edge = match case.op() {
        "log" | "log2" | "log10" | "_foreach_log" | "xlogy" | "logit" => 0.0,
        "log1p" => -1.0,
        _ => return None,
    };
    let name = if case.op() == "xlogy" { "other" } else { "self" };
    if case.value(name)? != edge {
        return None;
    }
    let arg = case.input(name)?;
    let mut evidence = vec![match arg.index.as_deref().filter(|at| !at.is_empty()) {
        Some(at) => format!("{}({}) at {}", case.op(), text::number(edge), text::index(at)),
        None => format!("{}({})", case.op(), text::number(edge)),
    }];
    if let (Some(census), true) = (&arg.census, edge == 0.0) {
        evidence.push(format!("{} of {} arguments are exactly 0", census.zero, census.n));
    }
    evidence.push(format!("the argument is {}", arg.dtype));
    Finding::proved(4, evidence)
}
