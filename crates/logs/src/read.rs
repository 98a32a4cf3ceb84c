use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use aho_corasick::{AhoCorasick, MatchKind};

use crate::fact::Fact;
use crate::job::Job;
use crate::lines::Lines;
use crate::pickle::{Refused, plain};
use crate::recorder::{Dump, rank_of};
use crate::scan::words;
use crate::summary::{FileRead, Kind};
use crate::{nccl, torch};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 18;
/// Bytes of a dump, which is read whole: torch keeps some thousand entries, a few MB.
const DUMP_BYTES: u64 = 64 << 20;
/// Lines of each sort that are kept as they are.
const KEPT: usize = 1_000;

/// What makes a line worth a second look. The order is that of [`Logs::fact`].
const MARKS: [&str; 8] = [
    "NCCL INFO ",
    "NCCL WARN ",
    "NCCL version ",
    "WorkNCCL(",
    "last enqueued ",
    "Timed out after ",
    "wait timeout after ",
    "Socket Timeout",
];

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The system says no.
    #[error("{path}: {source}")]
    System {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// A folder was named.
    #[error("{0}: expected a file, got a folder; name the files in it")]
    Folder(PathBuf),
    /// It is compressed.
    #[error("{path}: expected a log or a dump, got a file compressed with {with}; unpack it first")]
    Compressed {
        /// The file.
        path: PathBuf,
        /// The program.
        with: &'static str,
    },
    /// A dump that is no dump, or is cut.
    #[error("{path}: expected a flight-recorder dump as JSON, got: {source}")]
    Json {
        /// The file.
        path: PathBuf,
        /// What the parser says, with line and column.
        source: serde_json::Error,
    },
    /// A pickle that is more than plain data, or is cut.
    #[error("{path}: {source}")]
    Pickle {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Refused,
    },
    /// A dump that is far larger than torch writes them.
    #[error("{path}: expected a dump of at most {DUMP_BYTES} bytes, got {got}")]
    Large {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        got: u64,
    },
    /// A dump of which nobody knows the rank.
    #[error("{0}: the dump names no rank; expected one at the end of the file name, as in nccl_trace_rank_3")]
    NoRank(PathBuf),
}

/// Reads logs and dumps, one after another, into one picture. Memory is bounded whatever their size.
#[derive(Debug)]
pub struct Logs {
    marks: AhoCorasick,
    pub(crate) job: Job,
    pub(crate) files: Vec<FileRead>,
    pub(crate) problems: Vec<String>,
    pub(crate) unknown: Vec<String>,
}

impl Default for Logs {
    fn default() -> Logs {
        let marks = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(MARKS);
        Logs {
            marks: marks.expect("a few short words are no large automaton"),
            job: Job::default(),
            files: Vec::new(),
            problems: Vec::new(),
            unknown: Vec::new(),
        }
    }
}

impl Logs {
    /// Reads a file of whatever kind: a log is streamed, a dump is read whole.
    ///
    /// # Errors
    /// [`Unreadable`]. What was read before stays, also of this file.
    pub fn read(&mut self, path: &Path) -> Result<(), Unreadable> {
        let failed = |source| Unreadable::System { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(Unreadable::Folder(path.to_owned()));
        }
        let mut chunk = vec![0; CHUNK];
        let first = fill(&mut file, &mut chunk).map_err(failed)?;
        let head = &chunk[..first];
        for (magic, with) in [
            (&b"\x1f\x8b"[..], "gzip"),
            (b"\x28\xb5\x2f\xfd", "zstd"),
            (b"BZh", "bzip2"),
            (b"\xfd7zXZ", "xz"),
            (b"PK\x03\x04", "zip"),
        ] {
            if head.starts_with(magic) {
                return Err(Unreadable::Compressed { path: path.to_owned(), with });
            }
        }
        let kind = Kind::of(head);
        if kind == Kind::Log {
            return self.stream(path, file, chunk, first).map_err(failed);
        }
        let mut whole = head.to_vec();
        file.take(DUMP_BYTES + 1 - whole.len() as u64).read_to_end(&mut whole).map_err(failed)?;
        if whole.len() as u64 > DUMP_BYTES {
            return Err(Unreadable::Large { path: path.to_owned(), got: about.len() });
        }
        self.dump(path, &whole, kind)
    }

    fn stream(&mut self, path: &Path, mut file: File, mut chunk: Vec<u8>, first: usize) -> io::Result<()> {
        let name = path.display().to_string();
        let mut lines = Lines::default();
        let mut read =
            FileRead { path: name.clone(), kind: Kind::Log, bytes: 0, lines: 0, nccl: 0, unknown: 0, long: 0 };
        let mut filled = first;
        let mut outcome = Ok(());
        while filled > 0 {
            read.bytes += filled as u64;
            lines.push(&chunk[..filled], |line| self.line(line, &mut read));
            filled = match fill(&mut file, &mut chunk) {
                Ok(filled) => filled,
                Err(error) => {
                    outcome = Err(error);
                    0
                }
            };
        }
        lines.end(|line| self.line(line, &mut read));
        read.long = lines.long;
        self.files.push(read);
        outcome
    }

    fn dump(&mut self, path: &Path, bytes: &[u8], kind: Kind) -> Result<(), Unreadable> {
        let not_json = |source| Unreadable::Json { path: path.to_owned(), source };
        let dump: Dump = match kind {
            Kind::Pickle => {
                let value = plain(bytes).map_err(|source| Unreadable::Pickle { path: path.to_owned(), source })?;
                serde_json::from_value(value).map_err(not_json)?
            }
            _ => serde_json::from_slice(bytes).map_err(not_json)?,
        };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if let Some(version) = dump.comm_lib_version.as_ref().filter(|version| !version.is_empty()) {
            self.job.versions.entry(version.clone()).or_default().insert(path.display().to_string());
        }
        if !self.job.recorders.take(dump, rank_of(&stem)) {
            return Err(Unreadable::NoRank(path.to_owned()));
        }
        let (path, bytes) = (path.display().to_string(), bytes.len() as u64);
        self.files.push(FileRead { path, kind, bytes, lines: 0, nccl: 0, unknown: 0, long: 0 });
        Ok(())
    }

    fn line(&mut self, line: &[u8], read: &mut FileRead) {
        read.lines += 1;
        let fact = self.fact(line);
        if fact == Fact::Unknown {
            read.unknown += u64::from(!line.is_empty());
            if self.unknown.len() < KEPT && !line.is_empty() {
                self.unknown.push(words(line, 400));
            }
            return;
        }
        read.nccl += 1;
        self.job.take(&fact, &read.path);
    }

    fn fact<'a>(&self, line: &'a [u8]) -> Fact<'a> {
        let Some(mark) = self.marks.find(line) else { return Fact::Unknown };
        let (head, body) = (&line[..mark.start()], &line[mark.end()..]);
        match mark.pattern().as_usize() {
            0 => match body.strip_prefix(b"NCCL version ") {
                Some(version) => nccl::version(head, version),
                None => nccl::info(head, body),
            },
            1 => nccl::warn(head, body),
            2 => nccl::version(head, body),
            3 => torch::timeout(line, mark.end()).unwrap_or(Fact::Unknown),
            4 => torch::reached(line, mark.start()).unwrap_or(Fact::Unknown),
            _ => Fact::Store(line),
        }
    }

    /// Names a file that could not be read in the summary.
    pub fn problem(&mut self, text: String) {
        self.problems.push(text);
    }
}

impl Kind {
    /// By the first bytes: a pickle has its protocol there, a dump in JSON one of its keys.
    fn of(head: &[u8]) -> Kind {
        if let [0x80, 2..=5, ..] = head {
            return Kind::Pickle;
        }
        // Protocols 0 and 1 of Python say nothing at the beginning; only what would run something looks like this.
        if head.starts_with(b"c") && begins_with_global(head) {
            return Kind::Pickle;
        }
        let start = head.trim_ascii_start();
        let has = |key: &[u8]| memchr::memmem::find(&start[..start.len().min(4096)], key).is_some();
        if start.starts_with(b"{") && (has(b"\"entries\"") || has(b"\"pg_config\"") || has(b"\"pg_status\"")) {
            return Kind::Json;
        }
        Kind::Log
    }
}

/// `cmodule\nname\n` and the next opcode: no log begins so.
fn begins_with_global(head: &[u8]) -> bool {
    let mut lines = head.splitn(3, |byte| *byte == b'\n');
    let mut name = || {
        lines
            .next()
            .filter(|line| !line.is_empty() && line.iter().all(|b| b.is_ascii_alphanumeric() || b"_.".contains(b)))
    };
    let named = name().is_some() && name().is_some();
    named
        && lines
            .next()
            .is_some_and(|rest| rest.starts_with(b"(") || rest.starts_with(b"p0\n") || rest.starts_with(b"q"))
}

/// Reads until the buffer is full or the file is over: what kind of file it is must not hang on how a pipe is cut.
fn fill(file: &mut File, chunk: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < chunk.len() {
        match file.read(&mut chunk[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
