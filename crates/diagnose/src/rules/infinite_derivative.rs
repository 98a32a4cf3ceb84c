use nanscope_lang::say;
use nanscope_numeric::Format;
use nanscope_trace::schema::Arg;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// The value in the forward pass is finite, its derivative is not.
    ///
    /// ## Why
    /// sqrt and fractional powers have an infinite slope at 0, and so has a norm or a distance that is spelled out as
    /// a root of squares (`torch.linalg.vector_norm` and `torch.cdist` take 0 there); acos and asin have one at 1 and
    /// -1. The derivative of 1/x is -1/x^2, which leaves float32 for |x| below 5.4e-20, long before 1/x does
    /// (2.9e-39). Where the incoming gradient is 0 the product 0 * inf is NaN.
    ///
    /// ## What to do
    /// Keep the argument away from the edge: clamp it before the function, or put the eps inside the root. An eps
    /// added to the result does not change the derivative. 1e-12 suits float32 (the slope is then at most 5e5); in
    /// float16, where it is 0, take 1e-4.
    ///
    /// ## Example
    /// ```python
    /// norm = (x.pow(2).sum(-1) + 1e-12).sqrt()
    /// angle = cos.clamp(-1 + 1e-6, 1 - 1e-6).acos()
    /// ```
    InfiniteDerivative, "infinite-derivative", "the value is finite, its derivative is not",
    "keep the argument away from the edge: clamp it before the function, or put the eps inside the root: (x+1e-12).sqrt(), with 1e-4 in float16",

    /// ## 무슨 일이 일어났나
    /// 순전파의 값은 유한하지만 그 도함수는 유한하지 않습니다.
    ///
    /// ## 왜
    /// sqrt와 분수 지수의 거듭제곱은 0에서 도함수가 무한대이고, 제곱합의 제곱근으로 직접 쓴 노름이나 거리도
    /// 그렇습니다(`torch.linalg.vector_norm`과 `torch.cdist`는 그곳의 기울기를 0으로 둡니다). acos와 asin은 1과
    /// -1에서 그렇습니다. 1/x의 도함수 -1/x^2은 |x|가 5.4e-20보다 작으면 float32의 범위를 벗어납니다. 1/x가 벗어나는
    /// 것(2.9e-39)보다 훨씬 먼저입니다. 뒤에서 전달된 기울기가 0인 곳에서는 0 * inf, 즉 NaN이 됩니다.
    ///
    /// ## 어떻게 하나
    /// 인자가 경계에 닿지 않게 하십시오: 함수 앞에서 clamp하거나 eps를 제곱근 안에 넣으십시오. 결과에 eps를 더해도
    /// 도함수는 바뀌지 않습니다. float32라면 1e-12가 알맞고(도함수가 최대 5e5), 이 값이 0이 되는 float16이라면 1e-4를
    /// 쓰십시오.
    ///
    /// ## 예
    /// ```python
    /// norm = (x.pow(2).sum(-1) + 1e-12).sqrt()
    /// angle = cos.clamp(-1 + 1e-6, 1 - 1e-6).acos()
    /// ```
    "값은 유한하지만 도함수가 유한하지 않음",
    "인자가 경계에 닿지 않게 하십시오: 함수 앞에서 인자를 clamp하거나 eps를 제곱근 안에 넣으십시오: (x+1e-12).sqrt(), float16이라면 1e-4",
    check;
    apart "print the argument of the forward function: at the edge of its domain (0 for a root) decides",
    "순전파 함수의 인자를 출력해 보십시오: 정의역의 끝(제곱근이라면 0)이면 이것이 원인입니다"
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
            evidence.push(say!(case.lang, "{} was finite in forward", "{}: 순전파에서는 유한했음", text::operator(&forward.op)));
        }
    }
    let inputs = &case.entry().inputs;
    let saved = text::operands(inputs.iter().filter(|arg| arg.name.starts_with("saved")), case.lang);
    let proved = saved.is_some();
    let read = saved.or_else(|| text::operands(inputs, case.lang)).unwrap_or_default();
    let name = case.entry().node.as_deref().unwrap_or(node);
    evidence.push(say!(case.lang, "in {name}: {read}", "{name}에서: {read}"));
    if let Some(formula) = formula(node) {
        evidence.push(say!(case.lang, "the derivative is {formula}", "도함수: {formula}"));
    }
    let is_zero = |arg: &&Arg| arg.value.is_some_and(|v| v.0 == 0.0) && arg.census.as_ref().is_some_and(|c| c.zero > 0);
    // What autograd kept has a name that the reader knows; what it computed from it comes second.
    let kept = inputs.iter().filter(|arg| arg.name.starts_with("saved")).find(is_zero);
    let zero = kept.or_else(|| inputs.iter().find(is_zero)).and_then(|arg| Some((arg.census.as_ref()?, arg)));
    if let Some((census, arg)) = zero {
        evidence.push(say!(
            case.lang,
            "{name} is 0 in {zero} of {n} places",
            "{name}: 값 {n}개 중 {zero}개가 0",
            name = arg.name.trim_start_matches("saved "),
            zero = census.zero,
            n = census.n
        ));
    }
    Finding::sure(proved || zero.is_some(), 5, evidence)
}

/// The derivative in terms of what autograd keeps: `self` and `other` are arguments of the forward operator, `result` is what
/// it gave. From torch's `derivatives.yaml`.
fn formula(node: &str) -> Option<&'static str> {
    Some(match node {
        "Sqrt" => "1 / (2 * result)",
        "Rsqrt" => "-result^3 / 2",
        "Reciprocal" => "-result^2",
        "Pow" => "exponent * self^(exponent - 1)",
        "Acos" => "-1 / sqrt(1 - self^2)",
        "Asin" => "1 / sqrt(1 - self^2)",
        "Atanh" => "1 / (1 - self^2)",
        "Log" => "1 / self",
        "Div" => "1 / other and -self / other^2",
        "Atan2" => "other / (self^2 + other^2) and -self / (self^2 + other^2)",
        _ => return None,
    })
}
