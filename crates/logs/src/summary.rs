//! What is handed over: plain values, the same for a person and for a machine.

use serde::Serialize;

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Lines of NCCL, torch and the program.
    Log,
    /// A flight-recorder dump as JSON.
    Json,
    /// A flight-recorder dump as a pickle.
    Pickle,
}

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileRead {
    /// Where it lies.
    pub path: String,
    /// What it was.
    pub kind: Kind,
    /// Its size.
    pub bytes: u64,
    /// Its lines; 0 for a dump.
    pub lines: u64,
    /// Lines of NCCL and of torch's watchdog.
    pub nccl: u64,
    /// Lines in no format that is known.
    pub unknown: u64,
    /// Lines of which only the first 16 KiB were looked at.
    pub long: u64,
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Breaks or has broken the job.
    Fault,
    /// Slows it, or may be meant.
    Note,
}

/// Something that the logs show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name that does not change: `version-mismatch`, `parted`, ...
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence.
    pub title: String,
    /// What was measured or read.
    pub evidence: Vec<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// Who runs which version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Versions {
    /// As NCCL writes it.
    pub version: String,
    /// Ranks, hosts or files that say so.
    pub by: Vec<String>,
}

/// Pairs of ranks that talk over the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Transports {
    /// As `NET/IB GPU-direct`.
    pub transport: String,
    /// How many pairs, from one rank to another.
    pub pairs: usize,
    /// The first of them.
    pub examples: Vec<(u32, u32)>,
}

/// What many logs say together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// `nanscope.logs/1`.
    pub schema: &'static str,
    /// Files, in the order given.
    pub files: Vec<FileRead>,
    /// Processes of NCCL that have written.
    pub processes: usize,
    /// The size of the largest communicator; absent where none was announced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u32>,
    /// Communicators that were announced.
    pub communicators: usize,
    /// Versions of NCCL.
    pub versions: Vec<Versions>,
    /// What ranks talk over.
    pub transports: Vec<Transports>,
    /// Faults first.
    pub findings: Vec<Finding>,
    /// Lines in no format that is known, as they are; the first 1000.
    pub unknown: Vec<String>,
    /// What was not read or not kept.
    pub problems: Vec<String>,
}
