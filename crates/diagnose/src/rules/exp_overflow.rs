use nanscope_numeric::Format;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// An exponential left its number format: exp(x) is infinite in float32 (and bfloat16) for x above 88.7, in float64
    /// above 709.7.
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
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || !matches!(case.op(), "exp" | "exp2" | "expm1" | "sinh" | "cosh" | "_foreach_exp") {
        return None;
    }
    let out = case.bad_output()?;
    let (value, format) = (case.value("self")?, Format::named(&out.dtype)?);
    if !value.is_finite() || format.max_finite < 1e30 {
        return None;
    }
    let limit = if case.op() == "exp2" { format.max_finite.log2() } else { format.max_finite.ln() };
    let mut evidence = vec![];
    if let Some(at) = out.index.as_deref().filter(|at| !at.is_empty()) {
        evidence.push(format!("{}({}) at {}", case.op(), text::number(value), text::index(at)));
    } else {
        evidence.push(format!("{}({})", case.op(), text::number(value)));
    }
    evidence.push(format!("in {} it is inf for arguments above {}", out.dtype, text::number(limit)));
    Finding::proved(6, evidence)
}
