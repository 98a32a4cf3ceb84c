use serde::{Deserialize, Serialize};

use crate::Block;

/// Peak memory and time of a step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Bytes at the peak, what is resident among them.
    pub bytes: u64,
    /// Seconds of the step.
    pub seconds: f64,
}

/// One choice of blocks to run again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// `none`, `all`, `every-2`, ..., `best`, `as-is`.
    pub id: String,
    /// Indices of the blocks; absent for `as-is` where the program checkpoints something else than blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<usize>>,
    /// Whether the program is like this already.
    #[serde(default)]
    pub as_is: bool,
    /// From the trace.
    pub predicted: Cost,
    /// From running it; absent where it could not be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Cost>,
    /// Whether losses and gradients are those of `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parity: Option<Parity>,
    /// Why it could not be run, or what differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Losses and gradients beside those of the step without checkpointing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Parity {
    /// Equal to the bit.
    Identical,
    /// Not equal, and two runs without checkpointing are not equal either.
    Noise,
    /// Not equal.
    Differs,
}

/// A choice on the predicted front: none that takes less memory takes less time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Indices of the blocks to run again.
    pub blocks: Vec<usize>,
    /// Predicted.
    #[serde(flatten)]
    pub cost: Cost,
}

/// What [`plan`](crate::plan) says of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// Settings to run, none of them twice.
    pub settings: Vec<Setting>,
    /// The predicted front, the least memory first.
    pub front: Vec<Point>,
    /// Whether `best` is proved to be; absent without a limit that can be kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exact: Option<bool>,
    /// The smallest peak that was found, in bytes.
    pub least: u64,
}

/// All that is known in the end: `checkpoint.json`, schema `nanscope.checkpoint/1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// `nanscope.checkpoint/1`
    pub schema: String,
    /// The program.
    pub script: String,
    /// Steps completed before the one that was looked at.
    pub step: u64,
    /// Where the model is.
    pub device: String,
    /// Who has counted the memory: `storages` or `allocator`.
    pub counted: String,
    /// Bytes that are there throughout: parameters, buffers, optimizer state, inputs.
    pub resident: u64,
    /// Bytes that the peak may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// The blocks, in the order of their first calls.
    pub blocks: Vec<Block>,
    /// What was predicted.
    #[serde(flatten)]
    pub planned: Planned,
    /// Id of the setting that the diff makes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Unified diff of the program that makes the chosen setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Why there is no diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_diff: Option<String>,
    /// What running the program with the diff has shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proof: Option<String>,
    /// Whether that run had the same losses up to and with the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proved: Option<bool>,
    /// Seconds of the whole command.
    pub seconds: f64,
}
