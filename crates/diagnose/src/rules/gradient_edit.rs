use nanscope_lang::say;
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

    /// ## 무슨 일이 일어났나
    /// 역전파가 낸 기울기는 유한했지만, 그 뒤 업데이트 전에 프로그램 자신의 코드가 기울기를 망가뜨렸습니다.
    ///
    /// ## 왜
    /// 기울기를 자신의 노름으로 나누거나(참여하지 않은 분기에서는 노름이 0입니다), 직접 스케일을 곱하거나 나누거나,
    /// 훅에서 바꾸거나, 무한대인 노름으로 클리핑한 경우입니다. `GradScaler.unscale_` 뒤에는 아무도 기울기를 다시
    /// 검사하지 않습니다.
    ///
    /// ## 어떻게 하나
    /// 해당 연산을 보호하고(`norm.clamp(min=eps)`), `clip_grad_norm_`에 `error_if_nonfinite=True`를 넘기십시오.
    /// `unscale_` 전에 기울기를 고치는 것은 스케일을 알고 있을 때만 하십시오.
    ///
    /// ## 예
    /// ```python
    /// p.grad.div_(p.grad.norm().clamp(min=1e-6))
    /// ```
    "역전파와 업데이트 사이에서 기울기가 망가짐",
    "기울기에 적용하는 연산을 보호하십시오: 노름으로 나누기 전에 clamp로 하한을 두고, 훅에서 0이 되는 값이 없는지 확인하십시오",
    check;
    apart "check the gradients right after backward: finite there means that what follows damages them",
    "역전파 직후의 기울기를 확인해 보십시오: 거기서 유한하면 그 뒤의 처리가 망가뜨린 것입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if case.outside().is_some() || !matches!(case.phase(), Phase::Clip | Phase::Hook | Phase::Unscale) {
        return None;
    }
    let out = case.bad_output()?;
    let mut evidence = vec![say!(
        case.lang,
        "gradients were finite before {}: {} after it",
        "{} 연산 전에는 기울기가 유한했음; 그 뒤: {}",
        text::operator(&case.entry().op),
        text::bad_of(out, case.lang)
    )];
    evidence.extend(text::operands(&case.entry().inputs, case.lang));
    Finding::proved(6, evidence)
}
