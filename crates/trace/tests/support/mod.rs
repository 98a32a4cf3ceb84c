//! A small run with one record of every kind, and sinks that are not files.
#![allow(dead_code, missing_docs, unreachable_pub)]

use std::io;
use std::path::Path;

use nanscope_trace::*;

pub fn info() -> RunInfo {
    RunInfo {
        schema: "nanscope.run/1".into(),
        script: "train.py".into(),
        argv: vec!["--epochs".into(), "3".into()],
        cwd: "/home/user".into(),
        devices: vec!["cpu".into()],
        world_size: 1,
        ..RunInfo::default()
    }
}

pub fn step(i: u64) -> StepRecord {
    StepRecord {
        step: i,
        nanos: 1_000_000 * (i + 1),
        watch_nanos: 2_000,
        loss: (i != 2).then_some(2.5 / (i + 1) as f64),
        grad_norm: Some(0.1),
        lr: Some(1e-3),
        skipped: i == 2,
        ..StepRecord::default()
    }
}

pub fn trip() -> Trip {
    Trip {
        step: 3,
        rank: 0,
        where_: Where::Gradient,
        name: Some("fc.weight".into()),
        kind: "nan".into(),
        loss: Some(Num(f64::INFINITY)),
        entry: None,
        also: vec![],
        alarm: None,
        place: None,
        apart: None,
    }
}

pub fn ledger() -> Ledger {
    Ledger { events: 4, operators: 9, faithful: true, method: "tape".into(), seconds: 0.1, ..Ledger::default() }
}

pub fn end() -> End {
    End {
        how: "stopped".into(),
        status: Some(1),
        steps: 3,
        seconds: 1.5,
        watch_seconds: 0.01,
        deserted: None,
        warnings: vec![],
    }
}

/// Bytes of a log with steps 0 to 2, a note, a trip, a ledger and an end; and where each frame ends.
pub fn log_bytes() -> (Vec<u8>, Vec<u64>) {
    let mut bytes = Vec::new();
    let mut writer =
        Writer::begin(Memory { bytes: &mut bytes, room: usize::MAX, stuck: false }, path(), &info()).unwrap();
    let mut ends = vec![writer.bytes()];
    for i in 0..3 {
        writer.step(&step(i)).unwrap();
        ends.push(writer.bytes());
    }
    writer.note("two records were dropped").unwrap();
    ends.push(writer.bytes());
    writer.trip(&trip()).unwrap();
    ends.push(writer.bytes());
    writer.ledger(&ledger()).unwrap();
    ends.push(writer.bytes());
    writer.end(&end()).unwrap();
    ends.push(writer.bytes());
    (bytes, ends)
}

pub fn read(bytes: &[u8]) -> Result<Log, Error> {
    Log::read_from(bytes, bytes.len() as u64, path())
}

pub fn path() -> &'static Path {
    Path::new("rank-0.log")
}

/// How many records a log holds.
pub fn count(log: &Log) -> usize {
    usize::from(log.info.is_some())
        + log.steps.len()
        + log.notes.len()
        + log.trips.len()
        + log.ledgers.len()
        + usize::from(log.end.is_some())
        + log.raw.len()
}

/// Asserts that a log holds only records of `log_bytes`, each list a prefix of what was written.
pub fn assert_prefix(log: &Log) {
    let (bytes, _) = log_bytes();
    let all = read(&bytes).unwrap();
    assert!(log.info.is_none() || log.info == all.info);
    assert!(all.steps.starts_with(&log.steps));
    assert!(all.notes.starts_with(&log.notes));
    assert!(all.trips.starts_with(&log.trips));
    assert!(all.ledgers.starts_with(&log.ledgers));
    assert!(log.end.is_none() || log.end == all.end);
    assert!(log.raw.is_empty());
}

/// A disk of `room` bytes that takes what fits of a write, then fails; a stuck one refuses truncation too.
pub struct Memory<'a> {
    pub bytes: &'a mut Vec<u8>,
    pub room: usize,
    pub stuck: bool,
}

impl Sink for Memory<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = bytes.len().min(self.room - self.bytes.len());
        self.bytes.extend(&bytes[..fits]);
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        if self.stuck {
            return Err(io::ErrorKind::Other.into());
        }
        self.bytes.truncate(length as usize);
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
