use crate::case::Case;
use crate::meant::base;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A class (or position) was excluded with a logit of -inf, and a term of the loss takes its log-probability all the same.
    ///
    /// ## Why
    /// Label smoothing gives every class a share of the target, the excluded ones as well: share * -inf is infinite. The same
    /// for a KL divergence against a distribution that is not 0 there, and for a target that was itself excluded.
    ///
    /// ## What to do
    /// Exclude with a finite logit (-30, or the smallest value of the format), or take the loss over the allowed classes only.
    ///
    /// ## Example
    /// ```python
    /// logits = logits.masked_fill(~allowed, -30.0)
    /// loss = F.cross_entropy(logits, y, label_smoothing=0.1)
    /// ```
    MaskedClassInLoss, "masked-class-in-loss", "a loss term takes a class that was masked to -inf",
    "mask with a finite logit (-30, say) instead of -inf, or take the loss over the allowed classes only",
    check
}

const CONSUMES: &[&str] =
    &["sum", "mean", "neg", "mul", "dot", "nll_loss_forward", "nll_loss2d_forward", "gather", "sub", "rsub", "kl_div", "xlogy"];

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || !CONSUMES.contains(&case.op()) || case.bad_output()?.counts?.nan > 0 && case.op() == "mul" {
        return None;
    }
    let arg = case.entry().inputs.iter().find(|arg| arg.counts.is_some_and(|c| c.neginf > 0 && c.nan == 0))?;
    let mut writer = arg.from;
    let mut normalised = false;
    for _ in 0..6 {
        let entry = &case.ledger.entries[writer?];
        match base(&entry.op) {
            "_log_softmax" => normalised = true,
            "masked_fill" | "masked_fill_" | "where" | "full" | "index_put_" | "fill_" | "add" if normalised => {
                let counts = arg.counts?;
                let mut evidence = vec![format!("{} log-probabilities are -inf where {} has masked them", counts.neginf, entry.op)];
                if let Some(out) = case.bad_output() {
                    evidence.push(format!("{} takes them into the loss: {}", case.entry().op, text::bad_of(out, case.lang)));
                }
                return Finding::proved(8, evidence);
            }
            _ => {}
        }
        writer = entry.inputs.iter().find(|a| a.counts.is_some_and(|c| c.neginf > 0)).and_then(|a| a.from);
        if writer.is_none() {
            writer = entry.inputs.first().and_then(|a| a.from);
        }
    }
    None
}
