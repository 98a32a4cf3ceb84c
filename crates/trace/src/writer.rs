use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::frame::{self, FRAME_HEADER, Kind};
use crate::schema::{End, Ledger, Note, Outcomes, RunInfo, Skip, StepRecord, Trip};
use crate::step::{self, STEP_BYTES};
use crate::{Error, Sink, log_file};

/// Step records are kept back for this long, so that a program of fast steps does not pay a system call for each.
const HOLD: Duration = Duration::from_millis(20);

/// Step records kept back at the most.
const HOLD_BYTES: usize = 4096;

/// Appends records to the log of one rank; each goes to the system in one write, so a kill loses none of those written.
/// In a log made by [`Writer::create`] steps that follow each other within 20 ms share a write: a kill loses those at most.
///
/// The first write that fails is an error and ends the log at the last whole frame. Later calls do nothing, succeed, and
/// are counted by [`Writer::dropped`]: a full disk must not stop a training run.
#[derive(Debug)]
pub struct Writer<S: Sink = File> {
    path: PathBuf,
    // Absent after a failure or after `close`.
    sink: Option<S>,
    whole_bytes: u64,
    dropped: u64,
    failure: Option<String>,
    held: Vec<u8>,
    hold: Duration,
    last_write: Instant,
}

impl Writer {
    /// Makes the folder (and its parents) and begins `rank-N.log` in it, N being `info.rank`.
    ///
    /// # Errors
    /// [`Error::Taken`] when the folder holds a log of this rank, [`Error::Folder`] when it cannot be written.
    pub fn create(dir: &Path, info: &RunInfo) -> Result<Writer, Error> {
        let refused = |source| Error::Folder { path: dir.to_owned(), source };
        fs::create_dir_all(dir).map_err(refused)?;
        let path = dir.join(log_file(info.rank));
        let file =
            OpenOptions::new().append(true).create_new(true).open(&path).map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => Error::Taken { path: dir.to_owned(), rank: info.rank },
                _ => refused(source),
            })?;
        let begun = Writer::begin(file, &path, info).map(|mut writer| {
            writer.hold = HOLD;
            writer
        });
        begun.map_err(|error| {
            // An empty log would make the next run refuse the folder.
            let _ = fs::remove_file(&path);
            match error {
                Error::Write { source, .. } => refused(source),
                other => other,
            }
        })
    }

    /// Goes on with a log that was closed.
    ///
    /// # Errors
    /// [`Error::Write`] when it cannot be opened.
    pub fn resume(path: &Path) -> Result<Writer, Error> {
        let refused = |source| Error::Write { path: path.to_owned(), source };
        let file = OpenOptions::new().append(true).open(path).map_err(refused)?;
        let whole_bytes = file.metadata().map_err(refused)?.len();
        Ok(Writer {
            path: path.to_owned(),
            sink: Some(file),
            whole_bytes,
            dropped: 0,
            failure: None,
            held: Vec::new(),
            hold: Duration::ZERO,
            last_write: Instant::now(),
        })
    }
}

impl<S: Sink> Writer<S> {
    /// Begins a log in an empty sink; `path` is the name that errors give it.
    ///
    /// # Errors
    /// [`Error::Write`] when the sink does not take the first frame.
    pub fn begin(mut sink: S, path: &Path, info: &RunInfo) -> Result<Writer<S>, Error> {
        let json = to_json("the facts of a run", info)?;
        let mut bytes = frame::file_header().to_vec();
        bytes.extend(framed(Kind::RunInfo, json.as_bytes())?);
        sink.append(&bytes).map_err(|source| Error::Write { path: path.to_owned(), source })?;
        let whole_bytes = bytes.len() as u64;
        Ok(Writer {
            path: path.to_owned(),
            sink: Some(sink),
            whole_bytes,
            dropped: 0,
            failure: None,
            held: Vec::with_capacity(HOLD_BYTES),
            hold: Duration::ZERO,
            last_write: Instant::now(),
        })
    }

    /// Appends a step: 80 bytes, one write, no allocation but one after a shared write, no waiting for the disk.
    ///
    /// # Errors
    /// [`Error::Write`] once, for the write that fails.
    pub fn step(&mut self, record: &StepRecord) -> Result<(), Error> {
        let payload = step::encode(record);
        let header = frame::frame_header(Kind::Step, &payload).ok_or(Error::TooLarge { got_bytes: STEP_BYTES })?;
        let mut bytes = [0; FRAME_HEADER + STEP_BYTES];
        bytes[..FRAME_HEADER].copy_from_slice(&header);
        bytes[FRAME_HEADER..].copy_from_slice(&payload);
        if self.sink.is_some() && self.held.len() + bytes.len() <= HOLD_BYTES && self.last_write.elapsed() < self.hold {
            self.held.extend_from_slice(&bytes);
            return Ok(());
        }
        self.append(&bytes, false)
    }

    /// Appends a trip and waits until it is on the disk.
    ///
    /// # Errors
    /// As [`Writer::append_json`].
    pub fn trip(&mut self, trip: &Trip) -> Result<(), Error> {
        self.append_json(Kind::Trip, &to_json("a trip", trip)?)
    }

    /// Appends a ledger and waits until it is on the disk.
    ///
    /// # Errors
    /// As [`Writer::append_json`].
    pub fn ledger(&mut self, ledger: &Ledger) -> Result<(), Error> {
        self.append_json(Kind::Ledger, &to_json("a ledger", ledger)?)
    }

    /// Appends the end of the run and waits until it is on the disk.
    ///
    /// # Errors
    /// As [`Writer::append_json`].
    pub fn end(&mut self, end: &End) -> Result<(), Error> {
        self.append_json(Kind::End, &to_json("the end of a run", end)?)
    }

    /// Appends a warning. Does not wait for the disk.
    ///
    /// # Errors
    /// As [`Writer::append_json`].
    pub fn note(&mut self, text: &str) -> Result<(), Error> {
        self.append_json(Kind::Note, &to_json("a note", &Note { text: text.to_owned() })?)
    }

    /// Appends a record that is JSON already, as it is, after checking that a reader will take it.
    ///
    /// # Errors
    /// [`Error::Json`] for text that is not the record, [`Error::NotJson`] for a kind that is not JSON or opens the log,
    /// [`Error::Write`] once, for the write that fails.
    pub fn append_json(&mut self, kind: Kind, json: &str) -> Result<(), Error> {
        match kind {
            Kind::Trip => check::<Trip>("a trip", json),
            Kind::Ledger => check::<Ledger>("a ledger", json),
            Kind::End => check::<End>("the end of a run", json),
            Kind::Note => check::<Note>("a note", json),
            Kind::Outcomes => check::<Outcomes>("outcomes", json),
            Kind::Skip => check::<Skip>("an update left out", json),
            Kind::RunInfo | Kind::Step => Err(Error::NotJson { got: kind as u8 }),
        }?;
        self.append(&framed(kind, json.as_bytes())?, kind != Kind::Note)
    }

    /// Records that were not written, since a write failed or since [`Writer::close`].
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The message of the write that failed, if one did.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Path of the log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of the frames written, the file header included.
    pub fn bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// Writes the steps that wait for a later record. Does not wait for the disk.
    ///
    /// # Errors
    /// As [`Writer::step`].
    pub fn flush(&mut self) -> Result<(), Error> {
        if self.held.is_empty() { Ok(()) } else { self.append(&[], false) }
    }

    /// Waits for the disk and lets go of the file. Records that come later are dropped and counted.
    ///
    /// # Errors
    /// [`Error::Write`] when the disk refuses what it took before.
    pub fn close(&mut self) -> Result<(), Error> {
        self.flush()?;
        let Some(mut sink) = self.sink.take() else { return Ok(()) };
        sink.sync().map_err(|source| Error::Write { path: self.path.clone(), source })
    }

    /// Writes what is held and then `frame`, which may be empty.
    fn append(&mut self, frame: &[u8], wait: bool) -> Result<(), Error> {
        let Some(sink) = &mut self.sink else {
            self.dropped += 1;
            return Ok(());
        };
        let both;
        let records = u64::from(!frame.is_empty()) + (self.held.len() / (FRAME_HEADER + STEP_BYTES)) as u64;
        let bytes = if self.held.is_empty() {
            frame
        } else {
            self.held.extend_from_slice(frame);
            both = std::mem::take(&mut self.held);
            &both
        };
        let bytes: &[u8] = bytes;
        self.last_write = Instant::now();
        let written = sink.append(bytes).and_then(|()| if wait { sink.sync() } else { Ok(()) });
        if let Err(source) = written {
            // Readers drop a torn tail by themselves: a truncation that fails as well costs nothing.
            let _ = sink.truncate(self.whole_bytes);
            self.sink = None;
            self.dropped += records;
            let error = Error::Write { path: self.path.clone(), source };
            self.failure = Some(error.to_string());
            return Err(error);
        }
        self.whole_bytes += bytes.len() as u64;
        Ok(())
    }
}

fn framed(kind: Kind, payload: &[u8]) -> Result<Vec<u8>, Error> {
    let header = frame::frame_header(kind, payload).ok_or(Error::TooLarge { got_bytes: payload.len() })?;
    Ok([&header, payload].concat())
}

fn to_json<T: Serialize>(expected: &'static str, value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|source| Error::Json { expected, source })
}

fn check<T: DeserializeOwned>(expected: &'static str, json: &str) -> Result<(), Error> {
    serde_json::from_str::<T>(json).map(drop).map_err(|source| Error::Json { expected, source })
}
