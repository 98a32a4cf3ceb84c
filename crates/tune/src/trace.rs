use serde::{Deserialize, Serialize};

/// One step without checkpointing, as an observer of its memory has seen it. Time is counted in ticks: every event has its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trace {
    /// Ticks of the whole step.
    pub ticks: usize,
    /// Bytes that are there before, during and after the step: parameters, buffers, optimizer state, inputs.
    pub resident: u64,
    /// Seconds of the step, not observed.
    pub seconds: f64,
    /// Memory that the step has made.
    pub storages: Vec<Storage>,
    /// What the autograd graph has kept for backward.
    pub holders: Vec<Holder>,
    /// Calls that may be run again in backward, in order of `begin`.
    pub regions: Vec<Region>,
    /// The blocks, in the order of their first calls.
    pub blocks: Vec<Block>,
}

/// One piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// Its size.
    pub bytes: u64,
    /// Tick at which it was made.
    pub born: usize,
    /// Tick at which the program itself let go of it, whatever the graph has kept; absent: never within the step.
    pub died: Option<usize>,
}

/// One tensor kept by the graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// Index of the memory that it keeps; absent for parameters and inputs, which are there anyway.
    pub storage: Option<usize>,
    /// Tick at which it was kept.
    pub packed: usize,
    /// Tick at which backward first asked for it.
    pub unpacked: Option<usize>,
    /// Tick at which it was let go of.
    pub released: Option<usize>,
}

/// One call that may be checkpointed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Region {
    /// First tick.
    pub begin: usize,
    /// One past the last tick.
    pub end: usize,
    /// Memory of its arguments, as far as the step has made it.
    pub inputs: Vec<usize>,
    /// The block that is called; absent for a call that the program itself checkpoints.
    pub block: Option<usize>,
}

/// One repeated part of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Path in the module tree.
    pub name: String,
    /// Name of its class.
    pub class: String,
    /// Seconds of its forward passes in one step: what running them again costs.
    pub seconds: f64,
}
