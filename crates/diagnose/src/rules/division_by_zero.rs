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
    /// Make the denominator positive before the division (`clamp(min=eps)`, or `where(d > 0, d, 1)` and mask the result).
    /// For a root, the eps belongs inside it. The eps must exist in the number format: 1e-8 is 0 in float16.
    ///
    /// ## Example
    /// ```python
    /// n = mask.sum(-1)
    /// mean = (x * mask).sum(-1) / n.clamp(min=1)
    /// ```
    DivisionByZero, "division-by-zero", "a division by exactly zero",
    "keep the denominator away from zero before dividing: clamp(min=eps) with an eps that exists in this number format, or where(d > 0, d, 1)",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() && case.phase() != nanscope_trace::schema::Phase::Clip {
        return None;
    }
    let op = case.op();
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
        Some(at) if !at.is_empty() => evidence.push(format!("the denominator is 0 at {}: {top} / 0", text::index(at))),
        _ => evidence.push(format!("the denominator is 0: {top} / 0")),
    }
    if let Some(census) = case.input(denominator).and_then(|arg| arg.census.as_ref()) {
        evidence.push(format!("{} of {} denominators are 0", census.zero, census.n));
    }
    Finding::proved(5, evidence)
}
