use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A logarithm, a root, a fractional power or an inverse function got an argument outside its domain; the result is NaN.
    ///
    /// ## Why
    /// A formula that can become negative: 1 - a^2 with |a| > 1, a variance as E[x^2] - E[x]^2 after rounding, a learned
    /// scale without a constraint, a cosine of 1.0000001 given to acos.
    ///
    /// ## What to do
    /// Find out why the argument can be negative; then either correct the formula or constrain the argument (softplus, clamp).
    ///
    /// ## Example
    /// ```python
    /// var = x.var(unbiased=False)           # instead of (x * x).mean() - x.mean() ** 2
    /// ```
    NegativeArgument, "negative-argument", "an argument outside the function's domain",
    "find out why the argument leaves the domain and correct the formula, or constrain it (softplus, clamp) before the function",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if case.outside().is_some() {
        return None;
    }
    let value = case.value("self")?;
    let outside = match case.op() {
        "log" | "log2" | "log10" | "sqrt" | "rsqrt" | "_foreach_sqrt" | "lgamma" => value < 0.0,
        "pow" => value < 0.0 && case.value("exponent").or(case.entry().scalars.get("exponent").map(|x| x.0))?.fract() != 0.0,
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
    let at = arg.index.as_deref().filter(|at| !at.is_empty());
    let mut evidence = vec![match at {
        Some(at) => format!("{}({}) at {}", case.op(), text::number(value), text::index(at)),
        None => format!("{}({})", case.op(), text::number(value)),
    }];
    if let Some(census) = &arg.census
        && let (Some(min), Some(max)) = (census.min, census.max) {
            evidence.push(format!("arguments lie between {} and {}", text::number(min), text::number(max)));
        }
    Finding::proved(4, evidence)
}
