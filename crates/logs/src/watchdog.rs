//! What the watchdogs of the ranks have said: who waited for what, and who never came.

use std::collections::{BTreeMap, BTreeSet};

use crate::fact::{Reached, Timeout};
use crate::scan::words;

/// Collectives that are remembered.
const MOST: usize = 10_000;

/// How one rank saw a collective that timed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// `ALLREDUCE` and the like.
    pub(crate) op: String,
    /// Elements in and out.
    pub(crate) elements: Option<(u64, u64)>,
    /// Milliseconds that were allowed.
    pub(crate) limit_ms: u64,
    /// Milliseconds that it ran.
    pub(crate) ran_ms: u64,
}

/// Last enqueued, last completed.
type Progress = (Option<u64>, Option<u64>);

/// What the watchdogs of all ranks have said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watchdogs {
    timeouts: BTreeMap<(u64, String, u32), Seen>,
    reached: BTreeMap<(String, u32), Progress>,
    about: BTreeMap<(u32, u64), BTreeSet<String>>,
    /// Lines beyond what is remembered.
    pub(crate) dropped: u64,
}

/// A collective that timed out on some ranks.
#[derive(Clone, Debug)]
pub(crate) struct TimedOut {
    /// The process group; empty where no line says.
    pub(crate) group: String,
    /// Its number there.
    pub(crate) seq: u64,
    /// By rank.
    pub(crate) seen: BTreeMap<u32, Seen>,
    /// Ranks that had not even enqueued it, and the last that they had.
    pub(crate) late: BTreeMap<u32, u64>,
}

impl Watchdogs {
    pub(crate) fn timeout(&mut self, found: &Timeout) {
        if self.timeouts.len() >= MOST {
            self.dropped += 1;
            return;
        }
        let key = (found.seq, words(found.group, 120), found.rank.unwrap_or(u32::MAX));
        let seen =
            Seen { op: words(found.op, 60), elements: found.elements, limit_ms: found.limit_ms, ran_ms: found.ran_ms };
        self.timeouts.entry(key).or_insert(seen);
    }

    pub(crate) fn reached(&mut self, found: &Reached) {
        if self.reached.len() >= MOST || self.about.len() >= MOST {
            self.dropped += 1;
            return;
        }
        let group = words(found.group, 120);
        if let Some(seq) = found.at {
            self.about.entry((found.rank, seq)).or_default().insert(group.clone());
        }
        let progress = self.reached.entry((group, found.rank)).or_insert((None, None));
        *progress = (progress.0.max(found.enqueued), progress.1.max(found.completed));
    }

    /// The collectives that timed out, the earliest of each group first.
    pub(crate) fn timed_out(&self) -> Vec<TimedOut> {
        let mut found: BTreeMap<(String, u64), BTreeMap<u32, Seen>> = BTreeMap::new();
        for ((seq, group, rank), seen) in &self.timeouts {
            // A later line of the rank names the group.
            let named = self.about.get(&(*rank, *seq)).filter(|groups| groups.len() == 1);
            let group = match named.and_then(|groups| groups.first()) {
                Some(named) if group.is_empty() => named,
                _ => group,
            };
            found.entry((group.clone(), *seq)).or_default().insert(*rank, seen.clone());
        }
        let late = |group: &str, seq: u64| {
            let of_group = self.reached.iter().filter(|((name, _), _)| name == group);
            let last = of_group.filter_map(|((_, rank), (enqueued, _))| Some((*rank, (*enqueued)?)));
            last.filter(|(_, enqueued)| *enqueued < seq).collect()
        };
        found.into_iter().map(|((group, seq), seen)| TimedOut { late: late(&group, seq), group, seq, seen }).collect()
    }

    /// Ranks that have said anything.
    pub(crate) fn ranks(&self) -> BTreeSet<u32> {
        let timeouts = self.timeouts.keys().map(|(_, _, rank)| *rank).filter(|rank| *rank != u32::MAX);
        timeouts.chain(self.reached.keys().map(|(_, rank)| *rank)).collect()
    }
}
