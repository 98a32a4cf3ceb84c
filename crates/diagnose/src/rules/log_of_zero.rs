use nanscope_lang::say;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// The logarithm of exactly 0 was taken; it is -inf.
    ///
    /// ## Why
    /// A probability that was rounded to 0 or to 1: a saturated sigmoid or softmax (float32 rounds sigmoid(17) to 1, float16
    /// sigmoid(9)), a standard deviation that underflowed, a histogram bin without entries, an eps that does not exist in the
    /// number format.
    ///
    /// ## What to do
    /// Stay in the logarithmic domain: `log_softmax`, `logsigmoid` (`logsigmoid(-x)` for log(1 - sigmoid(x))),
    /// `binary_cross_entropy_with_logits`. Otherwise clamp the argument from below with a number that exists in its
    /// format: 1e-8 is 0 in float16.
    ///
    /// ## Example
    /// ```python
    /// loss = F.binary_cross_entropy_with_logits(logits, y)   # instead of log(sigmoid(logits))
    /// ```
    LogOfZero, "log-of-zero", "the logarithm of exactly zero",
    "stay in the logarithmic domain (log_softmax, logsigmoid, binary_cross_entropy_with_logits), or clamp the argument from below before log",

    /// ## 무슨 일이 일어났나
    /// 정확히 0인 값의 로그를 계산했습니다. 결과는 -inf입니다.
    ///
    /// ## 왜
    /// 0이나 1로 반올림된 확률(포화된 sigmoid나 softmax: sigmoid(17)은 float32에서, sigmoid(9)는 float16에서 1이
    /// 됩니다), 언더플로로 0이 된 표준편차, 비어 있는 히스토그램 구간, 해당 자료형에서 0이 되는 eps가 원인입니다.
    ///
    /// ## 어떻게 하나
    /// 로그를 취한 상태로 계산하십시오: `log_softmax`, `logsigmoid`(log(1 - sigmoid(x))는 `logsigmoid(-x)`),
    /// `binary_cross_entropy_with_logits`. 그럴 수 없다면 인자의 자료형에서 표현되는 수를 하한으로 하여 인자를
    /// clamp하십시오. 1e-8은 float16에서 0입니다.
    ///
    /// ## 예
    /// ```python
    /// loss = F.binary_cross_entropy_with_logits(logits, y)   # instead of log(sigmoid(logits))
    /// ```
    "정확히 0인 값의 로그",
    "로그를 취한 상태로 계산하거나(log_softmax, logsigmoid, binary_cross_entropy_with_logits), log 앞에서 clamp로 인자에 하한을 두십시오",
    check;
    apart "print the smallest argument of the logarithm: exactly 0 decides",
    "로그의 가장 작은 인자를 출력해 보십시오: 정확히 0이면 이것이 원인입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() {
        return None;
    }
    // Where the function is a logarithm of 0, spelled out or not: atanh(1) is half of log(2 / 0).
    let edges: &[f64] = match case.op() {
        "log" | "log2" | "log10" | "_foreach_log" | "xlogy" => &[0.0],
        "logit" | "special_ndtri" => &[0.0, 1.0],
        "log1p" => &[-1.0],
        "atanh" | "erfinv" => &[-1.0, 1.0],
        _ => return None,
    };
    let name = if case.op() == "xlogy" { "other" } else { "self" };
    let edge = case.value(name).filter(|value| edges.contains(value))?;
    let arg = case.input(name)?;
    let mut evidence = vec![text::call(case.op(), edge, arg.index.as_deref(), case.lang)];
    if let (Some(census), true) = (&arg.census, edge == 0.0 && arg.shape.iter().product::<u64>() > 1) {
        evidence.push(say!(
            case.lang,
            "arguments that are exactly 0: {zero} of {n}",
            "인자 {n}개 중 {zero}개가 정확히 0",
            zero = census.zero,
            n = census.n
        ));
    }
    evidence.push(say!(case.lang, "the argument is {}", "인자의 자료형: {}", arg.dtype));
    match case.reference(name) {
        Some(wide) if wide == edge => evidence.push(
            case.lang
                .pick("with the whole step in float64 it is the same", "스텝 전체를 float64로 계산해도 같은 값임")
                .to_owned(),
        ),
        Some(wide) if wide.is_finite() => evidence.push(say!(
            case.lang,
            "with the whole step in float64 the argument is {}, its logarithm {}",
            "스텝 전체를 float64로 계산하면 인자는 {}, 그 로그는 {}",
            text::number(wide),
            text::number(case.bad_output().and_then(|out| out.reference).map_or_else(|| (wide - edge).ln(), |x| x.0))
        )),
        _ => {}
    }
    Finding::proved(4, evidence)
}
