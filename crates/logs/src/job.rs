//! The picture of a job that its lines make: processes, communicators, transports, warnings.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::collectives::{Collectives, Shared};
use crate::fact::{Collective, Fact, Init, Writer};
use crate::recorder::Recorders;
use crate::scan::words;
use crate::transport::Set;
use crate::watchdog::Watchdogs;

/// Processes, communicators, ranks in them, pairs of ranks and variables that are remembered, each.
const MOST: usize = 100_000;
const MOST_WARNINGS: usize = 1_000;
const MOST_NETWORKS: usize = 16;

/// What one process has said of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Process {
    pub(crate) host: String,
    pub(crate) pid: u64,
    pub(crate) version: Option<String>,
    pub(crate) driver: Option<u64>,
    pub(crate) network: BTreeSet<String>,
    pub(crate) variables: BTreeMap<String, String>,
    /// Rank and size of the largest communicator that it is in.
    pub(crate) rank: Option<(u32, u32)>,
    seats: HashMap<u64, Seat>,
    begun: HashMap<(u32, u32), usize>,
}

#[derive(Clone, Copy, Debug)]
struct Seat {
    comm: usize,
    rank: u32,
    complete: bool,
}

/// A communicator, as all its ranks see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comm {
    /// As NCCL names it, where it does.
    pub(crate) id: Option<u64>,
    pub(crate) nranks: u32,
    /// Ranks that have announced it, and whether they were ready.
    pub(crate) ranks: BTreeMap<u32, bool>,
    /// Two processes claim the same rank: several communicators that cannot be told apart.
    pub(crate) mixed: bool,
    pub(crate) collectives: Collectives,
}

/// Warnings that differ in numbers only.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warned {
    pub(crate) example: String,
    pub(crate) count: u64,
    pub(crate) processes: BTreeSet<usize>,
}

/// The picture of a job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Job {
    pub(crate) processes: Vec<Process>,
    by_name: HashMap<Vec<u8>, usize>,
    latest: Option<(Vec<u8>, usize)>,
    name: Vec<u8>,
    pub(crate) comms: Vec<Comm>,
    seats: usize,
    variables: usize,
    by_id: HashMap<(Option<u64>, u32, usize), usize>,
    pub(crate) pairs: BTreeMap<(u32, u32), Set>,
    pub(crate) warnings: BTreeMap<String, Warned>,
    pub(crate) stores: Warned,
    pub(crate) watchdogs: Watchdogs,
    pub(crate) recorders: Recorders,
    pub(crate) shared: Shared,
    /// Versions on lines that name no process, by file.
    pub(crate) versions: BTreeMap<String, BTreeSet<String>>,
    /// Collectives on communicators that no line has announced.
    pub(crate) strange: u64,
    /// Facts beyond what is remembered.
    pub(crate) dropped: u64,
}

impl Job {
    /// Takes what a line of `file` says.
    pub(crate) fn take(&mut self, fact: &Fact, file: &str) {
        match *fact {
            Fact::Version(Some(writer), version) => {
                let version = words(version, 60);
                self.with(writer, |process| process.version = Some(version));
            }
            Fact::Version(None, version) => {
                if self.versions.len() < MOST_WARNINGS {
                    self.versions.entry(words(version, 60)).or_default().insert(file.to_owned());
                }
            }
            Fact::Driver(writer, version) => self.with(writer, |process| process.driver = Some(version)),
            Fact::Network(writer, name) => {
                let name = words(name, 60);
                self.with(writer, |process| {
                    if process.network.len() < MOST_NETWORKS {
                        process.network.insert(name);
                    }
                });
            }
            Fact::Variable(writer, name, value) => {
                let (name, value) = (words(name, 80), words(value, 200));
                if self.variables < MOST {
                    self.variables += 1;
                    self.with(writer, |process| {
                        process.variables.insert(name, value);
                    });
                } else {
                    self.dropped += 1;
                }
            }
            Fact::Channel(from, to, via) => {
                if self.pairs.len() < MOST || self.pairs.contains_key(&(from, to)) {
                    let known = self.pairs.entry((from, to)).or_default();
                    *known = known.and(Set::of(via));
                } else {
                    self.dropped += 1;
                }
            }
            Fact::Init(writer, init) => self.init(writer, init),
            Fact::Collective(writer, found) => self.collective(writer, &found),
            Fact::Warning(writer, text) => self.warning(writer, text),
            Fact::Timeout(found) => self.watchdogs.timeout(&found),
            Fact::Reached(found) => self.watchdogs.reached(&found),
            Fact::Store(line) => {
                self.stores.count += 1;
                if self.stores.example.is_empty() {
                    self.stores.example = words(line, 400);
                }
            }
            Fact::Known | Fact::Unknown => {}
        }
    }

    fn process(&mut self, writer: Writer) -> Option<usize> {
        self.name.clear();
        self.name.extend_from_slice(&writer.pid.to_le_bytes());
        self.name.extend_from_slice(writer.host);
        if let Some((name, at)) = &self.latest
            && *name == self.name
        {
            return Some(*at);
        }
        let at = match self.by_name.get(&self.name) {
            Some(at) => *at,
            None if self.processes.len() >= MOST => {
                self.dropped += 1;
                return None;
            }
            None => {
                let host = words(writer.host, 120);
                self.processes.push(Process { host, pid: writer.pid, ..Process::default() });
                self.by_name.insert(self.name.clone(), self.processes.len() - 1);
                self.processes.len() - 1
            }
        };
        self.latest = Some((self.name.clone(), at));
        Some(at)
    }

    fn with(&mut self, writer: Writer, change: impl FnOnce(&mut Process)) {
        if let Some(at) = self.process(writer) {
            change(&mut self.processes[at]);
        }
    }

    fn init(&mut self, writer: Writer, init: Init) {
        let Some(at) = self.process(writer) else { return };
        let process = &mut self.processes[at];
        if process.rank.is_none_or(|(_, size)| size < init.nranks) {
            process.rank = Some((init.rank, init.nranks));
        }
        if let Some(seat) = process.seats.get_mut(&init.comm)
            && init.complete
            && !seat.complete
            && seat.rank == init.rank
        {
            seat.complete = true;
            self.comms[seat.comm].ranks.insert(init.rank, true);
            return;
        }
        if self.comms.len() >= MOST || self.seats >= MOST {
            self.dropped += 1;
            return;
        }
        self.seats += 1;
        // Before NCCL 2.18 nothing names a communicator on all ranks: the first of its size on one is the first on another.
        let begun = process.begun.entry((init.rank, init.nranks)).or_default();
        let key = (init.id, init.nranks, if init.id.is_some() { 0 } else { *begun });
        *begun += 1;
        let comm = *self.by_id.entry(key).or_insert_with(|| {
            self.comms.push(Comm { id: init.id, nranks: init.nranks, ..Comm::default() });
            self.comms.len() - 1
        });
        process.seats.insert(init.comm, Seat { comm, rank: init.rank, complete: init.complete });
        self.comms[comm].mixed |= self.comms[comm].ranks.insert(init.rank, init.complete).is_some();
    }

    fn collective(&mut self, writer: Writer, found: &Collective) {
        let Some(at) = self.process(writer) else { return };
        let Some(seat) = self.processes[at].seats.get(&found.comm) else {
            self.strange += 1;
            return;
        };
        let comm = &mut self.comms[seat.comm];
        if !comm.mixed {
            comm.collectives.take(seat.rank, found, &mut self.shared);
        }
    }

    fn warning(&mut self, writer: Option<Writer>, text: &[u8]) {
        let text = words(text, 400);
        let mut pattern = String::with_capacity(text.len());
        let mut before = ' ';
        for c in text.chars() {
            // Addresses, ports and sizes differ, the warning is the same.
            let c = if c.is_ascii_digit() || (before == '#' && c.is_ascii_hexdigit()) { '#' } else { c };
            if c != '#' || before != '#' {
                pattern.push(c);
            }
            before = c;
        }
        let process = writer.and_then(|writer| self.process(writer));
        if self.warnings.len() >= MOST_WARNINGS && !self.warnings.contains_key(&pattern) {
            self.dropped += 1;
            return;
        }
        let warned = self.warnings.entry(pattern).or_default();
        if warned.count == 0 {
            warned.example = text;
        }
        warned.count += 1;
        warned.processes.extend(process);
    }

    /// The logs are over.
    pub(crate) fn finish(&mut self) {
        for comm in &mut self.comms {
            comm.collectives.finish(&mut self.shared);
        }
    }
}
