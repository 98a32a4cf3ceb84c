use nanscope_lang::say;

use crate::case::Case;
use crate::meant::base;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A value that matters became exactly 0 because it was too small for its number format, and a logarithm or a division met it.
    ///
    /// ## Why
    /// exp(-104) is 0 in float32, exp(-17.4) in float16; a softmax or softplus of a large negative number, a product of many
    /// probabilities, a squared gradient in float16.
    ///
    /// ## What to do
    /// Work with logarithms (logsumexp, log_softmax), add a floor that exists in the format, or use a wider format.
    ///
    /// ## Example
    /// ```python
    /// std = F.softplus(x) + 1e-4
    /// ```
    Underflow, "underflow", "a value that matters became 0 in its number format",
    "work with logarithms (logsumexp, log_softmax), add a floor that exists in this format, or use a wider format",

    /// ## 무슨 일이 일어났나
    /// 의미 있는 값이 형식에 비해 너무 작아 정확히 0이 되었고, 로그나 나눗셈이 그 0을 만났습니다.
    ///
    /// ## 왜
    /// exp(-104)는 float32에서, exp(-17.4)는 float16에서 0입니다. 큰 음수의 softmax나 softplus, 많은 확률의 곱,
    /// float16에서 제곱한 기울기도 그렇습니다.
    ///
    /// ## 어떻게 하나
    /// 로그로 계산하거나(logsumexp, log_softmax), 해당 형식에서 표현되는 하한을 더하거나, 더 넓은 형식을 쓰십시오.
    ///
    /// ## 예
    /// ```python
    /// std = F.softplus(x) + 1e-4
    /// ```
    "의미 있는 값이 언더플로로 0이 됨",
    "로그로 계산하거나(logsumexp, log_softmax), 이 형식에서 표현되는 하한을 더하거나, 더 넓은 형식을 쓰십시오",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() {
        return None;
    }
    let name = match case.op() {
        "div" => "other",
        "log" | "log2" | "log10" | "reciprocal" | "rsqrt" | "pow" => "self",
        _ => return None,
    };
    if case.value(name)? != 0.0 {
        return None;
    }
    let mut writer = case.input(name)?.from;
    for _ in 0..4 {
        let entry = &case.ledger.entries[writer?];
        match base(&entry.op) {
            "exp" | "_softmax" | "softplus" | "sigmoid" | "exp2" | "cumprod" | "prod" => {
                let format = nanscope_numeric::Format::named(&entry.outputs.first()?.dtype)?;
                let largest = entry.inputs.first().and_then(|arg| arg.counts?.max_abs)?;
                // What is below exp(-this) is 0. A softmax subtracts the largest first, which at most doubles the distance.
                let needed = -format.min_subnormal.ln() / 2.0;
                if largest < needed && !base(&entry.op).contains("prod") {
                    return None;
                }
                let read = entry.inputs.first().and_then(|arg| arg.counts?.max_abs).map(text::number).unwrap_or_default();
                return Finding::likely(4, vec![
                    say!(
                        case.lang,
                        "{} gives exactly 0; its argument reaches {read} in magnitude",
                        "{} 연산의 결과가 정확히 0; 인자의 최대 크기는 {read}",
                        entry.op
                    ),
                    say!(case.lang, "the result is {}", "결과의 형식: {}", entry.outputs.first()?.dtype),
                ]);
            }
            "mm" | "bmm" | "mv" | "sum" | "mul" | "add" | "clone" | "_to_copy" | "pow" => {
                writer = entry.inputs.first().and_then(|arg| arg.from);
            }
            _ => return None,
        }
    }
    None
}
