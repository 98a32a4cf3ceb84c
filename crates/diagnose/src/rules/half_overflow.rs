use nanscope_numeric::Format;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A result is larger than the largest finite value of a 16- or 8-bit format and became infinite. The same operator on
    /// the same inputs is finite in float64.
    ///
    /// ## Why
    /// float16 ends at 65504. Products of long rows (attention scores before the 1/sqrt(d)), sums over many elements, squared
    /// norms, inverses of nearly singular matrices and gradients times a loss scale pass it easily. Autocast chooses float16
    /// for matrix products whatever the size of the numbers.
    ///
    /// ## What to do
    /// Run this operator in float32 (an island inside autocast), scale an operand before the product, or use bfloat16, which
    /// has the range of float32. In backward: a smaller loss scale, or GradScaler, which finds one.
    ///
    /// ## Example
    /// ```python
    /// with torch.autocast("cuda", enabled=False):
    ///     scores = q.float() @ k.float().transpose(-2, -1)
    /// ```
    HalfOverflow, "half-overflow", "a result exceeds the largest finite value of its 16- or 8-bit format",
    "run this line in float32 (autocast disabled, operands .float()), scale an operand before the product, or use bfloat16",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if case.outside().is_some() {
        return None;
    }
    let out = case.bad_output()?;
    let format = Format::named(&out.dtype).filter(|f| f.bits <= 16)?;
    let reference = case.entry().reference.as_ref()?;
    if !reference.finite {
        return None;
    }
    let largest = reference.largest?;
    let narrow = format.max_finite;
    if largest < narrow * 0.99 {
        // Finite in float64 and not large: an intermediate of the kernel may have overflowed.
        return Finding::likely(3, vec![format!(
            "in float64 the same operator gives at most {}; {} ends at {}",
            text::number(largest),
            out.dtype,
            text::number(narrow)
        )]);
    }
    let mut evidence =
        vec![format!("{} in float64; {} ends at {}", text::number(largest), out.dtype, text::number(narrow))];
    let inputs: Vec<String> = case
        .entry()
        .inputs
        .iter()
        .filter(|arg| !arg.name.starts_with("saved"))
        .filter_map(|arg| Some(format!("{} {}", arg.name, text::number(arg.counts?.max_abs?))))
        .collect();
    if !inputs.is_empty() {
        evidence.push(format!("largest inputs: {}", inputs.join(", ")));
    }
    Finding::proved(6, evidence)
}
