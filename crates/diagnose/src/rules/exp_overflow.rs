use nanscope_lang::say;
use nanscope_numeric::Format;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// An exponential left its number format: exp(x) is infinite in float32 and bfloat16 for x above 88.72, in
    /// float64 above 709.78. (float16 ends far earlier, above 11.09: see `half-overflow`.)
    ///
    /// ## Why
    /// A log-variance, a log-ratio or a logit without bound; softplus, softmax or logsumexp spelled by hand; a clamp that
    /// comes after the exponential: the clamped value is finite, but its derivative is 0 * inf.
    ///
    /// ## What to do
    /// Bound the argument before `exp`, or use the form that subtracts the maximum: `logsumexp`, `softplus`, `log_softmax`,
    /// `logaddexp`.
    ///
    /// ## Example
    /// ```python
    /// std = (0.5 * logvar.clamp(max=10)).exp()
    /// loss = F.softplus(x)                  # instead of log(1 + exp(x))
    /// ```
    ExpOverflow, "exp-overflow", "an exponential is too large for its number format",
    "bound the argument before exp (clamp), or use softplus, logsumexp or log_softmax instead of the spelled-out form",

    /// ## 무슨 일이 일어났나
    /// 지수 함수의 결과가 자료형의 범위를 벗어났습니다. exp(x)는 float32와 bfloat16에서 x가 88.72보다 크면,
    /// float64에서는 709.78보다 크면 무한대입니다. (float16은 훨씬 이른 11.09에서 끝납니다: `half-overflow` 참고.)
    ///
    /// ## 왜
    /// 범위 제한이 없는 로그 분산, 로그 비율, 로짓이나, 직접 풀어 쓴 softplus, softmax, logsumexp가 원인입니다. 지수
    /// 함수 뒤에 clamp를 두어도 마찬가지입니다. clamp된 값은 유한하지만 그 도함수는 0 * inf입니다.
    ///
    /// ## 어떻게 하나
    /// `exp` 앞에서 인자의 범위를 제한하거나, 최댓값을 먼저 빼는 함수(`logsumexp`, `softplus`, `log_softmax`,
    /// `logaddexp`)를 쓰십시오.
    ///
    /// ## 예
    /// ```python
    /// std = (0.5 * logvar.clamp(max=10)).exp()
    /// loss = F.softplus(x)                  # instead of log(1 + exp(x))
    /// ```
    "지수 함수의 결과가 자료형의 범위를 넘음",
    "exp 앞에서 인자의 범위를 제한하거나(clamp), 풀어 쓴 식 대신 softplus, logsumexp, log_softmax를 쓰십시오",
    check;
    apart "print the largest argument of exp: above the limit of its format decides",
    "exp의 가장 큰 인자를 출력해 보십시오: 자료형의 한계를 넘으면 이것이 원인입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || !matches!(case.op(), "exp" | "exp2" | "expm1" | "sinh" | "cosh" | "_foreach_exp" | "linalg_matrix_exp") {
        return None;
    }
    let out = case.bad_output()?;
    let (value, format) = (case.value("self")?, Format::named(&out.dtype)?);
    if !value.is_finite() || format.max_finite < 1e30 {
        return None;
    }
    let limit = if case.op() == "exp2" { format.max_finite.log2() } else { format.max_finite.ln() };
    if case.op() == "linalg_matrix_exp" {
        let largest = case.entry().reference.as_ref().and_then(|reference| reference.largest)?;
        return Finding::proved(6, vec![
            say!(
                case.lang,
                "the largest magnitude in the matrix is {}",
                "행렬의 최대 크기: {}",
                text::number(case.largest_input()?)
            ),
            say!(
                case.lang,
                "its exponential reaches {} in float64; {} ends at {}",
                "행렬 지수는 float64에서 {}까지 커지며, {}의 최댓값은 {}",
                text::number(largest),
                out.dtype,
                text::number(format.max_finite)
            ),
        ]);
    }
    let mut evidence = vec![text::call(case.op(), value, out.index.as_deref(), case.lang)];
    evidence.push(say!(
        case.lang,
        "in {} it is inf for arguments above {}",
        "{}에서는 인자가 {}보다 크면 결과가 inf",
        out.dtype,
        text::number(limit)
    ));
    match out.reference.map(|x| x.0) {
        Some(wide) if wide.is_finite() => evidence.push(say!(
            case.lang,
            "with the whole step in float64 it is {}",
            "스텝 전체를 float64로 계산하면 {}",
            text::number(wide)
        )),
        Some(wide) if wide.is_infinite() => evidence.push(
            case.lang
                .pick("it is inf in float64 as well: a wider format does not help", "float64에서도 inf: 더 넓은 형식으로도 해결되지 않음")
                .to_owned(),
        ),
        _ => {}
    }
    Finding::proved(6, evidence)
}
