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

/// One word of `--check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Recomputation of checkpointed blocks, in the first step that has any.
    Once,
    /// The same in every so manieth step.
    Recompute(u32),
    /// What ranks must have in common, every so many steps.
    Ranks(u32),
    /// Nothing.
    None,
}

impl Check {
    /// As it is written: `once`, `recompute`, `recompute=N`, `ranks`, `ranks=N`, `none`.
    pub(crate) fn parse(text: &str) -> Result<Check, String> {
        let wrong = || format!("expected once, recompute, recompute=N, ranks=N or none, got {text}");
        match text.split_once('=') {
            None if text == "once" => Ok(Check::Once),
            None if text == "none" => Ok(Check::None),
            None if text == "recompute" => Ok(Check::Recompute(1)),
            None if text == "ranks" => Ok(Check::Ranks(0)),
            Some((what, steps)) => match (what, steps.parse()) {
                ("recompute", Ok(steps)) if steps > 0 => Ok(Check::Recompute(steps)),
                ("ranks", Ok(steps)) if steps > 0 => Ok(Check::Ranks(steps)),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

/// In which steps two things that must agree are compared. A field is None where they never are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Steps from one comparison of recomputation and forward to the next; 0 for one only.
    pub recompute: Option<u32>,
    /// Steps from one comparison between ranks to the next; the first few steps are compared anyway. 0 leaves it to what a
    /// comparison costs.
    pub ranks: Option<u32>,
}

impl Default for Checks {
    fn default() -> Self {
        Checks { recompute: Some(0), ranks: Some(0) }
    }
}

impl Checks {
    /// What `words` ask for; of two that contradict each other the last holds.
    pub(crate) fn of(words: &[Check]) -> Checks {
        words.iter().fold(Checks::default(), |checks, word| match *word {
            Check::Once => Checks { recompute: Some(0), ..checks },
            Check::Recompute(steps) => Checks { recompute: Some(steps), ..checks },
            Check::Ranks(steps) => Checks { ranks: Some(steps), ..checks },
            Check::None => Checks { recompute: None, ranks: None },
        })
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
    /// Steps in which what must agree is compared.
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
