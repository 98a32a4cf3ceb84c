//! The run folder: what a run leaves behind, written so that a kill at any byte costs the last record at most.
//!
//! [`schema`] holds the values, [`Writer`] appends them to one log per rank, [`Run`] reads a folder back. The bytes are
//! documented in `docs/run-folder.md` and in [`frame`] and [`step`], where they are written.
//!
//! This crate interprets nothing: it knows no rule, renders nothing, and needs neither Python nor torch.

mod atomic;
mod error;
pub mod frame;
mod log;
mod run;
pub mod schema;
mod sink;
pub mod step;
mod writer;

pub use atomic::{write_atomically, write_report};
pub use error::Error;
pub use frame::Kind;
pub use log::{Log, Raw, Torn};
pub use run::Run;
pub use schema::*;
pub use sink::Sink;
pub use writer::Writer;

/// Name of the report in a run folder.
pub const REPORT_FILE: &str = "report.json";

/// Name of the log of one rank in a run folder: `rank-0.log`.
pub fn log_file(rank: u32) -> String {
    format!("rank-{rank}.log")
}
