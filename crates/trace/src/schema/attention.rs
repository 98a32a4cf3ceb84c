use serde::{Deserialize, Serialize};

use super::{Num, Phase, Place};

/// One call of attention in a replay: a fused operator, or a softmax between two products.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Attention {
    /// Its ledger entry: the fused operator of the forward pass, or the softmax.
    pub entry: usize,
    /// Spelled out: the entry that multiplies queries and keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<usize>,
    /// All entries that belong to it: scale, mask, dropout and both products, or the fused operator and its backward.
    pub members: Vec<usize>,
    /// `fused`; `math`, torch's own formula; `spelled` out by the program.
    pub kind: String,
    /// Operator of `entry`.
    pub op: String,
    /// Of a fused operator: its name without what all of them have in common, as `flash-attention-for-cpu`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Innermost line of user code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// Path of the innermost module.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Part of the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Sizes of the logits: batch, heads, queries, keys, as far as the program keeps them apart.
    pub shape: Vec<u64>,
    /// Heads of keys and values, where there are fewer than of queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_heads: Option<u64>,
    /// Length of a query.
    pub width: u64,
    /// Data type of the operands; spelled out: of the product.
    pub dtype: String,
    /// What logits are multiplied with in all; absent where a tensor is among the factors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// True where a row sees no key behind it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub causal: bool,
    /// True where logits are passed through tanh.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub capped: bool,
    /// Share of probabilities that dropout sets to 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropout: Option<f64>,
    /// The mask, where there is one besides causality.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mask: Option<Mask>,
    /// What each head sees. Empty where that was not read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<Head>,
    /// Results of the kernel beside the formula, forward and backward.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Gap>,
    /// Pairs of batch element and key head that were compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared: Option<u64>,
    /// Those that there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u64>,
    /// Why something was not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
    /// The same by other backends, where the kernel differs from the formula.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backends: Vec<Backend>,
    /// Largest logit in steps that were looked at before: `(step, magnitude)`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub past: Vec<(u64, Num)>,
}

impl Attention {
    /// The head with the largest logit.
    pub fn largest(&self) -> Option<&Head> {
        self.heads.iter().max_by(|a, b| a.largest.0.total_cmp(&b.largest.0))
    }

    /// The result that is farthest beyond what its format allows.
    pub fn worst(&self) -> Option<&Gap> {
        let beyond = self.gaps.iter().filter(|gap| gap.differ > 0);
        beyond.max_by(|a, b| a.ratio.0.total_cmp(&b.ratio.0))
    }
}

/// What excludes keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mask {
    /// `added` to the logits, or `filled` in.
    pub kind: String,
    /// Its data type.
    pub dtype: String,
    /// What stands for an excluded key; absent where nothing is low enough to exclude one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constant: Option<Num>,
}

/// One head, over all rows of all batch elements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Number, from 0.
    pub head: u64,
    /// Largest magnitude of a logit whose key is seen, scaled, without the mask; of logits that left their format, in float64.
    pub largest: Num,
    /// Mean entropy of a row, in nats. Absent where no row has a key.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entropy: Option<f64>,
    /// What it would be if every key that a row sees counted the same.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub even: Option<f64>,
    /// Share of keys that are masked, from 0 to 1.
    pub masked: f64,
    /// Rows that see no key.
    pub keyless: u64,
}

/// One result of a kernel beside the formula in float64 from the same inputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// `out`, `logsumexp`, `grad_query`, `grad_key`, `grad_value` or `grad_bias`.
    pub name: String,
    /// Entry that wrote it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entry: Option<usize>,
    /// Its data type.
    pub dtype: String,
    /// Elements that were compared.
    pub of: u64,
    /// Those that are farther off than the formats of the kernel allow.
    pub differ: u64,
    /// Largest error over what is allowed there.
    pub ratio: Num,
    /// The error of that element.
    pub error: Num,
    /// What is allowed there.
    pub allowed: Num,
    /// What the kernel gave.
    pub value: Num,
    /// What the formula gives.
    pub reference: Num,
    /// Where: batch, head, row, column. Absent for a mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub index: Option<Vec<u64>>,
    /// True where dropout hides single elements: `value` is the sum of all, each times what the formula gives for it on average.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub expected: bool,
}

/// The same call by another backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backend {
    /// As `math`.
    pub name: String,
    /// True where everything it gives lies within what its formats allow.
    pub right: bool,
    /// Its error where that is largest beside what is allowed.
    pub error: Num,
    /// What is allowed there.
    pub allowed: Num,
    /// Time over that of the backend that torch chooses: of forward, and of backward where the kernel was found wrong there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_ratio: Option<f64>,
    /// Peak of what it takes in memory, over that of the backend that torch chooses.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory_ratio: Option<f64>,
}
