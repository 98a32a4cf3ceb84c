use nanscope_lang::say;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A logarithm, a root, a fractional power or an inverse function (acos, asin, atanh) got an argument outside its
    /// domain; the result is NaN.
    ///
    /// ## Why
    /// A formula that can become negative: 1 - a^2 with |a| > 1, a variance as E[x^2] - E[x]^2 after rounding, a learned
    /// scale without a constraint, a cosine of 1.0000001 given to acos.
    ///
    /// ## What to do
    /// Find out why the argument can leave the domain; then either correct the formula or constrain the argument:
    /// softplus for a scale, `clamp` for what rounding has pushed out. Beyond a clamp the gradient is 0; and clamped
    /// to the very edge (0 for a root, 1 for acos) it is infinite, so clamp just inside.
    ///
    /// ## Example
    /// ```python
    /// var = x.var(correction=0)             # instead of (x * x).mean() - x.mean() ** 2
    /// ```
    NegativeArgument, "negative-argument", "an argument outside the function's domain",
    "find out why the argument leaves the domain and correct the formula, or constrain it (softplus, clamp) before the function",

    /// ## 무슨 일이 일어났나
    /// 로그, 제곱근, 분수 지수의 거듭제곱 또는 역함수(acos, asin, atanh)가 정의역 밖의 인자를 받았습니다. 결과는
    /// NaN입니다.
    ///
    /// ## 왜
    /// 음수가 될 수 있는 식이 원인입니다. |a| > 1일 때의 1 - a^2, E[x^2] - E[x]^2로 계산하다 반올림된 분산, 제약 없이
    /// 학습되는 스케일, acos에 들어간 코사인 값 1.0000001 등이 있습니다.
    ///
    /// ## 어떻게 하나
    /// 인자가 왜 정의역을 벗어날 수 있는지 알아낸 다음, 식을 고치거나 인자에 제약을 두십시오: 스케일이라면 softplus,
    /// 반올림 때문에 벗어난 값이라면 `clamp`. clamp에 걸린 곳에서는 기울기가 0이 됩니다. 경계값 자체(제곱근의 0,
    /// acos의 1)로 clamp하면 도함수가 무한대이므로 경계보다 조금 안쪽으로 clamp하십시오.
    ///
    /// ## 예
    /// ```python
    /// var = x.var(correction=0)             # instead of (x * x).mean() - x.mean() ** 2
    /// ```
    "함수의 정의역을 벗어난 인자",
    "인자가 정의역을 벗어나는 이유를 찾아 식을 고치거나, 함수 앞에서 인자에 제약을 두십시오(softplus, clamp)",
    check;
    apart "print the smallest argument: below 0 decides; only just below 0 points to lost digits",
    "가장 작은 인자를 출력해 보십시오: 0보다 작으면 이것이 원인이고, 아주 조금만 작으면 유효 숫자가 사라진 것입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if case.outside().is_some() {
        return None;
    }
    let value = case.value("self")?;
    let outside = match case.op() {
        "log" | "log2" | "log10" | "sqrt" | "rsqrt" | "_foreach_sqrt" | "lgamma" => value < 0.0,
        "pow" => value < 0.0 && exponent(case)?.fract() != 0.0,
        "log1p" => value < -1.0,
        "acos" | "asin" | "atanh" | "erfinv" => value.abs() > 1.0,
        "acosh" => value < 1.0,
        "logit" => !(0.0..=1.0).contains(&value),
        _ => false,
    };
    if !outside || !value.is_finite() {
        return None;
    }
    let arg = case.input("self")?;
    let called = match case.op() {
        "pow" => format!("pow({}, {})", text::number(value), text::number(exponent(case)?)),
        op => format!("{op}({})", text::number(value)),
    };
    let mut evidence = vec![match arg.index.as_deref().unwrap_or_default() {
        [] => called,
        at => say!(case.lang, "{called} at {at}", "{called}, {at} 위치", at = text::index(at)),
    }];
    if let Some(census) = &arg.census
        && let (Some(min), Some(max)) = (census.min, census.max)
    {
        evidence.push(say!(
            case.lang,
            "arguments lie between {} and {}",
            "인자의 최솟값 {}, 최댓값 {}",
            text::number(min),
            text::number(max)
        ));
    }
    Finding::proved(4, evidence)
}

fn exponent(case: &Case) -> Option<f64> {
    case.value("exponent").or(case.entry().scalars.get("exponent").map(|x| x.0))
}
