use nanscope_lang::{Lang, say};
use nanscope_numeric::Format;
use nanscope_trace::schema::Entry;

use crate::case::Case;
use crate::meant::base;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A guard constant was rounded away in the number format at hand, so it guards nothing.
    ///
    /// ## Why
    /// float16 has no positive number below 6e-8: 1e-8 and 1e-12 are 0 in it. Just below 1, bfloat16 steps by 0.0039
    /// and float16 by 0.00049: 1 - 1e-6 is 1 in both. Code written for float32 meets these under autocast or after
    /// `.half()`; `F.normalize` has a default eps of 1e-12.
    ///
    /// ## What to do
    /// Use a constant that exists in the format, or do this part in float32. Beside 0, float16 needs about 1e-4 (1e-8
    /// does in bfloat16, which has the range of float32); beside 1, a constant below `torch.finfo(x.dtype).eps` may
    /// be lost: 0.00098 in float16, 0.0078 in bfloat16.
    ///
    /// ## Example
    /// ```python
    /// y = x / norm.clamp(min=1e-4)                       # float16: 1e-8 is 0
    /// p = p.clamp(max=1 - torch.finfo(p.dtype).eps)      # bfloat16: 1 - 1e-6 is 1
    /// ```
    EpsilonLost, "epsilon-lost", "a guard constant is rounded away in this number format",
    "use a guard that exists in this format (beside 0: 1e-4 in float16; beside 1: torch.finfo(x.dtype).eps), or compute this part in float32",

    /// ## 무슨 일이 일어났나
    /// 0이나 경계를 피하려고 넣은 작은 상수가 이 자료형에서는 반올림되어 사라졌고, 그래서 아무것도 막지 못합니다.
    ///
    /// ## 왜
    /// float16에는 6e-8보다 작은 양수가 없으므로 1e-8과 1e-12는 0이 됩니다. 1 바로 아래에서 bfloat16의 간격은 0.0039,
    /// float16의 간격은 0.00049이므로 1 - 1e-6은 둘 다에서 1이 됩니다. float32를 전제로 쓴 코드가 autocast 안에서나
    /// `.half()` 뒤에 이런 일을 겪습니다. `F.normalize`의 eps 기본값은 1e-12입니다.
    ///
    /// ## 어떻게 하나
    /// 해당 자료형에서 표현되는 상수를 쓰거나, 이 부분을 float32로 계산하십시오. 0 근처를 보호하려면 float16에서는
    /// 1e-4 정도가 필요합니다(표현 범위가 float32와 같은 bfloat16에서는 1e-8로 충분합니다). 1 근처에서는
    /// `torch.finfo(x.dtype).eps`(float16 0.00098, bfloat16 0.0078)보다 작은 상수는 사라질 수 있습니다.
    ///
    /// ## 예
    /// ```python
    /// y = x / norm.clamp(min=1e-4)                       # float16: 1e-8 is 0
    /// p = p.clamp(max=1 - torch.finfo(p.dtype).eps)      # bfloat16: 1 - 1e-6 is 1
    /// ```
    "보호용 상수가 이 자료형에서 반올림되어 사라짐",
    "이 자료형에서 표현되는 상수(0 근처: float16이라면 1e-4, 1 근처: torch.finfo(x.dtype).eps)를 쓰거나 이 부분을 float32로 계산하십시오",
    check;
    apart "add the guard constant to 0 or 1 in the format at hand: no change means that it guards nothing",
    "해당 자료형에서 보호 상수를 0이나 1에 더해 보십시오: 값이 그대로면 아무것도 보호하지 못하는 것입니다"
}

/// Operators that hand a value on, so that a guard before them still counts.
const THROUGH: &[&str] = &["neg", "rsub", "expand", "_to_copy", "sqrt", "pow", "clone", "sub", "mul"];

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() {
        return None;
    }
    let operand = match case.op() {
        "div" => "other",
        "log" | "log1p" | "log2" | "log10" | "sqrt" | "rsqrt" | "reciprocal" | "pow" | "logit" | "atanh" | "acos" => "self",
        _ => return None,
    };
    let mut writer = case.input(operand)?.from;
    for _ in 0..5 {
        let entry = &case.ledger.entries[writer?];
        if let Some(text) = lost(entry, case.lang) {
            let op = text::operator(&case.entry().op);
            let met = match case.value(operand).map(text::number) {
                Some(x) => say!(
                    case.lang,
                    "so {op} meets {x}, from which it was to be guarded",
                    "그래서 {op} 연산이 피하려던 값을 그대로 만남: {x}"
                ),
                None => say!(
                    case.lang,
                    "so {op} meets the value it was to be guarded from",
                    "그래서 {op} 연산이 피하려던 값을 그대로 만남"
                ),
            };
            let mut evidence = vec![text, met];
            if let (Some(value), Some(reference)) = (case.value(operand), case.reference(operand))
                && value != reference
            {
                evidence.push(say!(
                    case.lang,
                    "that value is {}; with the whole step in float64 it is {}",
                    "그 값은 {}; 스텝 전체를 float64로 계산하면 {}",
                    text::number(value),
                    text::number(reference)
                ));
            }
            return Finding::proved(9, evidence);
        }
        if !THROUGH.contains(&base(&entry.op)) {
            return None;
        }
        writer = entry.inputs.first().and_then(|arg| arg.from);
    }
    None
}

/// What an operator's constant has become, if the format has swallowed it.
fn lost(entry: &Entry, lang: Lang) -> Option<String> {
    let out = entry.outputs.first()?;
    let format = Format::named(&out.dtype)?;
    let names: &[&str] = match base(&entry.op).trim_end_matches('_') {
        "add" | "sub" => &["other"],
        "clamp" | "clamp_min" | "clamp_max" => &["min", "max"],
        _ => return None,
    };
    for name in names {
        let Some(x) = entry.scalars.get(*name).map(|x| x.0).filter(|x| x.is_finite() && *x != 0.0) else { continue };
        if format.rounds_to_zero(x) {
            let smallest = text::number(format.min_subnormal);
            return Some(say!(
                lang,
                "{x:e} is 0 in {}, whose smallest positive value is {smallest}",
                "{x:e} 값이 {}에서는 0 (가장 작은 양수: {smallest})",
                out.dtype
            ));
        }
        let rounded = format.round(x);
        if rounded != x && rounded.abs() == 1.0 && x.abs() < 1.0 {
            return Some(say!(
                lang,
                "{x} is {rounded} in {}, whose steps below 1 are {}",
                "{x} 값이 {}에서는 {rounded} (1 바로 아래의 간격: {})",
                out.dtype,
                text::number(format.epsilon / 2.0)
            ));
        }
    }
    None
}
