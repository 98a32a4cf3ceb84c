use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A softmax, a logsumexp or an attention row was taken over nothing but -inf. There is no largest element to subtract:
    /// -inf - (-inf) is NaN.
    ///
    /// ## Why
    /// A padded query under a causal mask, a sample that is all padding, a disabled head, a state that cannot be reached, the
    /// first tile of a tiled softmax. The NaN often sits in rows that the loss never looks at, and comes back in the gradient.
    ///
    /// ## What to do
    /// Let every row see at least one position (the diagonal, say), mask with a finite value such as -1e4, or select the rows
    /// that have one before the softmax.
    ///
    /// ## Example
    /// ```python
    /// visible = visible | torch.eye(t, dtype=torch.bool)
    /// scores = scores.masked_fill(~visible, -torch.inf)
    /// ```
    FullyMaskedRow, "fully-masked-row", "a softmax or logsumexp over nothing but -inf",
    "let every row see at least one position (the diagonal, say), or mask with a large finite value instead of -inf",
    check
}

const FORWARD: &[&str] = &[
    "_softmax",
    "_log_softmax",
    "_safe_softmax",
    "softmax",
    "logsumexp",
    "logaddexp",
    "sub",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_attention_math",
    "_masked_softmax",
];

fn check(case: &Case) -> Option<Finding> {
    if case.in_backward() {
        let node = case.node()?;
        let forward = case.forward()?;
        let masked = forward.outputs.iter().filter_map(|arg| arg.counts).map(|c| c.neginf).sum::<u64>();
        if !matches!(node, "Logsumexp" | "Softmax" | "LogSoftmax" | "Logaddexp" | "Logcumsumexp") || masked == 0 {
            return None;
        }
        let evidence = format!("{masked} results of the forward operator are -inf: every one of their terms is -inf");
        return Finding::proved(7, vec![evidence, "its derivative computes exp(-inf - (-inf)), which is nan".to_owned()]);
    }
    if !case.in_forward() || !case.reads_neginf() || !FORWARD.contains(&case.op()) {
        return None;
    }
    let out = case.bad_output()?;
    let counts = out.counts.filter(|c| c.nan > 0)?;
    if case.op() == "sub" {
        let (a, b) = (case.value("self")?, case.value("other")?);
        if a != f64::NEG_INFINITY || b != f64::NEG_INFINITY {
            return None;
        }
        let at = out.index.as_deref().map(text::index).unwrap_or_default();
        return Finding::proved(7, vec![format!("-inf - (-inf) at {at}: the maximum over the visible positions is -inf")]);
    }
    let length = out.shape.last().copied().unwrap_or(1).max(1);
    let mut evidence = vec![];
    let row = out.index.as_deref().and_then(|at| at.split_last()).map(|(_, row)| text::index(row));
    if counts.nan % length == 0 {
        evidence.push(format!("{} rows of {length} scores are nothing but -inf", counts.nan / length));
    } else {
        evidence.push(format!("{} results are nan", counts.nan));
    }
    if let Some(row) = row {
        evidence.push(format!("the first is row {row}"));
    }
    Finding::proved(7, evidence)
}
