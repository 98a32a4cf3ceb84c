use nanscope_numeric::Census;
use serde::{Deserialize, Serialize};

use super::{AlarmKind, Attention, Drift, Num, Place, RankSummary, Reference, Trip, Whole};
use crate::schema::Phase;

/// Name of the report format that this version writes.
pub const REPORT_SCHEMA: &str = "nanscope.report/1";

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Verdict {
    Finite,
    Nonfinite,
    Diverging,
    Mismatch,
    Unhealthy,
}

/// The contract for machines: one run, what was found in it, why, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Report {
    pub schema: String,
    pub verdict: Verdict,
    pub run: RunSummary,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub trip: Option<TripSummary>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub replay: Option<Replay>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub origin: Option<Origin>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Link>,
    /// Where digits were lost on the way to the origin, at most five points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub digits: Vec<Digits>,
    /// The call of attention at the origin, and those whose kernel differs from its formula.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attention: Vec<Attention>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<Experiment>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub island: Option<Island>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Fix>,
    /// Of a run of several ranks: what each had to do with it, the rank of the origin first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankSummary>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Report {
    /// The origin, where a value that is not finite was born or met.
    pub fn born(&self) -> Option<&Origin> {
        self.origin.as_ref().filter(|origin| origin.kind != "finite")
    }

    /// The origin, where an operator gave something else the second time.
    pub fn parted(&self) -> Option<&Origin> {
        self.origin.as_ref().filter(|origin| self.verdict == Verdict::Mismatch && origin.op.is_some())
    }
}

/// The run that the report is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct RunSummary {
    pub script: String,
    pub argv: Vec<String>,
    pub python: String,
    pub torch: String,
    pub nanscope: String,
    pub devices: Vec<String>,
    pub world_size: u32,
    pub steps: u64,
    /// Absent when the run did not end (killed, still running).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seconds: Option<f64>,
    /// Seconds spent in nanscope before any trip.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub watch_seconds: Option<f64>,
}

/// The trip, as the report tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct TripSummary {
    pub step: u64,
    pub rank: u32,
    #[serde(rename = "where")]
    pub where_: super::Where,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alarm: Option<AlarmKind>,
    /// For an alarm: the step at which it was certain, `step` being where it began.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seen: Option<u64>,
    /// The line of the step, where no operator is to blame.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub place: Option<Place>,
}

impl From<&Trip> for TripSummary {
    fn from(trip: &Trip) -> Self {
        let Trip { step, rank, where_, name, kind, alarm, place, .. } = trip.clone();
        let (alarm, seen) = (alarm.as_ref().map(|alarm| alarm.kind), alarm.map(|alarm| alarm.seen));
        TripSummary { step, rank, where_, name, kind, alarm, seen, place }
    }
}

/// How the step was run again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Replay {
    pub faithful: bool,
    pub method: String,
    pub events: usize,
    pub operators: usize,
    pub seconds: f64,
    /// The same step in float64.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub whole: Option<Whole>,
}

/// The first ledger entry where a bad value that reaches the trip was born.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Origin {
    /// Position of the operator in the ledger.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub entry: Option<usize>,
    pub phase: Phase,
    pub rank: u32,
    pub step: u64,
    /// The operator; for a value that came in from outside, the operator that met it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub op: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
    #[serde(flatten)]
    pub place: Option<Place>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub module: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub dtype: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub device: Option<String>,
    /// `nan` or `inf`; `finite` where something else is at fault. Then no tensor is told, and an operator only where two
    /// executions of it differ.
    pub kind: String,
    /// Bad elements; of a `mismatch`, those that differ.
    pub bad: u64,
    /// Elements in all.
    pub of: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_index: Option<Vec<u64>>,
    /// Name of the tensor that was bad on arrival (`data`, `param`).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tensor: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Operand>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Operand>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reference: Option<Reference>,
    /// The whole step in float64, at this operator.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub drift: Option<Drift>,
}

/// A tensor of the origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Operand {
    pub name: String,
    pub dtype: String,
    pub shape: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub census: Option<Census>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub index: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub value: Option<Num>,
    /// `value` when the whole step is computed in float64.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reference: Option<Num>,
}

/// One link of the chain from the origin to the trip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Link {
    pub phase: Phase,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub op: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub module: Option<String>,
    pub text: String,
}

/// A point of the drift curve: how many significant digits a result still has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Digits {
    pub op: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub line: Option<u32>,
    /// The expression, where it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code: Option<String>,
    pub dtype: String,
    /// Significant decimal digits that its inputs had.
    pub before: f64,
    /// Those that it has.
    pub after: f64,
}

/// How sure a cause is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Confidence {
    Possible,
    Likely,
    Proved,
}

/// A named explanation with evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Cause {
    pub id: String,
    pub title: String,
    pub confidence: Confidence,
    pub evidence: Vec<String>,
    /// What would tell it from the other causes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub distinguish: Option<String>,
    /// Command that prints the rule's page.
    pub docs: String,
}

/// One change, one replay, its outcome. `T` is a sentence: in one language in a report, in all of them in a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Experiment<T = String> {
    pub id: String,
    pub change: T,
    pub finite: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss: Option<Num>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reference_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<T>,
}

/// The smallest set of modules or lines that must run in float32.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Island {
    pub members: Vec<String>,
    pub replays: usize,
    pub minimal: bool,
}

/// How far a fix may be trusted. There is no default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Safety {
    /// No healthy step changes.
    Safe,
    /// Healthy steps change: the user decides.
    ChangesTraining,
    /// Words only.
    Advice,
}

/// An edit of the user's source or settings, or advice. `T` as in [`Experiment`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Fix<T = String> {
    pub id: String,
    pub summary: T,
    pub safety: Safety,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub diff: Option<String>,
    /// Files that the diff changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Edited>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proof: Option<Proof>,
    /// Why there is no proof, or what the proof lacks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<T>,
}

/// A file that a fix changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edited {
    /// Path, relative to the run's working directory where it lies below it.
    pub file: String,
    /// CRC-32 (IEEE) of the file that the diff was made from.
    pub checksum: u32,
    /// Its bytes.
    pub bytes: u64,
}

/// What running a fix showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Proof {
    pub proved: bool,
    /// Steps that the fixed program completed.
    pub steps: u64,
    pub finite: bool,
    /// `identical`, `close` or `changed`.
    pub healthy_losses: String,
    /// Steps whose losses were compared.
    #[serde(default)]
    pub compared: u64,
    /// Median time of a step over that of the program as it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_ratio: Option<f64>,
    /// Wall-clock seconds that the proof took.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub seconds: Option<f64>,
    /// Command that repeats the proof.
    pub command: String,
}
