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
    /// The operator whose result was to be shared.
    pub op: String,
    /// Parameters it is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// How many, of how many: gradients whose collective was not over, parameters that differ.
    #[serde(default)]
    pub count: u64,
    /// In all.
    #[serde(default)]
    pub of: u64,
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
    /// Parameters that were equal no longer are.
    Parameters,
}

/// One rank's side of a disagreement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankValue {
    /// Rank in the job.
    pub rank: u32,
    /// Whether it left the update out.
    pub skipped: bool,
    /// Its loss scale.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub scale: Option<Num>,
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
