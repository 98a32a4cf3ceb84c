//! What NCCL, PyTorch and its flight recorder have written down, of many ranks: read as it lies, in bounded memory.
//!
//! Bytes become lines ([`Lines`]), lines facts, facts one picture of the job, and that a [`Summary`] with its findings.
//! Nothing is unpickled: a pickled dump is read by a machine that knows plain values only and refuses the rest.

mod collectives;
mod fact;
mod findings;
mod job;
mod lines;
mod nccl;
mod pickle;
mod read;
mod recorder;
mod scan;
mod summary;
mod text;
mod torch;
mod transport;
mod watchdog;

pub use lines::Lines;
pub use pickle::{Refused, plain};
pub use read::{Logs, Unreadable};
pub use summary::{FileRead, Finding, Kind, Severity, Summary, Transports, Versions};
pub use text::render;
