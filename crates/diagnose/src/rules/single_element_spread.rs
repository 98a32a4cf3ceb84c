use nanscope_lang::say;

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

    /// ## 무슨 일이 일어났나
    /// 원소 하나의 표준편차나 분산을 n - 1 보정으로 계산했습니다. 0 / 0이므로 NaN입니다.
    ///
    /// ## 왜
    /// 마지막 미니배치에 행이 하나뿐이거나, 특징 맵이 1x1로 줄었거나, 그룹에 채널이 하나뿐인 경우입니다. 결과에 eps를
    /// 더해도 소용없습니다. NaN에 eps를 더해도 NaN입니다.
    ///
    /// ## 어떻게 하나
    /// 원소가 하나일 때 0이 되는 편향 추정(`correction=0`, `unbiased=False`)을 쓰거나, 원소가 하나뿐일 때는 정규화하지
    /// 마십시오(`drop_last=True`, `numel()` 검사).
    ///
    /// ## 예
    /// ```python
    /// adv = (adv - adv.mean()) / (adv.std(correction=0) + 1e-8)
    /// ```
    "원소 하나의 표준편차 또는 분산",
    "원소가 하나일 때 0이 되는 편향 추정(std(correction=0))을 쓰거나, 원소가 하나뿐일 때는 정규화를 건너뛰십시오",
    check;
    apart "print how many elements the spread is taken over: one decides",
    "표준편차나 분산을 구하는 원소의 수를 출력해 보십시오: 하나뿐이면 이것이 원인입니다"
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
    Finding::proved(8, vec![say!(
        case.lang,
        "{} of a tensor of shape {:?} takes {each} element per result; the divisor n - {correction} is {}",
        "{} 연산의 입력 텐서 크기가 {:?}: 결과 하나마다 원소 {each}개를 사용; 나누는 수 n - {correction} = {}",
        case.op(),
        input.shape,
        each as f64 - correction
    )])
}
