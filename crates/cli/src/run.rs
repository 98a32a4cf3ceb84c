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
    /// As it is written: `once`, `recompute`, `recompute=N`, `none`.
    pub(crate) fn parse(text: &str) -> Result<Check, String> {
        let wrong = || format!("expected once, recompute, recompute=N or none, got {text}");
        match text.split_once('=') {
            None if text == "once" => Ok(Check::Once),
            None if text == "none" => Ok(Check::Never),
            None if text == "recompute" => Ok(Check::Every(1)),
            Some(("recompute", steps)) => match steps.parse() {
                Ok(steps) if steps > 0 => Ok(Check::Every(steps)),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }

    /// Steps between two comparisons: 0 for one comparison only; None for none.
    pub fn every(self) -> Option<u32> {
        match self {
            Check::Once => Some(0),
            Check::Every(steps) => Some(steps),
            Check::Never => None,
        }
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
    /// Steps in which recomputation is compared with forward.
    pub check: Check,
    /// Seconds for experiments and proofs after a trip.
    pub budget: u32,
    /// Ranks to start on this machine; None for the script alone.
    pub nproc_per_node: Option<u32>,
    /// When to write colour.
    pub color: Color,
    /// Language of the report.
    pub lang: Lang,
}
