use nanscope_numeric::Format;
use nanscope_trace::schema::Phase;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// Loss and gradients were finite; the optimizer itself divided by 0 and wrote a value that is not finite into a parameter.
    ///
    /// ## Why
    /// Adam and its relatives divide by sqrt(v) + eps. In float16 the default eps = 1e-8 is 0, and the second moment of
    /// gradients below 2.4e-4 is 0 too. The same happens in any format with eps = 0 and a gradient that is exactly 0.
    ///
    /// ## What to do
    /// Keep the trained parameters in float32 and use autocast for the forward pass. Otherwise an eps that exists in the
    /// format: 1e-4 in float16.
    ///
    /// ## Example
    /// ```python
    /// opt = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)   # parameters in float16
    /// ```
    OptimizerEpsilon, "optimizer-epsilon", "the optimizer divides by zero: its eps is lost",
    "keep the trained parameters in float32 (autocast for the forward pass), or give the optimizer an eps that exists in their format: 1e-4 in float16",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if case.phase() != Phase::Optimizer || case.outside().is_some() {
        return None;
    }
    let denominator = match case.op() {
        "addcdiv" => "tensor2",
        "div" => "other",
        "_foreach_addcdiv" | "_foreach_div" => "tensor2[0]",
        _ => return None,
    };
    let out = case.bad_output()?;
    let value = case.value(denominator);
    if value.is_some_and(|x| x != 0.0) && case.entry().reference.as_ref().is_some_and(|r| !r.finite) {
        return None;
    }
    let mut evidence = vec![];
    if let (Some(0.0), Some(arg)) = (value, case.input(denominator)) {
        evidence.push(match arg.index.as_deref() {
            Some(at) => format!("the denominator sqrt(v) + eps is 0 at {}", text::index(at)),
            None => "the denominator sqrt(v) + eps is 0".to_owned(),
        });
    }
    if let (Some(eps), Some(format)) = (case.fact("optimizer.eps"), Format::named(&out.dtype)) {
        if eps == 0.0 {
            evidence.push("eps is 0".to_owned());
        } else if format.rounds_to_zero(eps) {
            evidence.push(format!(
                "eps = {eps:e} is 0 in {}, whose smallest value is {}",
                out.dtype,
                text::number(format.min_subnormal)
            ));
        }
    }
    if evidence.is_empty() {
        return None;
    }
    Finding::sure(value == Some(0.0), 7, evidence)
}
