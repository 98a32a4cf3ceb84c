use crate::case::Case;
use crate::meant::base;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// The difference of two nearly equal numbers has lost its digits: what should be small and positive is 0 or negative.
    ///
    /// ## Why
    /// float32 carries seven digits. E[x^2] - E[x]^2 with a mean of 700 subtracts two numbers near 490000: nothing below 0.03
    /// survives. The root or the logarithm that follows meets the wrong sign.
    ///
    /// ## What to do
    /// Subtract before squaring (`x.var(correction=0)`), compute the difference in float64, or clamp it from below.
    ///
    /// ## Example
    /// ```python
    /// var = (x - x.mean(1, keepdim=True)).square().mean(1, keepdim=True)
    /// ```
    Cancellation, "cancellation", "the difference of nearly equal numbers has lost its digits",
    "subtract before squaring (x.var(correction=0)) or compute the difference in float64; a clamp only hides it",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || !matches!(case.op(), "sqrt" | "log" | "rsqrt" | "pow" | "div" | "acos" | "reciprocal") {
        return None;
    }
    let name = if case.op() == "div" { "other" } else { "self" };
    let value = case.value(name)?;
    let mut writer = case.input(name)?.from;
    for _ in 0..3 {
        let entry = &case.ledger.entries[writer?];
        if base(&entry.op) == "sub" {
            let terms = entry.inputs.iter().filter_map(|arg| arg.counts?.max_abs).fold(0.0, f64::max);
            let step = nanscope_numeric::Format::named(&entry.outputs.first()?.dtype)?.epsilon;
            // A handful of last places is rounding; more is a formula that really is negative.
            if entry.inputs.len() < 2 || value > 0.0 || value.abs() > 16.0 * step * terms || terms == 0.0 {
                return None;
            }
            return Finding::likely(5, vec![
                format!("{} of numbers up to {} leaves {}", entry.op, text::number(terms), text::number(value)),
                format!("one step of {} at that size is {}", entry.outputs[0].dtype, text::number(step * terms)),
            ]);
        }
        if !matches!(base(&entry.op), "add" | "mean" | "sum" | "mul" | "clone" | "_to_copy") {
            return None;
        }
        writer = entry.inputs.first().and_then(|arg| arg.from);
    }
    None
}
