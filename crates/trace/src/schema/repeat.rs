use serde::{Deserialize, Serialize};

use super::{Difference, Phase};

/// One step run twice from the same state, compared operator by operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repeat {
    /// Operators that were compared.
    pub operators: u64,
    /// Those that gave something else the second time, up to where the two parted in what they did.
    pub differing: u64,
    /// The first of them; `was` is what the first run gave, `now` the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Difference>,
    /// The part of the step that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// True where the order of additions explains every difference.
    pub rounding: bool,
    /// Whether two runs on one thread are equal to the bit. Absent where that was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_thread: Option<bool>,
    /// Whether two runs with torch's deterministic algorithms are equal to the bit. Absent where that was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deterministic: Option<bool>,
}
