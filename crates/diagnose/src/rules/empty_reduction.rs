use crate::case::Case;
use crate::rules::Finding;

rule! {
    /// ## What happened
    /// A mean was taken over nothing. The sum of nothing is 0, its count is 0, and 0 / 0 is NaN.
    ///
    /// ## Why
    /// A batch in which every label is ignored (-100), an image without positives, a mask that selects no element, an empty
    /// slice. `cross_entropy(..., reduction="mean")` divides by the number of labels that count, which is 0 here.
    ///
    /// ## What to do
    /// Skip such a batch, or divide a sum by `max(count, 1)`. Multiply by 0 instead of leaving a term out where every rank
    /// must take part in the backward pass.
    ///
    /// ## Example
    /// ```python
    /// n = (target != -100).sum().clamp(min=1)
    /// loss = F.cross_entropy(logits, target, reduction="sum") / n
    /// ```
    EmptyReduction, "empty-reduction", "a mean over nothing",
    "skip the batch, or divide a sum by max(count, 1) instead of taking a mean",
    check
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() {
        return None;
    }
    let entry = case.entry();
    match case.op() {
        "mean" | "nanmean" | "median" | "std" | "var" | "var_mean" | "std_mean" => {
            let input = case.input("self")?;
            if input.shape.iter().product::<u64>() != 0 {
                return None;
            }
            Finding::proved(8, vec![format!("{} over a tensor of shape {:?}: it has no elements", case.op(), input.shape)])
        }
        "nll_loss_forward" | "nll_loss2d_forward" => {
            let weight = entry.outputs.get(1)?.counts?;
            if weight.max_abs.unwrap_or(0.0) != 0.0 {
                return None;
            }
            let ignored = entry.scalars.get("ignore_index").map_or(-100.0, |x| x.0);
            let targets: u64 = case.input("target").map_or(0, |arg| arg.shape.iter().product());
            let text = if targets == 0 {
                "the loss was averaged over no targets at all".to_owned()
            } else {
                format!("every one of {targets} targets is {ignored} (ignored): the loss was averaged over 0 of them")
            };
            Finding::proved(8, vec![text])
        }
        _ => None,
    }
}
