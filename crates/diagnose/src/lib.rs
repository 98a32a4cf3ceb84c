//! From a ledger to the origin, the chain and the cause.
//!
//! Invariants: no IO, no clock, no framework. The same ledger always gives the same report, so that a run folder can be
//! diagnosed again on any machine.

mod case;
mod chain;
mod locate;
mod meant;
mod report;
pub mod rules;
mod text;

pub use case::Case;
pub use locate::{Birth, Located, locate};
pub use report::{finite, report};
pub use rules::{Finding, Rule};
