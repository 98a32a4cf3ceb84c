use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use crate::schema::{Ledger, Report, RunInfo, Trip};
use crate::{Error, Log, REPORT_FILE};

/// A run folder, read: the logs of all ranks and the report, if one was written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// The folder.
    pub dir: PathBuf,
    /// Logs by rank, lowest first; at least one. Those of processes that the program has started come after its own.
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
        let mut run = Run::read(dir, log_paths(dir)?)?;
        let path = dir.join(REPORT_FILE);
        if path.exists() {
            match read_report(&path) {
                Ok(report) => run.report = Some(report),
                Err(reason) => run.unread.push(format!("{}: {reason}", path.display())),
            }
        }
        Ok(run)
    }

    /// Reads the parts of one run that were gathered from several folders; what each has reported by itself is left out.
    ///
    /// # Errors
    /// As [`Run::open`], of the first folder that is none.
    pub fn gather(dirs: &[PathBuf]) -> Result<Run, Error> {
        let mut paths = Vec::new();
        for dir in dirs {
            paths.extend(log_paths(dir)?);
        }
        Run::read(&dirs[0], paths)
    }

    fn read(dir: &Path, paths: Vec<PathBuf>) -> Result<Run, Error> {
        let mut run = Run { dir: dir.to_owned(), ..Run::default() };
        let mut first_error = None;
        for read in read_all(&paths) {
            match read {
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
        Ok(run)
    }

    /// The logs of processes that took part, each with the number of its group: ranks that ran at the same time. A process
    /// that only started others is left out.
    pub fn parts(&self) -> Vec<(usize, &Log)> {
        let nested = |log: &Log| log.path.parent().and_then(group_of);
        let any_nested = self.logs.iter().any(|log| nested(log).is_some());
        let took_part =
            |log: &&Log| nested(log).is_some() || !any_nested || !log.steps.is_empty() || !log.trips.is_empty();
        // The process itself may be one of the first ranks that it has started.
        self.logs.iter().filter(took_part).map(|log| (nested(log).unwrap_or(1), log)).collect()
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

/// Reads logs in the order of their paths, several at a time: a job of a thousand ranks is as many files.
fn read_all(paths: &[PathBuf]) -> Vec<Result<Log, Error>> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(paths.len());
    if threads < 2 {
        return paths.iter().map(|path| Log::read(path)).collect();
    }
    let next = AtomicUsize::new(0);
    let share = || {
        let mut read = Vec::new();
        while let Some((at, path)) = Some(next.fetch_add(1, Relaxed)).and_then(|at| Some((at, paths.get(at)?))) {
            read.push((at, Log::read(path)));
        }
        read
    };
    let mut read: Vec<_> = thread::scope(|scope| {
        let readers: Vec<_> = (0..threads).map(|_| scope.spawn(share)).collect();
        readers.into_iter().flat_map(|reader| reader.join().expect("reading a log does not panic")).collect()
    });
    read.sort_unstable_by_key(|(at, _)| *at);
    read.into_iter().map(|(_, log)| log).collect()
}

/// The files `rank-N.log` of a folder and of the folders `ranks`, `ranks-2`, ... in it, by group and N.
fn log_paths(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let none = |got| Error::NotRun { path: dir.to_owned(), got };
    let failed = |source| Error::Read { path: dir.to_owned(), source };
    if !dir.is_dir() {
        return Err(none(if dir.exists() { "a file" } else { "no such folder" }));
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        match group_of(&path).filter(|_| path.is_dir()) {
            Some(group) => {
                for inner in fs::read_dir(&path).map_err(failed)? {
                    let inner = inner.map_err(failed)?;
                    let rank = inner.file_name().to_str().and_then(rank_of);
                    found.extend(rank.map(|rank| (group, rank, inner.path())));
                }
            }
            None => {
                let rank = entry.file_name().to_str().and_then(rank_of);
                found.extend(rank.map(|rank| (0, rank, path)));
            }
        }
    }
    if found.is_empty() {
        return Err(none("a folder without one"));
    }
    found.sort();
    Ok(found.into_iter().map(|(.., path)| path).collect())
}

/// Number of a folder `ranks` or `ranks-N`.
fn group_of(path: &Path) -> Option<usize> {
    match path.file_name()?.to_str()?.strip_prefix("ranks")? {
        "" => Some(1),
        more => more.strip_prefix('-')?.parse().ok(),
    }
}

fn rank_of(name: &str) -> Option<u32> {
    name.strip_prefix("rank-")?.strip_suffix(".log")?.parse().ok()
}

fn read_report(path: &Path) -> Result<Report, String> {
    let text = fs::read(path).map_err(|error| error.to_string())?;
    serde_json::from_slice(&text).map_err(|error| format!("expected a report as JSON, got: {error}"))
}
