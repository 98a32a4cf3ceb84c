use nanscope_numeric::Format;
use nanscope_trace::schema::{Entry, Phase};

use crate::case::Case;
use crate::meant::base;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// The gradients are finite; multiplied with the loss scale they leave float16.
    ///
    /// ## Why
    /// A fixed loss scale that is too large for this model or this batch. Every gradient on the way back carries the factor;
    /// the first that is stored in float16 and larger than 65504 becomes infinite.
    ///
    /// ## What to do
    /// Use `torch.amp.GradScaler`, which lowers the scale and leaves the update out, or a smaller scale; or bfloat16, which
    /// needs none.
    ///
    /// ## Example
    /// ```python
    /// scaler = torch.amp.GradScaler("cuda")
    /// scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
    /// ```
    LossScaleOverflow, "loss-scale-overflow", "the loss scale pushes finite gradients out of float16",
    "use torch.amp.GradScaler, which finds a scale that fits and leaves bad updates out, or lower the fixed scale",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_backward() {
        return None;
    }
    let out = case.bad_output()?;
    let format = Format::named(&out.dtype).filter(|f| f.bits <= 16 && f.max_finite < 1e6)?;
    let largest = case.entry().reference.as_ref().filter(|r| r.finite)?.largest?;
    let scale = case.ledger.entries.iter().rev().filter(|e| e.phase == Phase::Forward).find_map(scale_of)?;
    let unscaled = largest / scale;
    if unscaled >= format.max_finite {
        return None;
    }
    Finding::proved(8, vec![
        format!("the loss is multiplied with {}", text::number(scale)),
        format!(
            "the gradient would be {} without it, and is {} with it; {} ends at {}",
            text::number(unscaled),
            text::number(largest),
            out.dtype,
            text::number(format.max_finite)
        ),
    ])
}

/// Factor of a multiplication of a scalar with a number, large enough to be a loss scale.
fn scale_of(entry: &Entry) -> Option<f64> {
    let scalar = base(&entry.op) == "mul" && entry.outputs.first()?.shape.iter().product::<u64>() == 1;
    if !scalar {
        return None;
    }
    let factor = entry.scalars.get("other").map(|x| x.0).or_else(|| {
        let largest = |i: usize| entry.inputs.get(i).and_then(|arg| arg.counts?.max_abs);
        Some(largest(0)?.max(largest(1)?))
    })?;
    (factor.abs() >= 64.0).then_some(factor.abs())
}
