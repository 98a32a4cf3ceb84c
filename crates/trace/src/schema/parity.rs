use serde::{Deserialize, Serialize};

use super::{Num, Place};

/// What recomputation under gradient checkpointing gave in one step, beside what the forward pass had given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parity {
    /// Times that a stretch of the forward pass was run again.
    pub blocks: u64,
    /// Operators of the forward pass that were found again in a recomputation.
    pub pairs: u64,
    /// Pairs whose values, shape or type differ.
    pub differing: u64,
    /// The first operator that gave something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Difference>,
    /// Running statistics and the like that the recomputation has moved once more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub twice: Vec<Twice>,
    /// 2-norm of the difference between the gradients with and without checkpointing, over that without. Absent where
    /// checkpointing could not be taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gradient_error: Option<Num>,
}

/// An operator whose recomputation differs from its forward.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Difference {
    /// Operator, as `aten.native_dropout.default`.
    pub op: String,
    /// Innermost line of user code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// The line that has the block run again: the call of `checkpoint`, or that of a backward written by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Place>,
    /// Path of the innermost module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Its entry in the ledger, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<usize>,
    /// Ledger entry of the forward operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<usize>,
    /// True when the forward pass has no such operator: what follows it differs.
    pub extra: bool,
    /// True when the operator draws random numbers.
    pub random: bool,
    /// The result that differs, in the forward pass. For an extra operator: the first result after it that differs.
    pub was: Side,
    /// The same in the recomputation.
    pub now: Side,
    /// Elements that were compared: a sample of a large result. 0 where shapes or types differ.
    pub of: u64,
    /// Those among them that differ.
    pub differ: u64,
    /// Largest difference between two of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<Num>,
    /// Largest magnitude among those of the forward pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Num>,
    /// Index of the first of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_index: Option<Vec<u64>>,
    /// Inputs that differ already, although no operator that was compared has made them so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub altered: Vec<Altered>,
    /// True when it is not a recomputation: saved-tensor hooks gave backward something else than they were given.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unpacked: bool,
    /// The backward node that read it, as `MulBackward0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// True when the step itself differed and its replay did not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsteady: bool,
    /// Arguments that are no tensors and differ: `(name, in the forward pass, in the recomputation)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<(String, String, String)>,
}

/// One result in one of two executions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Side {
    /// Data type, as `float16`.
    pub dtype: String,
    /// Sizes.
    pub shape: Vec<u64>,
    /// Device, as `cpu` or `cuda:0`.
    pub device: String,
    /// Autocast format in force where it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub autocast: Option<String>,
}

/// An input that holds other values than it did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Altered {
    /// Name in the operator's schema.
    pub name: String,
    /// The parameter, buffer or argument that it is, where it has a name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor: Option<String>,
    /// True when its memory was never written since it was allocated.
    pub unwritten: bool,
    /// Operator that has written into the same memory between the two executions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// Line of that operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// True when that operator is part of the block itself.
    pub own: bool,
}

/// A buffer that forward and recomputation have both moved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Twice {
    /// As `bn.running_mean`.
    pub name: String,
    /// Largest difference between what the forward pass has left in it and what there is after backward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<Num>,
}
