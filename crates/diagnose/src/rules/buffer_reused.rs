use nanscope_trace::schema::Phase;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// Memory that a backward operator was about to read was overwritten first.
    ///
    /// ## Why
    /// Activation offloading that hands its staging buffer back to a pool before autograd has used it, an asynchronous copy that
    /// was not awaited, an output buffer shared between steps.
    ///
    /// ## What to do
    /// Give the consumer memory of its own (`clone`), or return a buffer to its pool only when the tensor that views it is gone.
    ///
    /// ## Example
    /// ```python
    /// out = view.clone()
    /// pool.release(buffer)
    /// ```
    BufferReused, "buffer-reused", "memory was overwritten while it was still needed",
    "give the consumer memory of its own (clone), or release the buffer only after its last use",
    check
}

fn check(case: &Case) -> Option<Finding> {
    let overwrites = matches!(case.op(), "fill" | "copy" | "zero" | "set" | "normal" | "uniform");
    if !overwrites || !matches!(case.phase(), Phase::Backward | Phase::Hook | Phase::Recompute) || case.outside().is_some() {
        return None;
    }
    let reader = case.located.path.get(1).map(|&i| &case.ledger.entries[i])?;
    let out = case.bad_output()?;
    Finding::likely(6, vec![
        format!("{} overwrites a buffer during the backward pass: {}", case.entry().op, text::bad_of(out, case.lang)),
        format!("{} reads it afterwards", reader.node.as_deref().unwrap_or(&reader.op)),
    ])
}
