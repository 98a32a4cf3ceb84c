use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::frame::{self, FILE_HEADER, FRAME_HEADER, Kind};
use crate::schema::{End, Ledger, Note, Outcomes, RunInfo, Skip, StepRecord, Trip};
use crate::{Error, step};

/// The log of one rank, as far as it is whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// File that was read.
    pub path: PathBuf,
    /// Absent when the log was cut before its first frame ended.
    pub info: Option<RunInfo>,
    /// Completed steps, in the order written.
    pub steps: Vec<StepRecord>,
    /// Trips, in the order written.
    pub trips: Vec<Trip>,
    /// Ledgers, in the order written.
    pub ledgers: Vec<Ledger>,
    /// What was tried after a diagnosis, in the order written.
    pub outcomes: Vec<Outcomes>,
    /// Updates that a `GradScaler` has left out, in the order written; of ranks of a job only.
    pub skips: Vec<Skip>,
    /// Absent when the run was killed or goes on.
    pub end: Option<End>,
    /// Warnings, in the order written.
    pub notes: Vec<String>,
    /// Whole frames that this version cannot read: of a later kind, or with a payload of another schema.
    pub raw: Vec<Raw>,
    /// Where and why reading stopped before the end of the file.
    pub torn: Option<Torn>,
}

/// A frame that was written so but is not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw {
    /// Byte of the file at which the frame begins.
    pub offset: u64,
    /// Number of its kind.
    pub kind: u8,
    /// Its bytes.
    pub payload: Vec<u8>,
    /// What was expected and what was met.
    pub reason: String,
}

/// The end of the readable part of a log that is longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Byte of the file at which the first unreadable frame begins.
    pub offset: u64,
    /// As `the frame is cut: expected 80 bytes, got 17`.
    pub reason: String,
}

impl Log {
    /// Reads a log, dropping a tail that is cut or damaged: everything before it is there, and [`Log::torn`] says where.
    ///
    /// The file is streamed: memory is that of the records.
    ///
    /// # Errors
    /// [`Error::NotLog`] for another kind of file, [`Error::Version`] for a newer format, [`Error::Read`] for the system.
    pub fn read(path: &Path) -> Result<Log, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        let mut log = Log::read_from(BufReader::with_capacity(1 << 16, file), size, path)?;
        // A thousand ranks would keep a thousand times the room that growing has left.
        log.steps.shrink_to_fit();
        Ok(log)
    }

    /// Reads a log from any `size` bytes; `path` is the name that errors give them.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn read_from(mut source: impl Read, size: u64, path: &Path) -> Result<Log, Error> {
        let failed = |source| Error::Read { path: path.to_owned(), source };
        let mut log = Log { path: path.to_owned(), ..Log::default() };
        let mut head = Vec::new();
        (&mut source).take(FILE_HEADER as u64).read_to_end(&mut head).map_err(failed)?;
        if !check_header(&head, path)? {
            let reason = format!("the file header is cut: expected {FILE_HEADER} bytes, got {}", head.len());
            log.torn = Some(Torn { offset: 0, reason });
            return Ok(log);
        }
        let mut frames = Frames { source, size, offset: FILE_HEADER as u64, payload: Vec::new() };
        loop {
            let offset = frames.offset;
            match frames.next() {
                Ok(Some(kind)) => log.take(offset, kind, &frames.payload),
                Ok(None) => return Ok(log),
                Err(Stop::Torn(reason)) => {
                    log.torn = Some(Torn { offset, reason });
                    return Ok(log);
                }
                Err(Stop::System(error)) => return Err(failed(error)),
            }
        }
    }

    fn take(&mut self, offset: u64, kind: u8, payload: &[u8]) {
        let taken = match Kind::from_byte(kind) {
            Some(Kind::Step) => match step::decode(payload) {
                Some(record) => {
                    self.steps.push(record);
                    Ok(())
                }
                None => Err(format!("expected a step of {} bytes, got {}", step::STEP_BYTES, payload.len())),
            },
            Some(Kind::RunInfo) => json(payload).map(|info| self.info = Some(info)),
            Some(Kind::Trip) => json(payload).map(|trip| self.trips.push(trip)),
            Some(Kind::Ledger) => json(payload).map(|ledger| self.ledgers.push(ledger)),
            Some(Kind::End) => json(payload).map(|end| self.end = Some(end)),
            Some(Kind::Outcomes) => json(payload).map(|outcomes| self.outcomes.push(outcomes)),
            Some(Kind::Skip) => json(payload).map(|skip| self.skips.push(skip)),
            Some(Kind::Note) => json(payload).map(|Note { text }| self.notes.push(text)),
            None => Err("expected a kind that this version knows, got a later one".to_owned()),
        };
        if let Err(reason) = taken {
            self.raw.push(Raw { offset, kind, payload: payload.to_owned(), reason });
        }
    }
}

/// True for a header of a version that can be read, false for one that is cut.
fn check_header(head: &[u8], path: &Path) -> Result<bool, Error> {
    let expected = frame::file_header();
    let known = head.len().min(frame::MAGIC.len());
    if head[..known] != expected[..known] {
        let got = format!("\"{}\"", head.escape_ascii());
        return Err(Error::NotLog { path: path.to_owned(), got });
    }
    let Some(head) = head.first_chunk::<FILE_HEADER>() else { return Ok(false) };
    match u16::from_le_bytes([head[8], head[9]]) {
        1..=frame::VERSION => Ok(true),
        got => Err(Error::Version { path: path.to_owned(), got }),
    }
}

fn json<T: DeserializeOwned>(payload: &[u8]) -> Result<T, String> {
    serde_json::from_slice(payload).map_err(|error| format!("expected JSON of this schema, got: {error}"))
}

struct Frames<R> {
    source: R,
    size: u64,
    offset: u64,
    payload: Vec<u8>,
}

enum Stop {
    Torn(String),
    System(io::Error),
}

// A file that shrinks while it is read is torn, not an error of the system.
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Stop::Torn("the file became shorter while it was read".to_owned()),
            _ => Stop::System(error),
        }
    }
}

impl<R: Read> Frames<R> {
    /// Reads the next frame into `payload` and gives its kind; none at the end of the file.
    fn next(&mut self) -> Result<Option<u8>, Stop> {
        let left = self.size.saturating_sub(self.offset);
        if left == 0 {
            return Ok(None);
        }
        if left < FRAME_HEADER as u64 {
            return Err(Stop::Torn(format!("the frame header is cut: expected {FRAME_HEADER} bytes, got {left}")));
        }
        let mut header = [0; FRAME_HEADER];
        self.source.read_exact(&mut header)?;
        let length = frame::payload_length(&header);
        let whole = FRAME_HEADER as u64 + u64::from(length);
        // Checked before the allocation: a damaged length never asks for more than the file holds.
        if whole > left {
            return Err(Stop::Torn(format!("the frame is cut: expected {whole} bytes, got {left}")));
        }
        self.payload.resize(length as usize, 0);
        self.source.read_exact(&mut self.payload)?;
        if !frame::is_whole(&header, &self.payload) {
            return Err(Stop::Torn("the frame is damaged: its checksum does not fit".to_owned()));
        }
        self.offset += whole;
        Ok(Some(header[4]))
    }
}
