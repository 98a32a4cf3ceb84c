use crate::check::Checks;
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
    /// In which steps what must agree is compared.
    pub checks: Checks,
    /// Seconds for experiments and proofs after a trip.
    pub budget: u32,
    /// Ranks to start on this machine; None for the script alone.
    pub nproc_per_node: Option<u32>,
    /// When to write colour.
    pub color: Color,
    /// Language of the report.
    pub lang: Lang,
}
