use nanscope_lang::say;

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
    /// Bound the infinite factor before the product (clamp the log-probabilities), or select with `where` on
    /// arguments that were made safe. `torch.xlogy` and `torch.special.entr` give 0 in forward, but at p = 0 their
    /// derivative is NaN or inf: they suit what needs no gradient.
    ///
    /// ## Example
    /// ```python
    /// logp = logits.log_softmax(-1).clamp(min=torch.finfo(logits.dtype).min)
    /// entropy = -(logp.exp() * logp).sum(-1)
    /// ```
    ZeroTimesInfinity, "zero-times-infinity", "0 * inf in a formula that means 0",
    "bound the infinite factor before the product: clamp the log-probabilities to torch.finfo(dtype).min (xlogy and entr are finite in forward only)",

    /// ## 무슨 일이 일어났나
    /// 0이 되어야 할 식에서 0 * inf 또는 inf - inf가 계산되어 결과가 NaN이 되었습니다.
    ///
    /// ## 왜
    /// p = 0일 때의 p * log(p), 마스킹된 점수에 곱한 0, 무한대인 항에 붙은 가중치 0이 그렇습니다.
    ///
    /// ## 어떻게 하나
    /// 곱하기 전에 무한대가 되는 쪽의 범위를 제한하거나(로그 확률을 clamp), 인자를 안전하게 만든 뒤 `where`로
    /// 선택하십시오. `torch.xlogy`와 `torch.special.entr`는 순전파에서는 0을 주지만 p = 0에서 도함수가 NaN이나
    /// inf이므로, 기울기가 필요 없는 곳에만 알맞습니다.
    ///
    /// ## 예
    /// ```python
    /// logp = logits.log_softmax(-1).clamp(min=torch.finfo(logits.dtype).min)
    /// entropy = -(logp.exp() * logp).sum(-1)
    /// ```
    "0이 되어야 할 식에서 0 * inf",
    "곱하기 전에 무한대가 되는 쪽의 범위를 제한하십시오: 로그 확률을 torch.finfo(dtype).min으로 clamp (xlogy와 entr는 순전파에서만 유한합니다)",
    check;
    apart "print both factors at the bad element: 0 and inf decide",
    "비정상 원소에서 두 인수를 출력해 보십시오: 하나가 0이고 다른 하나가 inf이면 이것이 원인입니다"
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
    Finding::proved(6, vec![say!(case.lang, "{} * {} at {at}", "{} * {}, {at} 위치", text::number(a), text::number(b))])
}
