use nanscope_lang::say;

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
    /// Subtract before squaring (`x.var(correction=0)`), or compute the difference in float64. A clamp from below
    /// only hides it: the digits are gone all the same.
    ///
    /// ## Example
    /// ```python
    /// var = (x - x.mean(1, keepdim=True)).square().mean(1, keepdim=True)
    /// ```
    Cancellation, "cancellation", "the difference of nearly equal numbers has lost its digits",
    "subtract before squaring (x.var(correction=0)) or compute the difference in float64; a clamp only hides it",

    /// ## 무슨 일이 일어났나
    /// 거의 같은 두 수를 빼면서 유효 숫자가 사라졌습니다. 작은 양수여야 할 값이 0이나 음수가 됩니다.
    ///
    /// ## 왜
    /// float32의 유효 숫자는 일곱 자리 정도입니다. 평균이 700일 때 E[x^2] - E[x]^2는 490000 근처의 두 수를 빼는
    /// 계산이므로 0.03보다 작은 차이는 남지 않습니다. 그 결과에 제곱근이나 로그를 취하면 부호가 잘못된 값을 만나게
    /// 됩니다.
    ///
    /// ## 어떻게 하나
    /// 제곱하기 전에 먼저 빼거나(`x.var(correction=0)`), 차를 float64로 계산하십시오. clamp로 하한을 두는 것은 문제를
    /// 가릴 뿐이며, 사라진 유효 숫자는 돌아오지 않습니다.
    ///
    /// ## 예
    /// ```python
    /// var = (x - x.mean(1, keepdim=True)).square().mean(1, keepdim=True)
    /// ```
    "거의 같은 두 수의 차에서 유효 숫자가 사라짐",
    "제곱하기 전에 빼거나(x.var(correction=0)) 차를 float64로 계산하십시오 (clamp는 문제를 가릴 뿐입니다)",
    check;
    apart "run the line in float64: a result of the right sign means that digits were lost, not that the formula is wrong",
    "해당 줄을 float64로 실행해 보십시오: 부호가 올바르면 수식이 아니라 유효 숫자가 문제입니다"
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
                say!(
                    case.lang,
                    "{} of numbers up to {} leaves {}",
                    "{}: 크기가 최대 {}인 수들의 차가 {}",
                    text::operator(&entry.op),
                    text::number(terms),
                    text::number(value)
                ),
                say!(
                    case.lang,
                    "neighbouring {} numbers of that size are {} apart",
                    "그 크기에서 {} 값의 간격은 {}",
                    entry.outputs[0].dtype,
                    text::number(step * terms.log2().floor().exp2())
                ),
            ]);
        }
        if !matches!(base(&entry.op), "add" | "mean" | "sum" | "mul" | "clone" | "_to_copy") {
            return None;
        }
        writer = entry.inputs.first().and_then(|arg| arg.from);
    }
    None
}
