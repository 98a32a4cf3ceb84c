//! From a ledger to the origin, the chain and the cause.
//!
//! Invariants: no IO, no clock, no framework. The same ledger always gives the same report, so that a run folder can be
//! diagnosed again on any machine.

mod apart;
mod attention;
mod batches;
mod case;
mod chain;
mod course;
mod digits;
pub mod experiments;
mod locate;
mod meant;
pub mod monitor;
mod origin;
mod outcomes;
mod ranks;
mod report;
pub mod rules;
mod text;

pub use case::Case;
pub use course::Course;
pub use locate::{Birth, Located, locate};
pub use monitor::{Input, Monitor, Signals};
pub use outcomes::tried;
pub use ranks::{Part, merged, roles};
pub use report::{finite, report, verdict};
pub use rules::{Finding, Rule};
