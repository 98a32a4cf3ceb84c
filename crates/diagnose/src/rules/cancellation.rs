use nanscope_lang::say;
use nanscope_trace::schema::{Drift, Entry};

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
    if let Some(finding) = proved(case, name) {
        return Some(finding);
    }
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

/// The step in float64 has another sign than the run, and two operands that the format cannot tell apart.
fn proved(case: &Case, name: &str) -> Option<Finding> {
    let (value, reference) = (case.value(name)?, case.reference(name)?);
    let format = nanscope_numeric::Format::named(&case.input(name)?.dtype)?;
    let wrong = value <= 0.0 && reference > 0.0;
    if !wrong || format.rounds_to_zero(reference) {
        return None;
    }
    let mut writer = case.input(name)?.from;
    for _ in 0..5 {
        let entry = &case.ledger.entries[writer?];
        if let Some(evidence) = entry.drift.as_ref().and_then(|drift| indistinct(case, entry, drift)) {
            let there = say!(
                case.lang,
                "{} gets {}; with the whole step in float64 it gets {}",
                "{} 연산이 받은 값은 {}; 스텝 전체를 float64로 계산하면 {}",
                case.entry().op,
                text::number(value),
                text::number(reference)
            );
            return Finding::proved(7, vec![evidence, there]);
        }
        if !matches!(base(&entry.op), "add" | "mean" | "sum" | "mul" | "div" | "clone" | "_to_copy" | "sqrt" | "neg") {
            return None;
        }
        writer = entry.inputs.first().and_then(|arg| arg.from);
    }
    None
}

/// What a difference lost, where its operands differ by less than the errors that they carry.
fn indistinct(case: &Case, entry: &Entry, drift: &Drift) -> Option<String> {
    let [a, b, ..] = &drift.operands[..] else { return None };
    if !matches!(base(&entry.op), "sub" | "add") {
        return None;
    }
    let (value, reference) = (drift.value?.0, drift.reference?.0);
    let dtype = &entry.outputs.first()?.dtype;
    // What came from outside the step was rounded before it: that float64 tells it from what is computed anew says nothing.
    if (a.value == a.reference) != (b.value == b.reference) {
        return None;
    }
    let size = a.reference.0.abs().max(b.reference.0.abs());
    let apart = (a.reference.0.abs() - b.reference.0.abs()).abs();
    let error = (a.value.0 - a.reference.0).abs() + (b.value.0 - b.reference.0).abs();
    let step = nanscope_numeric::Format::named(dtype)?.epsilon * size;
    // The operands themselves must be good: an error that is large beside them came from elsewhere.
    if apart > error + step || error > 64.0 * step || size == 0.0 {
        return None;
    }
    let digits = if apart > 0.0 { (-(apart / size).log10()).floor().min(16.0) } else { 16.0 };
    Some(say!(
        case.lang,
        "{op}: {mine} in {dtype}, {wide} in float64; its operands {a} and {b} agree to {digits} digits in float64",
        "{op}: {dtype}에서는 {mine}, float64에서는 {wide}; 피연산자 {a}, {b}: float64에서는 앞의 {digits}자리가 같음",
        op = entry.op,
        mine = text::number(value),
        wide = text::number(reference),
        a = text::exact(a.value.0, dtype),
        b = text::exact(b.value.0, dtype)
    ))
}
