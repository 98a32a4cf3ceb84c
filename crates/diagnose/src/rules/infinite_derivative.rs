use nanscope_lang::say;
use nanscope_numeric::Format;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// The value in the forward pass is finite, its derivative is not.
    ///
    /// ## Why
    /// sqrt, norm and fractional powers have an infinite slope at 0, acos and asin at 1 and -1; the derivative of 1/x is
    /// -1/x^2, which leaves float32 long before 1/x does. Where the incoming gradient is 0 the product 0 * inf is NaN.
    ///
    /// ## What to do
    /// Keep the argument away from the edge: the eps belongs inside the root. An eps added to the result does not change the
    /// derivative.
    ///
    /// ## Example
    /// ```python
    /// norm = (x.pow(2).sum(-1) + 1e-12).sqrt()
    /// ```
    InfiniteDerivative, "infinite-derivative", "the value is finite, its derivative is not",
    "keep the argument away from the edge: put the eps inside the root, (x + 1e-12).sqrt(), or clamp the argument before the function",

    /// ## 무슨 일이 일어났나
    /// 순전파의 값은 유한하지만 그 도함수는 유한하지 않습니다.
    ///
    /// ## 왜
    /// sqrt, 노름, 분수 지수의 거듭제곱은 0에서, acos와 asin은 1과 -1에서 도함수가 무한대입니다. 1/x의 도함수는
    /// -1/x^2이므로 1/x보다 훨씬 먼저 float32의 범위를 벗어납니다. 뒤에서 전달된 기울기가 0인 곳에서는 0 * inf, 즉
    /// NaN이 됩니다.
    ///
    /// ## 어떻게 하나
    /// 인자가 경계에 닿지 않게 하십시오. eps는 제곱근 안에 넣어야 합니다. 결과에 eps를 더해도 도함수는 바뀌지 않습니다.
    ///
    /// ## 예
    /// ```python
    /// norm = (x.pow(2).sum(-1) + 1e-12).sqrt()
    /// ```
    "값은 유한하지만 도함수가 유한하지 않음",
    "인자가 경계에 닿지 않게 하십시오: eps를 제곱근 안에 넣거나((x + 1e-12).sqrt()) 함수 앞에서 인자를 clamp하십시오",
    check;
    apart "print the argument of the forward function: at the edge of its domain (0 for sqrt and norm) decides",
    "순전파 함수의 인자를 출력해 보십시오: 정의역의 끝(sqrt와 norm에서는 0)이면 이것이 원인입니다"
}

const EDGES: &[&str] = &[
    "Acos", "Acosh", "Asin", "Asinh", "Atan2", "Atanh", "Cdist", "CdistForward", "Cumprod", "Div", "Erfinv", "Expm1", "Exp",
    "LinalgVectorNorm", "Log", "Log10", "Log1P", "Log2", "Logit", "Norm", "Pow", "Prod", "Reciprocal", "Rsqrt", "Sqrt",
    "SqrtBackward", "Std", "Tan", "Var", "EuclideanDist", "PairwiseDistance", "Xlogy", "Polygamma", "Digamma", "Lgamma",
    "ReciprocalBackward", "Hypot", "Angle", "Sgn", "Abs", "Renorm", "WeightNorm", "WeightNormInterface",
];

fn check(case: &Case) -> Option<Finding> {
    if !case.in_backward() {
        return None;
    }
    let node = case.node()?;
    let known = EDGES.contains(&node);
    if !known {
        return None;
    }
    let out = case.bad_output()?;
    // Finite in float64 and out of a 16-bit format: that is the format's fault.
    let wide = Format::named(&out.dtype).is_none_or(|f| f.bits > 16);
    if !wide && case.entry().reference.as_ref().is_some_and(|r| r.finite) {
        return None;
    }
    let mut evidence = vec![];
    if let Some(forward) = case.forward() {
        let bad = forward.outputs.iter().filter_map(|arg| arg.counts).map(|c| c.bad()).sum::<u64>();
        if bad == 0 {
            evidence.push(say!(case.lang, "{} was finite in forward", "{}: 순전파에서는 유한했음", forward.op));
        }
    }
    let inputs = &case.entry().inputs;
    let saved = text::operands(inputs.iter().filter(|arg| arg.name.starts_with("saved")), case.lang);
    let proved = saved.is_some();
    let read = saved.or_else(|| text::operands(inputs, case.lang)).unwrap_or_default();
    let name = case.entry().node.as_deref().unwrap_or(node);
    evidence.push(say!(case.lang, "in {name}: {read}", "{name}에서: {read}"));
    let zero = case
        .entry()
        .inputs
        .iter()
        .filter_map(|arg| arg.census.as_ref().filter(|c| c.zero > 0 && arg.value.is_some_and(|v| v.0 == 0.0)))
        .next();
    if let Some(census) = zero {
        evidence.push(say!(
            case.lang,
            "{zero} of {n} such values are 0",
            "그런 값 {n}개 중 {zero}개가 0",
            zero = census.zero,
            n = census.n
        ));
    }
    Finding::sure(proved || zero.is_some(), 5, evidence)
}
