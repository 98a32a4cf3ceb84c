use nanscope_lang::say;
use nanscope_numeric::Format;

use crate::attention;
use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A large finite constant that should exclude positions was added to a score, and the sum left the number format: -inf.
    ///
    /// ## Why
    /// `torch.finfo(torch.float16).min` is -65504, the last finite value. A score of -16 or lower added to it (or a
    /// second mask) rounds to -inf; in float32 and bfloat16 only a second mask does that. One such position is
    /// harmless; a row of nothing else is a softmax over nothing.
    ///
    /// ## What to do
    /// Fill instead of adding (`masked_fill`), use half of the smallest value, add in float32, or clamp the sum to
    /// `torch.finfo(dtype).min`.
    ///
    /// ## Example
    /// ```python
    /// scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    /// ```
    MaskConstantOverflow, "mask-constant-overflow", "a mask constant plus a score leaves the number format",
    "fill with masked_fill instead of adding, or clamp the sum to torch.finfo(dtype).min, or add in float32",

    /// ## 무슨 일이 일어났나
    /// 특정 위치를 제외하려고 점수에 큰 유한 상수를 더했는데, 합이 자료형의 범위를 벗어나 -inf가 되었습니다.
    ///
    /// ## 왜
    /// `torch.finfo(torch.float16).min`은 마지막 유한한 값인 -65504입니다. 여기에 -16 이하의 점수(또는 두 번째
    /// 마스크)를 더하면 -inf로 반올림됩니다. float32와 bfloat16에서는 두 번째 마스크를 더할 때만 그렇습니다. 그런
    /// 위치가 하나라면 해가 없지만, 행 전체가 그렇다면 아무것도 남지 않은 행의 softmax가 됩니다.
    ///
    /// ## 어떻게 하나
    /// 더하는 대신 채우거나(`masked_fill`), 최솟값의 절반을 쓰거나, float32로 더하거나, 합의 하한을
    /// `torch.finfo(dtype).min`으로 하여 clamp하십시오.
    ///
    /// ## 예
    /// ```python
    /// scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    /// ```
    "마스크 상수와 점수의 합이 자료형의 범위를 벗어남",
    "더하는 대신 masked_fill로 채우거나, 합의 하한을 torch.finfo(dtype).min으로 하여 clamp하거나, float32로 더하십시오",
    check;
    apart "write the constant with masked_fill instead of adding it: finite then means that the sum left the format",
    "상수를 더하는 대신 masked_fill로 써 보십시오: 그때 유한하면 합이 자료형의 범위를 벗어났던 것입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || !matches!(case.op(), "add" | "sub" | "baddbmm" | "mul") {
        return None;
    }
    let out = case.bad_output()?;
    let format = Format::named(&out.dtype)?;
    let (a, b) = (case.value("self")?, case.value("other")?);
    let (mask, score) = if a.abs() > b.abs() { (a, b) } else { (b, a) };
    if !mask.is_finite() || mask.abs() < format.max_finite * 0.25 || out.counts?.nan > 0 {
        return None;
    }
    let at = out.index.as_deref().map(text::index).unwrap_or_default();
    let sign = if case.op() == "mul" { "*" } else { "+" };
    let mut evidence = vec![
        say!(
            case.lang,
            "{} {sign} {} at {at}",
            "{} {sign} {}, {at} 위치",
            text::number(mask),
            text::number(score)
        ),
        say!(case.lang, "{} ends at {}", "{}의 최솟값은 {}", out.dtype, text::number(-format.max_finite)),
    ];
    if let Some(call) = attention::of(case.ledger, case.entry()) {
        evidence.extend(attention::mask(call, case.lang));
    }
    Finding::proved(8, evidence)
}
