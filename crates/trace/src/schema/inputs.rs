use serde::{Deserialize, Serialize};

use super::Num;

/// What one input (an argument of the model, a target) has brought so far. Numbers are those of finite elements.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InputHistory {
    /// Position among the inputs of a step.
    pub slot: u32,
    /// As the ledger names it, `argument x of Net.forward`, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Data type, as `float32`.
    pub dtype: String,
    /// Sizes of the latest batch.
    pub shape: Vec<u64>,
    /// Batches seen, the latest among them.
    pub batches: u64,
    /// Median over the batches before the latest of the largest magnitude in each; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median: Option<f64>,
    /// Median absolute deviation of log10 of that magnitude, over the same batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mad: Option<f64>,
    /// Lowest value of all batches before the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<Num>,
    /// Highest value of all batches before the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<Num>,
    /// The latest batches, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recent: Vec<Batch>,
    /// Features that had one and the same value in every batch, 8 at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constant: Vec<Constant>,
    /// Elements far from all that came before them, the latest 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub odd: Vec<Odd>,
}

/// One batch of an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Optimizer steps completed before it came.
    pub step: u64,
    /// Lowest value; absent where no element is finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Highest value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Root mean square.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rms: Option<f64>,
    /// Median magnitude of a sample of its elements that are not 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typical: Option<f64>,
}

impl Batch {
    /// Largest magnitude.
    pub fn largest(&self) -> Option<f64> {
        Some(self.min?.abs().max(self.max?.abs()))
    }
}

/// A feature with one value only.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    /// Its index in the last dimension of two, in the second of more.
    pub feature: u64,
    /// The value.
    pub value: f64,
}

/// An element far from all that came before it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Odd {
    /// Step whose batch held it.
    pub step: u64,
    /// Index in the first dimension; absent for a scalar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<u64>,
    /// Index of its feature; absent where features were not told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<u64>,
    /// The element.
    pub value: f64,
    /// Lowest value of this feature (of the input, without one) in the batches before; absent for the first batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Highest value before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}
