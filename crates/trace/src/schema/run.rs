use serde::{Deserialize, Serialize};

use super::{Alarm, Apart, Num, Place};

/// What is known of a run before its first step. The first frame of every log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunInfo {
    /// Always `nanscope.run/1` when written by this version.
    pub schema: String,
    /// The script or module as the user named it.
    pub script: String,
    /// True when `script` is the name of a module, as for `python -m`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub module: bool,
    /// Its arguments, the script not among them.
    pub argv: Vec<String>,
    /// Directory that paths in the run folder are relative to.
    pub cwd: String,
    /// Version of Python, as `3.11.7`.
    pub python: String,
    /// Version of torch, as `2.13.0+cu130`.
    pub torch: String,
    /// Version of nanscope.
    pub nanscope: String,
    /// Devices in use, as `cpu` or `cuda:0 (NVIDIA H200)`.
    pub devices: Vec<String>,
    /// Number of ranks, 1 for a single process.
    pub world_size: u32,
    /// This process's rank, from 0.
    pub rank: u32,
    /// Process id.
    pub pid: u32,
    /// Nanoseconds since the Unix epoch at which the run began.
    pub started_unix_nanos: u64,
}

/// One completed (or skipped) optimizer step: the signals read at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Steps completed before this one: 0 for the first.
    pub step: u64,
    /// Nanoseconds since the start of the run.
    pub nanos: u64,
    /// Nanoseconds spent in nanscope since the previous record.
    pub watch_nanos: u64,
    /// Value of the tensor on which backward was called last.
    pub loss: Option<f64>,
    /// 2-norm over all gradients, in float64.
    pub grad_norm: Option<f64>,
    /// Largest gradient magnitude.
    pub grad_max: Option<f64>,
    /// Scale of the GradScaler in use.
    pub scale: Option<f64>,
    /// Learning rate of the first parameter group.
    pub lr: Option<f64>,
    /// True when the update was left out (GradScaler, `--on-trip skip`).
    pub skipped: bool,
}

/// Where a signal tripped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Where {
    Loss,
    Gradient,
    Parameter,
    Buffer,
    State,
    Output,
    Scale,
    Trend,
    Rate,
    Recompute,
    Kernel,
    Repeat,
    Rank,
}

/// The moment a signal said stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trip {
    /// Optimizer steps completed before it.
    pub step: u64,
    /// Rank that tripped.
    pub rank: u32,
    /// Which signal.
    #[serde(rename = "where")]
    pub where_: Where,
    /// Name of the parameter, buffer or module; absent for a loss.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// `nan`, `inf` or `finite`.
    pub kind: String,
    /// Value of the loss at the trip, when there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss: Option<Num>,
    /// Ledger entry that wrote the value, where a ledger exists.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entry: Option<usize>,
    /// Entries that wrote gradients which were bad in the same replay.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also: Vec<usize>,
    /// The alarm, for a trip on what shows over several steps.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alarm: Option<Alarm>,
    /// The line that called backward or the optimizer's step, for a trip that no operator is to blame for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub place: Option<Place>,
    /// What ranks disagree about, for a trip on that.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub apart: Option<Apart>,
}

/// How a run ended; the last frame of a log that was closed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// `finished`, `raised`, `exited` or `stopped` (by nanscope).
    pub how: String,
    /// Exit status of the script, where it had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<i32>,
    /// Optimizer steps completed.
    pub steps: u64,
    /// Wall-clock seconds of the run.
    pub seconds: f64,
    /// Seconds of it spent in nanscope before any trip.
    pub watch_seconds: f64,
    /// The line at which the program ended in an error, if it says that another rank did not come to a collective.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub deserted: Option<Place>,
    /// What was dropped, what could not be told.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A warning that was given while the run went on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// One line.
    pub text: String,
}
