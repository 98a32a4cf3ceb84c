use nanscope_numeric::Format;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A large finite constant that should exclude positions was added to a score, and the sum left the number format: -inf.
    ///
    /// ## Why
    /// `torch.finfo(torch.float16).min` is -65504, the last finite value. A score below -16 added to it (or a second mask) rounds
    /// to -inf. One such position is harmless; a row of nothing else is a softmax over nothing.
    ///
    /// ## What to do
    /// Fill instead of adding (`masked_fill`), use half of the smallest value, add in float32, or clamp the sum to
    /// `torch.finfo(dtype).min`.
    ///
    /// ## Example
    /// ```python
    /// scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    /// ```
    MaskConstantOverflow, "mask-constant-overflow", "a mask constant plus a score leaves the number format",
    "fill with masked_fill instead of adding, or clamp the sum to torch.finfo(dtype).min, or add in float32",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || !matches!(case.op(), "add" | "sub" | "baddbmm" | "mul") {
        return None;
    }
    let out = case.bad_output()?;
    let format = Format::named(&out.dtype)?;
    let (a, b) = (case.value("self")?, case.value("other")?);
    let (mask, score) = if a.abs() > b.abs() { (a, b) } else { (b, a) };
    if !mask.is_finite() || mask.abs() < format.max_finite * 0.25 || out.counts?.nan > 0 {
        return None;
    }
    let at = out.index.as_deref().map(text::index).unwrap_or_default();
    let sign = if case.op() == "mul" { "*" } else { "+" };
    Finding::proved(8, vec![
        format!("{} {sign} {} at {at}", text::number(mask), text::number(score)),
        format!("{} ends at {}", out.dtype, text::number(-format.max_finite)),
    ])
}
