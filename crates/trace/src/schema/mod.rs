//! The plain values that cross a border: what a run is, a step, a trip, a ledger, a report.
//!
//! Each is written as JSON into the run folder, a step as bytes. A fact that is absent is absent, never 0 and never "".

mod attention;
mod history;
mod inputs;
mod ledger;
mod num;
mod outcomes;
mod parity;
mod ranks;
mod repeat;
mod report;
mod run;

pub use attention::{Attention, Backend, Gap, Head, Mask};
pub use history::{Alarm, AlarmKind, Baseline, History, PastStep, ScaleChange};
pub use inputs::{Batch, Constant, InputHistory, Odd};
pub use ledger::{Arg, Compared, Counts, Drift, Entry, Ledger, Phase, Place, Reference, Source, Whole};
pub use num::Num;
pub use outcomes::{Attempt, Outcomes, Text, Tried};
pub use parity::{Altered, Difference, Parity, Side, Twice};
pub use ranks::{Apart, ApartKind, ApartReason, Comm, CommPart, RankSummary, RankValue, Role, Single, Skip};
pub use repeat::Repeat;
pub use report::*;
pub use run::{End, Note, RunInfo, StepRecord, Trip, Where};
