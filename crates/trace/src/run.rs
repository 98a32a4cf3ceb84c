use std::fs;
use std::path::{Path, PathBuf};

use crate::schema::{Ledger, Report, RunInfo, Trip};
use crate::{Error, Log, REPORT_FILE};

/// A run folder, read: the logs of all ranks and the report, if one was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The folder.
    pub dir: PathBuf,
    /// Logs by rank, lowest first; at least one.
    pub logs: Vec<Log>,
    /// Absent when none was written or it cannot be read; then [`Run::problems`] says why.
    pub report: Option<Report>,
    unread: Vec<String>,
}

impl Run {
    /// Reads a run folder. What is damaged is left out and named by [`Run::problems`].
    ///
    /// # Errors
    /// [`Error::NotRun`] for a folder without a log; that of [`Log::read`] when no log can be read.
    pub fn open(dir: &Path) -> Result<Run, Error> {
        let mut run = Run { dir: dir.to_owned(), ..Run::default() };
        let mut first_error = None;
        for path in log_paths(dir)? {
            match Log::read(&path) {
                Ok(log) => run.logs.push(log),
                Err(error) => {
                    run.unread.push(error.to_string());
                    first_error.get_or_insert(error);
                }
            }
        }
        if let (true, Some(error)) = (run.logs.is_empty(), first_error) {
            return Err(error);
        }
        let path = dir.join(REPORT_FILE);
        if path.exists() {
            match read_report(&path) {
                Ok(report) => run.report = Some(report),
                Err(reason) => run.unread.push(format!("{}: {reason}", path.display())),
            }
        }
        Ok(run)
    }

    /// What is known of the run, by its lowest rank that says so.
    pub fn info(&self) -> Option<&RunInfo> {
        self.logs.iter().find_map(|log| log.info.as_ref())
    }

    /// The trips of all ranks, the earliest step first, then the lowest rank.
    pub fn trips(&self) -> Vec<&Trip> {
        let mut trips: Vec<_> = self.logs.iter().flat_map(|log| &log.trips).collect();
        trips.sort_by_key(|trip| (trip.step, trip.rank));
        trips
    }

    /// The ledgers of all ranks, lowest rank first.
    pub fn ledgers(&self) -> impl Iterator<Item = &Ledger> {
        self.logs.iter().flat_map(|log| &log.ledgers)
    }

    /// One line for each thing that could not be read: torn tails, unknown frames, a damaged report.
    pub fn problems(&self) -> Vec<String> {
        let mut lines = self.unread.clone();
        for log in &self.logs {
            let path = log.path.display();
            lines.extend(log.torn.iter().map(|t| format!("{path}: stopped at byte {}: {}", t.offset, t.reason)));
            lines.extend(
                log.raw.iter().map(|r| {
                    format!("{path}: left out the frame of kind {} at byte {}: {}", r.kind, r.offset, r.reason)
                }),
            );
        }
        lines
    }
}

/// The files `rank-N.log` of a folder, by N.
fn log_paths(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let none = |got| Error::NotRun { path: dir.to_owned(), got };
    let failed = |source| Error::Read { path: dir.to_owned(), source };
    if !dir.is_dir() {
        return Err(none(if dir.exists() { "a file" } else { "no such folder" }));
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let rank = entry.file_name().to_str().and_then(rank_of);
        found.extend(rank.map(|rank| (rank, entry.path())));
    }
    if found.is_empty() {
        return Err(none("a folder without one"));
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn rank_of(name: &str) -> Option<u32> {
    name.strip_prefix("rank-")?.strip_suffix(".log")?.parse().ok()
}

fn read_report(path: &Path) -> Result<Report, String> {
    let text = fs::read(path).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| format!("expected a report as JSON, got: {error}"))
}
