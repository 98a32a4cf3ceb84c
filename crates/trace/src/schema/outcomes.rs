use serde::{Deserialize, Serialize};

use super::{Experiment, Fix, Island};

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

/// An experiment whose sentences are in every language. Ratios are to the plain replay; `reference_error` is the relative
/// difference of the loss from that of the step in float64; `steps` are those that were run.
pub type Tried = Experiment<Text>;

/// A fix that was written, its sentences in every language, and what running it showed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// As the report tells it.
    #[serde(flatten)]
    pub fix: Fix<Text>,
    /// Causes that it removes; empty where it removes what they lead to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// Edits that are needed together.
    pub parts: u64,
}

impl Tried {
    /// As the report tells it; `pick` chooses the language.
    pub fn told(&self, pick: impl Fn(&Text) -> String) -> Experiment {
        let Tried { id, finite, loss, reference_error, time_ratio, memory_ratio, steps, .. } = self.clone();
        let (change, note) = (pick(&self.change), self.note.as_ref().map(pick));
        Experiment { id, change, finite, loss, reference_error, time_ratio, memory_ratio, steps, note }
    }
}

impl Fix<Text> {
    /// As the report tells it; `pick` chooses the language.
    pub fn told(&self, pick: impl Fn(&Text) -> String) -> Fix {
        let Fix { id, safety, diff, files, proof, .. } = self.clone();
        let (summary, note) = (pick(&self.summary), self.note.as_ref().map(pick));
        Fix { id, summary, safety, diff, files, proof, note }
    }
}
