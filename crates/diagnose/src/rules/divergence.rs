use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// Loss and gradients grew from step to step until they left the number format. No single operator is to blame.
    ///
    /// ## Why
    /// A learning rate that is too high for the scale of inputs or weights, a missing warm-up, an initialisation that amplifies,
    /// gradients that are not clipped in a recurrent network.
    ///
    /// ## What to do
    /// Lower the learning rate or warm it up, bring the inputs to unit scale, clip the gradient norm.
    ///
    /// ## Example
    /// ```python
    /// torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    /// ```
    Divergence, "divergence", "loss and gradients grow from step to step until they leave the format",
    "lower the learning rate (or warm it up), scale the inputs, or clip the gradient norm",
    check
}

/// Factor over the recorded steps from which growth is divergence.
const GROWTH: f64 = 1e6;

fn check(case: &Case) -> Option<Finding> {
    let history = case.ledger.facts.get("history")?.as_array()?;
    let norms: Vec<f64> = history.iter().filter_map(|step| step.get("grad_norm")?.as_f64()).filter(|x| *x > 0.0).collect();
    let (first, last) = (*norms.first()?, *norms.last()?);
    let rising = norms.windows(2).filter(|w| w[1] > w[0]).count() + 1 >= norms.len().saturating_sub(norms.len() / 4);
    if norms.len() < 2 || !rising || last < first * GROWTH.min(10f64.powi(2 * norms.len() as i32)) || last < 1e6 {
        return None;
    }
    let per_step = (last / first).powf(1.0 / (norms.len() - 1) as f64);
    let mut evidence = vec![
        format!("the gradient norm grew from {} to {} over {} steps", text::number(first), text::number(last), norms.len()),
        format!("a factor of {} per step", text::number(per_step)),
    ];
    if let Some(lr) = case.fact("optimizer.lr") {
        evidence.push(format!("the learning rate is {}", text::number(lr)));
    }
    Finding::sure(true, 8, evidence)
}
