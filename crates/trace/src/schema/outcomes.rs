use serde::{Deserialize, Serialize};

use super::{Edited, Experiment, Fix, Island, Num, Proof, Safety};

/// What was tried after the diagnosis of one trip: experiments on the replay, and fixes that were run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcomes {
    /// Step of the trip.
    pub step: u64,
    /// Its rank.
    #[serde(default)]
    pub rank: u32,
    /// In the order in which they were run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub experiments: Vec<Tried>,
    /// The smallest set that must run in float32, where that was looked for and found.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub island: Option<Island>,
    /// Fixes that were written, in the order in which they were tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<Attempt>,
    /// What could not be tried, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Text>,
}

/// A sentence in every language, so that a run folder can be read in each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Text {
    pub en: String,
    pub ko: String,
}

/// One experiment: an [`Experiment`] whose texts are in every language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Tried {
    pub id: String,
    pub change: Text,
    pub finite: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss: Option<Num>,
    /// Relative difference of the loss from that of the step in float64.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reference_error: Option<f64>,
    /// Time of the replay over that of the plain one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_ratio: Option<f64>,
    /// Peak memory of the replay over that of the plain one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory_ratio: Option<f64>,
    /// Steps that were run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<Text>,
}

/// A fix that was written, and what running it showed: a [`Fix`] whose texts are in every language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Attempt {
    pub id: String,
    /// Causes that it removes; empty where it removes what they lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// Edits that are needed together.
    pub parts: u64,
    pub summary: Text,
    pub safety: Safety,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub diff: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Edited>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub proof: Option<Proof>,
    /// Why there is no proof, or what the proof lacks.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<Text>,
}

impl Tried {
    /// As the report tells it; `pick` chooses the language.
    pub fn told(&self, pick: impl Fn(&Text) -> String) -> Experiment {
        let Tried { id, finite, loss, reference_error, time_ratio, memory_ratio, steps, .. } = self.clone();
        let (change, note) = (pick(&self.change), self.note.as_ref().map(pick));
        Experiment { id, change, finite, loss, reference_error, time_ratio, memory_ratio, steps, note }
    }
}

impl Attempt {
    /// As the report tells it; `pick` chooses the language.
    pub fn told(&self, pick: impl Fn(&Text) -> String) -> Fix {
        let Attempt { id, safety, diff, files, proof, .. } = self.clone();
        let (summary, note) = (pick(&self.summary), self.note.as_ref().map(pick));
        Fix { id, summary, safety, diff, files, proof, note }
    }
}
