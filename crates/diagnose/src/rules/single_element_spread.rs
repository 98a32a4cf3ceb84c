use crate::case::Case;
use crate::rules::Finding;

rule! {
    /// ## What happened
    /// The standard deviation or variance of a single element was taken with the n - 1 correction: 0 / 0 is NaN.
    ///
    /// ## Why
    /// The last minibatch holds one row, a feature map has shrunk to 1x1, a group holds one channel. An eps added to the result
    /// does not help: NaN plus eps is NaN.
    ///
    /// ## What to do
    /// Take the biased form (`correction=0`, `unbiased=False`), which is 0 for one element, or do not normalise when there is
    /// only one (`drop_last=True`, a test of `numel()`).
    ///
    /// ## Example
    /// ```python
    /// adv = (adv - adv.mean()) / (adv.std(correction=0) + 1e-8)
    /// ```
    SingleElementSpread, "single-element-spread", "the spread of a single element",
    "use the biased form, std(correction=0), which is 0 for one element, or skip the normalisation when there is only one",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || !matches!(case.op(), "std" | "var" | "std_mean" | "var_mean") {
        return None;
    }
    let (input, out) = (case.input("self")?, case.bad_output()?);
    let (n, results): (u64, u64) = (input.shape.iter().product(), out.shape.iter().product());
    let each = n.checked_div(results.max(1))?;
    let correction = case.entry().scalars.get("correction").map_or(1.0, |x| x.0);
    if each == 0 || each as f64 > correction {
        return None;
    }
    Finding::proved(8, vec![format!(
        "{} of a tensor of shape {:?} takes {each} element per result; the divisor n - {correction} is {}",
        case.op(),
        input.shape,
        each as f64 - correction
    )])
}
