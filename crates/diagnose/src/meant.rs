//! Meant infinities: a `-inf` written to exclude something, and carried to where it is consumed.

use nanscope_trace::schema::{Arg, Entry, Ledger, Phase, Source};

/// Operators through which an excluding `-inf` passes unchanged in meaning. Matrix products and convolutions are not
/// among them: there it meets other numbers.
const CARRIERS: &[&str] = &[
    "_log_softmax",
    "_softmax_backward_data",
    "_reshape_alias_copy",
    "_to_copy",
    "_unsafe_view",
    "add",
    "add_",
    "amax",
    "cat",
    "clone",
    "constant_pad_nd",
    "copy_",
    "cummax",
    "div",
    "expand_copy",
    "fill_",
    "full",
    "full_like",
    "gather",
    "index",
    "index_put",
    "index_put_",
    "index_select",
    "logaddexp",
    "logcumsumexp",
    "logsumexp",
    "masked_fill",
    "masked_fill_",
    "masked_scatter",
    "max",
    "maximum",
    "minimum",
    "mul",
    "new_full",
    "repeat",
    "scatter",
    "scatter_",
    "select_scatter",
    "slice_scatter",
    "sort",
    "stack",
    "sub",
    "topk",
    "tril",
    "triu",
    "view_copy",
    "where",
];

/// Which entries hold nothing bad but infinities that were meant, by index.
pub(crate) struct Meant(Vec<bool>);

impl Meant {
    /// One pass in ledger order: an entry's inputs were written by earlier entries.
    pub(crate) fn of(ledger: &Ledger) -> Meant {
        let mut meant = Meant(vec![false; ledger.entries.len()]);
        for (index, entry) in ledger.entries.iter().enumerate() {
            meant.0[index] = meant.carries(entry);
        }
        meant
    }

    fn carries(&self, entry: &Entry) -> bool {
        let written = entry.outputs.iter().filter(|arg| is_bad(arg));
        let (mut any, mut only) = (false, true);
        for arg in written {
            any = true;
            only &= only_neginf(arg);
        }
        let carries = CARRIERS.contains(&base(&entry.op)) || Self::is_added_mask(entry);
        if !any || !only || entry.phase == Phase::Backward || !carries {
            return false;
        }
        let literal = entry.scalars.values().any(|x| x.0 == f64::NEG_INFINITY);
        let mut bad_inputs = entry.inputs.iter().filter(|arg| is_bad(arg)).peekable();
        let from_inputs = bad_inputs.peek().is_some();
        bad_inputs.all(|arg| self.arg(arg)) && (literal || from_inputs)
    }

    /// A product with an additive mask, as `baddbmm(mask, q, k)`: the mask is added, the factors are not masked.
    fn is_added_mask(entry: &Entry) -> bool {
        matches!(base(&entry.op), "baddbmm" | "addmm" | "addbmm" | "addmv" | "addcmul")
            && entry.inputs.iter().filter(|arg| is_bad(arg)).all(|arg| arg.name == "self")
    }

    /// True when whatever is bad in `arg` was meant.
    pub(crate) fn arg(&self, arg: &Arg) -> bool {
        if !only_neginf(arg) {
            return false;
        }
        match (arg.from, &arg.source) {
            (Some(writer), _) => self.entry(writer),
            (None, Some(Source::Data { .. } | Source::Buffer { .. })) => true,
            _ => false,
        }
    }

    /// True when all that is bad in what entry `index` wrote was meant.
    pub(crate) fn entry(&self, index: usize) -> bool {
        self.0.get(index).copied().unwrap_or(false)
    }
}

/// Operator without namespace and overload: `addmm` of `aten.addmm.default`.
pub(crate) fn base(op: &str) -> &str {
    let mut parts = op.split('.');
    let first = parts.next().unwrap_or(op);
    parts.next().unwrap_or(first)
}

pub(crate) fn is_bad(arg: &Arg) -> bool {
    arg.counts.is_some_and(|c| c.bad() > 0)
}

fn only_neginf(arg: &Arg) -> bool {
    arg.counts.is_some_and(|c| c.neginf > 0 && c.nan == 0 && c.posinf == 0)
}
