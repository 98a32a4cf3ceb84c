use std::io;
use std::path::PathBuf;

use crate::frame::VERSION;

/// What can go wrong with a run folder: where, what was expected, what was met.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum Error {
    #[error("cannot write the run folder {path}: {source}; choose another with --out DIR")]
    Folder { path: PathBuf, source: io::Error },

    #[error(
        "cannot write the run folder {path}: expected no log of rank {rank} in it, got one; choose another with --out DIR"
    )]
    Taken { path: PathBuf, rank: u32 },

    #[error("cannot write {path}: {source}; the records before this one are kept")]
    Write { path: PathBuf, source: io::Error },

    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },

    #[error("{path} is not a run folder: expected a file rank-0.log in it, got {got}")]
    NotRun { path: PathBuf, got: &'static str },

    #[error("{path} is not a log of nanscope: expected it to begin with NANSCOPE, got {got}")]
    NotLog { path: PathBuf, got: String },

    #[error(
        "{path} was written by another version of nanscope: expected format {VERSION} or older, got {got}; update nanscope"
    )]
    Version { path: PathBuf, got: u16 },

    #[error("expected {expected} as JSON, got: {source}")]
    Json { expected: &'static str, source: serde_json::Error },

    #[error("expected a record of JSON (trip, ledger, end or note), got kind {got}")]
    NotJson { got: u8 },

    #[error("expected a record below 4 GiB, got {got_bytes} bytes")]
    TooLarge { got_bytes: usize },
}

impl Error {
    /// Kind of the system's error, when the system refused something; absent when the data was at fault.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Error::Folder { source, .. } | Error::Write { source, .. } | Error::Read { source, .. } => {
                Some(source.kind())
            }
            Error::Taken { .. } => Some(io::ErrorKind::AlreadyExists),
            Error::NotRun { .. } => Some(io::ErrorKind::NotFound),
            _ => None,
        }
    }
}
