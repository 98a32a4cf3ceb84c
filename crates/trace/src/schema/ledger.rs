use std::collections::BTreeMap;

use nanscope_numeric::Census;
use serde::{Deserialize, Serialize};

use super::{Attention, Comm, History, Num, Parity, Repeat, Single};

/// Every operator of one replay, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// Operators that touched a floating tensor; views are left out.
    pub entries: Vec<Entry>,
    /// Events of the tape that were run.
    pub events: usize,
    /// Operators seen, views included.
    pub operators: usize,
    /// True when the replay reproduced the recorded loss bits and the trip.
    pub faithful: bool,
    /// `tape` or `rerun`.
    pub method: String,
    /// Wall-clock seconds of the replay.
    pub seconds: f64,
    /// Facts about the run that rules may quote: `deterministic_fill`, `optimizer.eps`, ...
    #[serde(default)]
    pub facts: BTreeMap<String, serde_json::Value>,
    /// The steps before this one. Absent in folders of 0.1.0, which keep losses and norms in `facts["history"]`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub history: Option<History>,
    /// The replay once more in float64; absent where that was not done.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub whole: Option<Whole>,
    /// What recomputation gave beside the forward pass. Absent where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parity: Option<Parity>,
    /// The element of the tensor that tripped in which alone the replay differs from the step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub single: Option<Single>,
    /// The step beside the same step once more. Absent where nobody looked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub repeat: Option<Repeat>,
    /// Calls of attention, in order. Absent in folders of versions that did not look, and empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attention: Vec<Attention>,
    /// What could not be observed.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// The part of a step an operator belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Phase {
    Data,
    Param,
    Forward,
    Recompute,
    Backward,
    Hook,
    Comm,
    Unscale,
    Clip,
    Optimizer,
}

/// A place in the user's source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Path, relative to the run's working directory where it lies below it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Function, as `Encoder.forward`; `<module>` at top level.
    pub function: String,
    /// First and one-past-last column of the expression, from 0, in characters, when it is known and lies on one line.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub columns: Option<(u32, u32)>,
    /// First and last line of the statement, when it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lines: Option<(u32, u32)>,
    /// Text of the line, without its line end.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
}

/// Counts of values that are not finite, and the largest finite magnitude: what is known of every tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Counts {
    #[serde(default)]
    pub nan: u64,
    #[serde(default)]
    pub posinf: u64,
    #[serde(default)]
    pub neginf: u64,
    /// Absent for an empty tensor or one without a finite element.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_abs: Option<f64>,
}

impl Counts {
    /// Number of elements that are not finite.
    pub fn bad(&self) -> u64 {
        self.nan + self.posinf + self.neginf
    }
    /// Number of infinities of either sign.
    pub fn inf(&self) -> u64 {
        self.posinf + self.neginf
    }
}

/// Where an input came from that no ledger entry wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Source {
    /// A parameter, by qualified name.
    Param {
        /// As `encoder.weight`.
        name: String,
        /// True when its memory was never written since it was allocated.
        #[serde(default)]
        unwritten: bool,
        /// Where it was allocated, if that was seen.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        place: Option<Place>,
    },
    /// A buffer of a module, by qualified name.
    Buffer {
        /// As `bn.running_mean`.
        name: String,
    },
    /// State of an optimizer, as `exp_avg of encoder.weight`.
    State {
        /// Key and parameter.
        name: String,
    },
    /// Memory that an operator of the step allocated and that nothing has written.
    Unwritten {
        /// Where it was allocated, if that was seen.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        place: Option<Place>,
    },
    /// A tensor from outside the step: the batch, a target, a constant.
    Data {
        /// As `argument x of Net.forward`.
        name: String,
        /// Event that took it in.
        event: usize,
    },
}

/// One tensor that an operator read or wrote.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Arg {
    /// Name in the operator's schema, as `self`, `mat1`; `out`, `out1` for results.
    pub name: String,
    /// Data type, as `float16`.
    pub dtype: String,
    /// Sizes.
    pub shape: Vec<u64>,
    /// Device, as `cpu` or `cuda:0`.
    pub device: String,
    /// Absent when the memory could not be read (sparse, meta) or holds no floating values.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub counts: Option<Counts>,
    /// Entry that last wrote this memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub from: Option<usize>,
    /// Where it came from, when no entry wrote it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub source: Option<Source>,
    /// Taken for tensors of an entry that gave birth to a bad value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub census: Option<Census>,
    /// Index of the first bad element (for an input: the first element that led to it, where shapes allow).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub index: Option<Vec<u64>>,
    /// Value at `index`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<Num>,
    /// Value at `index` when the whole step is computed in float64.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reference: Option<Num>,
}

/// The same operator from the same inputs in a wider format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reference {
    /// `float64`.
    pub dtype: String,
    /// True when every result was finite.
    pub finite: bool,
    /// Largest finite magnitude among the results; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub largest: Option<f64>,
    /// For an operator on matrices: largest singular value over the smallest, of the worst matrix it was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub condition: Option<Num>,
}

/// The whole step in float64: every operator beside the real one, with the masks and random numbers of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Whole {
    /// Whether what tripped is finite in float64; absent where that was not seen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub finite: Option<bool>,
    /// Operators that were computed.
    pub operators: usize,
    /// Wall-clock seconds, part of those of the replay.
    pub seconds: f64,
    /// Operators that have no float64 form; the run's own results were taken.
    #[serde(default)]
    pub skipped: usize,
    /// The most frequent of those, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_ops: Vec<String>,
}

/// How far a result is from the whole step in float64, where that has grown since it was last told.
///
/// Errors are relative to the larger of the two values: none is above 2.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// Norm of the difference over the norm of the values, over elements that are finite in both.
    pub relative: f64,
    /// Largest relative error of one element.
    pub largest: f64,
    /// Elements that are 0 and would not be.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost_zeros: u64,
    /// Elements that are exactly 1 or -1 and would not be.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub saturated: u64,
    /// Elements whose sign is the opposite one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub flipped: u64,
    /// Elements that are not finite and would be.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rescued: u64,
    /// Elements that are finite although an input is infinite there, which would be finite: `rsqrt(inf)` is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub swallowed: u64,
    /// An element that shows it best: of the wrong sign, a lost zero, a saturated one, or the one with the largest error.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub index: Option<Vec<u64>>,
    /// Its value in the run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<Num>,
    /// Its value in float64.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reference: Option<Num>,
    /// What that element was computed from, where shapes allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operands: Vec<Compared>,
}

/// One number in the run and in float64.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Name of the argument.
    pub name: String,
    /// In the run.
    pub value: Num,
    /// In float64.
    pub reference: Num,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// One operator of a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Position in the ledger, from 0.
    pub index: usize,
    /// Event of the tape it belongs to.
    pub event: usize,
    /// Part of the step.
    pub phase: Phase,
    /// Operator, as `aten.addmm.default`.
    pub op: String,
    /// Backward node, as `AddmmBackward0`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
    /// For a backward operator: the forward entry its node belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub forward: Option<usize>,
    /// Innermost line of user code; for a backward operator that of its forward operator.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub place: Option<Place>,
    /// Path of the innermost module, as `blocks.1.attn`; the class name for the outermost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub module: Option<String>,
    /// Function that was called at top level, as `torch.nn.functional.cross_entropy`, when the operator lies inside one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub call: Option<String>,
    /// Autocast format in force, as `float16`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub autocast: Option<String>,
    /// Tensors read, in schema order; lists are flattened.
    pub inputs: Vec<Arg>,
    /// Tensors written, results and in-place targets.
    pub outputs: Vec<Arg>,
    /// Arguments that are numbers, by schema name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scalars: BTreeMap<String, Num>,
    /// Float64 execution, for an entry that gave birth to a bad value in forward.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reference: Option<Reference>,
    /// How far the results are from the whole step in float64; absent: no farther than the inputs, or too little to tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drift: Option<Drift>,
    /// For a collective: what the others had to do with it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub comm: Option<Comm>,
}
