use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// 0 * inf, or inf - inf, in a formula that means 0: the result is NaN.
    ///
    /// ## Why
    /// p * log(p) at p = 0, a mask of zeros multiplied onto masked scores, a weight of 0 for a term that is infinite.
    ///
    /// ## What to do
    /// Bound the infinite factor before the product (clamp the log-probabilities), use `xlogy`, or select with `where` on
    /// arguments that were made safe.
    ///
    /// ## Example
    /// ```python
    /// logp = logits.log_softmax(-1).clamp(min=torch.finfo(logits.dtype).min)
    /// entropy = -(logp.exp() * logp).sum(-1)
    /// ```
    ZeroTimesInfinity, "zero-times-infinity", "0 * inf in a formula that means 0",
    "bound the infinite factor before the product (clamp the log-probabilities), or use torch.special.xlogy / entr",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || case.op() != "mul" {
        return None;
    }
    let (a, b) = (case.value("self")?, case.value("other")?);
    if !(a == 0.0 && b.is_infinite() || a.is_infinite() && b == 0.0) {
        return None;
    }
    let at = case.bad_output()?.index.as_deref().map(text::index).unwrap_or_default();
    Finding::proved(6, vec![format!("{} * {} at {at}", text::number(a), text::number(b))])
}
