use serde::{Deserialize, Serialize};

use super::{Counts, Num, Place};

/// What is known of a collective besides what this rank gave and got.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Comm {
    /// As `allreduce`, `allgather_base`, `reduce_scatter_base`.
    pub kind: String,
    /// As `sum`, `avg`, `max`; absent for what only moves values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reduction: Option<String>,
    /// Name of its process group.
    pub group: String,
    /// How many collectives of this group came before it in the replay: the same on all ranks that run the step in step.
    pub number: u64,
    /// Ranks in its group.
    pub world: u32,
    /// This rank's number in the group.
    pub rank: u32,
    /// True when all ranks ran the step again; otherwise the result is made of this rank's own part.
    pub live: bool,
    /// What each rank gave; asked only where the result was not finite.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<CommPart>,
}

/// What one rank gave to a collective.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommPart {
    /// Rank in the job.
    pub rank: u32,
    /// What was in it.
    pub counts: Counts,
}

/// What ranks disagree about while every value may be finite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apart {
    /// Which kind of disagreement.
    pub kind: ApartKind,
    /// Why, where the logs of the ranks have shown it; otherwise it is told from what `ranks` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<ApartReason>,
    /// The operator whose result was to be shared.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub op: String,
    /// Tensors it is about, the first first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// How many, of how many: gradients whose collective was not over, tensors that differ.
    #[serde(default)]
    pub count: u64,
    /// In all.
    #[serde(default)]
    pub of: u64,
    /// The last step in which the same was compared and found equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equal: Option<u64>,
    /// The rank that is unlike all others, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub odd: Option<u32>,
    /// The only element that differs, where it is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub single: Option<Single>,
    /// What each rank has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankValue>,
}

/// How ranks came to disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApartKind {
    /// An optimizer read gradients whose collective was not over.
    Unfinished,
    /// A `GradScaler` left the update out on some ranks only.
    Skipped,
    /// Parameters that must be equal are not.
    Parameters,
    /// Gradients that must be equal once they are reduced are not.
    Gradients,
    /// Buffers that must be equal are not.
    Buffers,
    /// Some ranks came to their end while others waited for them in a collective.
    Ended,
}

/// Why ranks came apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApartReason {
    /// The last backward before the update ran under `no_sync`.
    NoSync,
    /// The module inside `DistributedDataParallel` was called.
    Bypassed,
    /// Gradients were not reduced.
    NotReduced,
    /// Gradients were scaled by a number that each rank has computed by itself.
    Scaled,
    /// A rank has left an update out that others made.
    LeftOut,
    /// Learning rates differ.
    Rate,
    /// Other settings of the optimizer differ.
    Settings,
    /// The program has written parameters on some ranks.
    Written,
    /// They were never equal.
    Begun,
    /// The update made something else of equal gradients: another state of the optimizer.
    Update,
}

/// One element that differs between two ranks, or between a step and its replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Single {
    /// Name of its tensor.
    pub name: String,
    /// Type of it, as `float32`.
    pub dtype: String,
    /// Its index in the tensor.
    pub index: Vec<u64>,
    /// Elements of the tensor.
    pub of: u64,
    /// The bits in which the two differ, as an integer: one bit for a bit that flipped.
    pub bits: u64,
    /// The value that was wrong, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Num>,
    /// The value that it should have been, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right: Option<Num>,
}

/// One rank's side of a disagreement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RankValue {
    /// Rank in the job.
    pub rank: u32,
    /// Whether it left the update out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// Its loss scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<Num>,
    /// Its loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Num>,
    /// 2-norm of its gradients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm: Option<Num>,
    /// Its gradients divided by those of the first rank, where that is one number for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<Num>,
    /// Its learning rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lr: Option<Num>,
    /// Fingerprint of the settings of its optimizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    /// How often its parameters were written, by the count that torch keeps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writes: Option<u64>,
    /// Fingerprint of the state of torch's random generator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random: Option<String>,
    /// Steps it has made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// The last forward of a `DistributedDataParallel` ran under `no_sync`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsynced: bool,
    /// The module inside one was called, and not the whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub bypassed: bool,
    /// The call of the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward: Option<Place>,
    /// The call of backward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backward: Option<Place>,
    /// The call that changed gradients after backward.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clip: Option<Place>,
    /// The call of the optimizer's step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update: Option<Place>,
}

/// A `GradScaler` has left the update out on this rank. Written by ranks of a job only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skip {
    /// Steps completed before it.
    pub step: u64,
    /// The line that called `scaler.step`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub place: Option<Place>,
}

/// What one rank had to do with what was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankSummary {
    /// Rank in the job.
    pub rank: u32,
    /// Its part in it.
    pub role: Role,
    /// The step in which it tripped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub step: Option<u64>,
    /// One sentence.
    pub text: String,
}

/// The part of a rank in what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The report is about this one.
    Origin,
    /// Has tripped by itself as well.
    Also,
    /// Was given a bad value by others.
    Victim,
    /// Nothing was found.
    Quiet,
    /// Its log stops, or there is none.
    Lost,
}
