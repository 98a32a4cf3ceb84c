use nanscope_lang::say;
use nanscope_numeric::Format;

use crate::attention;
use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A result is larger than the largest finite value of a 16- or 8-bit format and became infinite. The same operator on
    /// the same inputs is finite in float64.
    ///
    /// ## Why
    /// float16 ends at 65504, float8_e5m2 at 57344, float8_e4m3fn at 448. Products of long rows (attention scores
    /// before the 1/sqrt(d)), sums over many elements, squared norms, inverses of nearly singular matrices, exp(x)
    /// for x above 11.09 and gradients times a loss scale pass 65504 easily. Autocast on CUDA chooses float16 for
    /// matrix products, whatever the size of the numbers, unless told `dtype=torch.bfloat16`.
    ///
    /// ## What to do
    /// Run this operator in float32 (an island inside autocast), scale an operand before the product, or use bfloat16, which
    /// has the range of float32. In backward: a smaller loss scale, or GradScaler, which finds one.
    ///
    /// ## Example
    /// ```python
    /// with torch.autocast("cuda", enabled=False):
    ///     scores = q.float() @ k.float().transpose(-2, -1)
    /// ```
    HalfOverflow, "half-overflow", "a result exceeds the largest finite value of its 16- or 8-bit format",
    "run this line in float32 (autocast disabled, operands .float()), scale an operand before the product, or use bfloat16",

    /// ## 무슨 일이 일어났나
    /// 결과가 16비트 또는 8비트 자료형의 가장 큰 유한한 값을 넘어 무한대가 되었습니다. 같은 입력에 같은 연산을 float64로
    /// 실행하면 유한합니다.
    ///
    /// ## 왜
    /// 최댓값은 float16이 65504, float8_e5m2가 57344, float8_e4m3fn이 448입니다. 긴 행끼리의 곱(1/sqrt(d)를 곱하기
    /// 전의 어텐션 점수), 많은 원소의 합, 노름의 제곱, 거의 특이한 행렬의 역행렬, x가 11.09보다 클 때의 exp(x), 손실
    /// 스케일을 곱한 기울기는 65504를 쉽게 넘습니다. CUDA의 autocast는 `dtype=torch.bfloat16`을 지정하지 않으면 값의
    /// 크기와 상관없이 행렬 곱에 float16을 사용합니다.
    ///
    /// ## 어떻게 하나
    /// 이 연산을 float32로 실행하거나(autocast 안에서 이 부분만 예외로 둠), 곱하기 전에 한쪽 피연산자의 스케일을
    /// 줄이거나, 범위가 float32와 같은 bfloat16을 쓰십시오. 역전파에서라면 손실 스케일을 줄이거나, 알맞은 스케일을 찾아
    /// 주는 GradScaler를 쓰십시오.
    ///
    /// ## 예
    /// ```python
    /// with torch.autocast("cuda", enabled=False):
    ///     scores = q.float() @ k.float().transpose(-2, -1)
    /// ```
    "결과가 16비트 또는 8비트 자료형의 가장 큰 유한한 값을 넘음",
    "이 줄을 float32로 실행하거나(autocast를 끄고 피연산자에 .float()), 곱하기 전에 피연산자의 스케일을 줄이거나, bfloat16을 쓰십시오",
    check;
    apart "run this line in float32: finite then means that the format is too narrow, and nothing else is wrong",
    "해당 줄을 float32로 실행해 보십시오: 그때 유한하면 자료형의 표현 범위만 문제입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if case.outside().is_some() || case.entry().comm.is_some() {
        return None;
    }
    let out = case.bad_output()?;
    let format = Format::named(&out.dtype).filter(|f| f.bits <= 16)?;
    let reference = case.entry().reference.as_ref()?;
    if !reference.finite {
        return None;
    }
    let largest = reference.largest?;
    let narrow = format.max_finite;
    if largest < narrow * 0.99 {
        // Finite in float64 and not large: an intermediate of the kernel may have overflowed.
        return Finding::likely(3, vec![say!(
            case.lang,
            "in float64 the same operator gives at most {}; {} ends at {}",
            "같은 연산을 float64로 실행하면 최대 {}; {}의 최댓값은 {}",
            text::number(largest),
            out.dtype,
            text::number(narrow)
        )]);
    }
    let mut evidence = vec![say!(
        case.lang,
        "the result is {} in float64; {} ends at {}",
        "결과가 float64에서는 {}; {}의 최댓값은 {}",
        text::number(largest),
        out.dtype,
        text::number(narrow)
    )];
    let inputs: Vec<String> = case
        .entry()
        .inputs
        .iter()
        .filter(|arg| !arg.name.starts_with("saved"))
        .filter_map(|arg| Some(format!("{} {}", arg.name, text::number(arg.counts?.max_abs?))))
        .collect();
    if !inputs.is_empty() {
        evidence.push(say!(case.lang, "largest inputs: {}", "입력의 최대 크기: {}", inputs.join(", ")));
    }
    if let Some(call) = attention::of(case.ledger, case.entry()) {
        evidence.extend(attention::logits(call, case.lang));
    }
    Finding::proved(6, evidence)
}
