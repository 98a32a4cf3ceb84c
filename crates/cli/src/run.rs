use crate::{Color, Lang};

/// What to do when a value stops being finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OnTrip {
    /// Diagnose and end the script before the bad update is applied
    #[default]
    Stop,
    /// Diagnose, leave the bad update out, and go on
    Skip,
    /// Diagnose and go on as if nanscope were not there
    Continue,
    /// Diagnose, make a proved fix in memory, leave the bad update out, and go on
    #[value(skip)]
    Heal,
}

impl OnTrip {
    /// Name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            OnTrip::Stop => "stop",
            OnTrip::Skip => "skip",
            OnTrip::Continue => "continue",
            OnTrip::Heal => "heal",
        }
    }
}

/// In which steps the recomputation of checkpointed blocks is compared with their forward pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// In the first step that has any.
    #[default]
    Once,
    /// In that one, and whenever so many steps have passed.
    Every(u32),
    /// Never.
    Never,
}

impl Check {
    /// Steps between two comparisons: 0 for one comparison only; None for none.
    pub fn every(self) -> Option<u32> {
        match self {
            Check::Once => Some(0),
            Check::Every(steps) => Some(steps),
            Check::Never => None,
        }
    }
}

/// What is compared while the run is healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// The recomputation of checkpointed blocks with their forward pass.
    pub recompute: Check,
    /// Kernels of attention with their formula: every so many steps; None for never.
    pub attention: Option<u32>,
    /// What ranks must have in common: every so many steps, 0 as often as it costs little; None for never.
    pub ranks: Option<u32>,
}

impl Default for Checks {
    fn default() -> Self {
        Checks { recompute: Check::default(), attention: None, ranks: Some(0) }
    }
}

impl Checks {
    /// As it is written: a list of `once`, `recompute`, `recompute=N`, `attention`, `attention=N`,
    /// `ranks`, `ranks=N`, or `none`.
    pub(crate) fn parse(text: &str) -> Result<Checks, String> {
        let mut found = Checks::default();
        for part in text.split(',') {
            let wrong = || {
                format!("expected once, recompute, recompute=N, attention, attention=N, ranks=N or none, got {part}")
            };
            let (what, steps) = part.split_once('=').map_or((part, None), |(what, steps)| (what, Some(steps)));
            let every =
                steps.map(str::parse::<u32>).transpose().ok().filter(|steps| *steps != Some(0)).ok_or_else(wrong)?;
            match (what, every) {
                ("once", None) => found.recompute = Check::Once,
                ("none", None) => (found.recompute, found.ranks) = (Check::Never, None),
                ("recompute", every) => found.recompute = Check::Every(every.unwrap_or(1)),
                ("ranks", every) => found.ranks = Some(every.unwrap_or(0)),
                ("attention", every) => found.attention = Some(every.unwrap_or(1)),
                _ => return Err(wrong()),
            }
        }
        Ok(found)
    }
}

/// A script or a module to watch, and how. Exactly one of `script` and `module` is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOptions {
    /// Path of the script.
    pub script: Option<String>,
    /// Name of the module, as for `python -m`.
    pub module: Option<String>,
    /// The script's own arguments, as they were given.
    pub args: Vec<String>,
    /// What to do at a trip.
    pub on_trip: OnTrip,
    /// Where else to write the report as JSON; `-` is stdout.
    pub json: Option<String>,
    /// The run folder to make.
    pub out: Option<String>,
    /// Trips to diagnose when the script goes on after them.
    pub diagnose_first: u32,
    /// What is compared while the run is healthy, and in which steps.
    pub check: Checks,
    /// Seconds for experiments and proofs after a trip.
    pub budget: u32,
    /// Ranks to start on this machine; None for the script alone.
    pub nproc_per_node: Option<u32>,
    /// When to write colour.
    pub color: Color,
    /// Language of the report.
    pub lang: Lang,
}
