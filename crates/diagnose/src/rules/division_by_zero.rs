use nanscope_lang::say;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A number was divided by exactly 0 in the forward pass: x / 0 is infinite, 0 / 0 is NaN.
    ///
    /// ## Why
    /// A scale, a count, a norm, a degree or a distance that can be 0: a constant column in a standardisation, a mask that
    /// selects nothing, two points that coincide, a node without neighbours, a softmax that was underflowed away. `x ** -0.5`,
    /// `rsqrt` and `reciprocal` divide as well.
    ///
    /// ## What to do
    /// Keep the denominator away from 0 before the division: `clamp(min=eps)` where it is never negative, `where(d ==
    /// 0, 1, d)` where it may be, and mask the result. A `where` after the division mends the value, not the
    /// gradient. For a root, the eps belongs inside it. The eps must exist in the number format: 1e-8 is 0 in
    /// float16, 1e-4 is not.
    ///
    /// ## Example
    /// ```python
    /// n = mask.sum(-1)
    /// mean = (x * mask).sum(-1) / n.clamp(min=1)
    /// ```
    DivisionByZero, "division-by-zero", "a division by exactly zero",
    "keep the denominator away from 0 before dividing: clamp(min=eps) where it is never negative, where(d==0,1,d) where it may be; eps must exist in this number format (1e-8 is 0 in float16)",

    /// ## 무슨 일이 일어났나
    /// 순전파에서 어떤 수를 정확히 0으로 나누었습니다. x / 0은 무한대이고 0 / 0은 NaN입니다.
    ///
    /// ## 왜
    /// 스케일, 개수, 노름, 차수, 거리처럼 0이 될 수 있는 값으로 나눈 것입니다. 표준화하는 열이 상수인 경우, 마스크가
    /// 아무것도 선택하지 않은 경우, 두 점이 겹친 경우, 이웃이 없는 노드, 언더플로로 0이 된 softmax 등이 있습니다.
    /// `x ** -0.5`, `rsqrt`, `reciprocal`도 나눗셈입니다.
    ///
    /// ## 어떻게 하나
    /// 나누기 전에 분모가 0이 되지 않게 하십시오: 음수가 될 수 없는 분모라면 `clamp(min=eps)`, 음수도 될 수 있다면
    /// `where(d == 0, 1, d)`로 나눈 뒤 결과를 마스킹하십시오. 나눗셈 뒤에 `where`를 두면 값은 고쳐지지만 기울기는
    /// 고쳐지지 않습니다. 제곱근이라면 eps를 제곱근 안에 넣어야 합니다. eps는 해당 자료형에서 표현되는 값이어야
    /// 합니다. float16에서 1e-8은 0이지만 1e-4는 0이 아닙니다.
    ///
    /// ## 예
    /// ```python
    /// n = mask.sum(-1)
    /// mean = (x * mask).sum(-1) / n.clamp(min=1)
    /// ```
    "정확히 0으로 나눔",
    "나누기 전에 분모가 0이 되지 않게 하십시오: 음수가 될 수 없으면 clamp(min=eps), 음수도 될 수 있으면 where(d==0,1,d)를 쓰십시오; eps는 이 자료형에서 표현되는 값이어야 합니다(1e-8은 float16에서 0)",
    check;
    apart "print the smallest magnitude of the denominator: exactly 0 decides",
    "분모의 가장 작은 크기를 출력해 보십시오: 정확히 0이면 이것이 원인입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() && case.phase() != nanscope_trace::schema::Phase::Clip {
        return None;
    }
    let op = case.op();
    if op == "_weight_norm_interface" {
        // v / norm(v) * g: a row of v that is 0 throughout is divided by its norm.
        let at = case.input("v").filter(|v| v.value.is_some_and(|x| x.0 == 0.0))?.index.as_deref()?;
        return Finding::proved(5, vec![say!(
            case.lang,
            "the direction v of weight normalisation is 0 at {at}: its norm, by which it is divided, is 0",
            "weight normalisation의 방향 v가 {at} 위치에서 0: 나누는 노름이 0",
            at = text::index(at)
        )]);
    }
    let denominator = match op {
        "div" | "true_divide" | "floor_divide" | "remainder" | "fmod" | "_foreach_div" => "other",
        "reciprocal" | "rsqrt" => "self",
        "pow" if case.entry().scalars.get("exponent").is_some_and(|e| e.0 < 0.0) => "self",
        _ => return None,
    };
    let value = case.value(denominator).or_else(|| case.entry().scalars.get(denominator).map(|x| x.0))?;
    if value != 0.0 {
        return None;
    }
    let mut evidence = vec![];
    let numerator = if denominator == "other" { case.input("self") } else { None };
    let top = numerator.and_then(|arg| arg.value).map_or("1".to_owned(), |x| text::number(x.0));
    match case.input(denominator).and_then(|arg| arg.index.as_deref()) {
        Some(at) if !at.is_empty() => evidence.push(say!(
            case.lang,
            "the denominator is 0 at {at}: {top} / 0",
            "{at} 위치의 분모가 0: {top} / 0",
            at = text::index(at)
        )),
        _ => evidence.push(say!(case.lang, "the denominator is 0: {top} / 0", "분모가 0: {top} / 0")),
    }
    if let Some(census) = case.input(denominator).and_then(|arg| arg.census.as_ref()).filter(|c| c.n > 1) {
        evidence.push(say!(
            case.lang,
            "denominators that are 0: {zero} of {n}",
            "분모 {n}개 중 {zero}개가 0",
            zero = census.zero,
            n = census.n
        ));
    }
    evidence.extend(constant_feature(case, denominator));
    Finding::proved(5, evidence)
}

/// Where the denominator is as wide as an input, and that feature never varied: its spread is 0.
fn constant_feature(case: &Case, denominator: &str) -> Option<String> {
    let feature = *case.input(denominator)?.index.as_ref()?.last()?;
    let width = *case.input(denominator)?.shape.last()?;
    let inputs = case.ledger.history.as_ref()?.inputs.iter();
    let (input, constant) = inputs
        .filter(|input| input.batches > 1 && input.shape.last() == Some(&width))
        .find_map(|input| Some((input, input.constant.iter().find(|constant| constant.feature == feature)?)))?;
    let name = input.name.as_ref().map_or_else(|| format!("input {}", input.slot), |name| text::data(name, case.lang));
    Some(say!(
        case.lang,
        "{name}: feature {feature} was {value} in all {batches} batches seen, so its spread is 0",
        "{name}: 특성 {feature}의 값이 지금까지의 배치 {batches}개에서 모두 {value}이므로 퍼짐이 0",
        value = text::number(constant.value),
        batches = input.batches
    ))
}
