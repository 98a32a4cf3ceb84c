use nanscope_trace::schema::Phase;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// Backward gave finite gradients; they were damaged after it, by the program's own code, before the update.
    ///
    /// ## Why
    /// Gradients divided by their own norm (0 for a branch that took no part), scaled or unscaled by hand, changed in a hook,
    /// clipped with a norm that is infinite. After `GradScaler.unscale_` nobody checks them again.
    ///
    /// ## What to do
    /// Guard the operation (`norm.clamp(min=eps)`), pass `error_if_nonfinite=True` to `clip_grad_norm_`, and edit gradients
    /// before `unscale_` only if the scale is known.
    ///
    /// ## Example
    /// ```python
    /// p.grad.div_(p.grad.norm().clamp(min=1e-6))
    /// ```
    GradientEdit, "gradient-edit", "gradients were damaged between backward and the update",
    "guard the operation on the gradient: clamp its norm from below before dividing by it, and check hooks for values of 0",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if case.outside().is_some() || !matches!(case.phase(), Phase::Clip | Phase::Hook | Phase::Unscale) {
        return None;
    }
    let out = case.bad_output()?;
    let mut evidence = vec![format!("gradients were finite before {}: {} after it", case.entry().op, text::bad_of(out, case.lang))];
    let read: Vec<String> = case.entry().inputs.iter().filter_map(|arg| text::operand(arg, case.lang)).collect();
    if !read.is_empty() {
        evidence.push(read.join(", "));
    }
    Finding::proved(6, evidence)
}
