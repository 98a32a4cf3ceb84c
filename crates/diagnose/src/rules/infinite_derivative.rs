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
    check
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
            evidence.push(format!("{} was finite in forward", forward.op));
        }
    }
    let saved: Vec<String> =
        case.entry().inputs.iter().filter(|arg| arg.name.starts_with("saved")).filter_map(|arg| text::operand(arg, case.lang)).collect();
    if saved.is_empty() {
        let read: Vec<String> = case.entry().inputs.iter().filter_map(|arg| text::operand(arg, case.lang)).collect();
        evidence.push(format!("in {}: {}", case.entry().node.as_deref().unwrap_or(node), read.join(", ")));
    } else {
        evidence.push(format!("in {}: {}", case.entry().node.as_deref().unwrap_or(node), saved.join(", ")));
    }
    let zero = case
        .entry()
        .inputs
        .iter()
        .filter_map(|arg| arg.census.as_ref().filter(|c| c.zero > 0 && arg.value.is_some_and(|v| v.0 == 0.0)))
        .next();
    if let Some(census) = zero {
        evidence.push(format!("{} of {} such values are 0", census.zero, census.n));
    }
    Finding::sure(!saved.is_empty() || zero.is_some(), 5, evidence)
}
