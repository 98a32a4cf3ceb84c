//! From the trip back to where the bad value was born.

use nanscope_trace::schema::{Arg, Entry, Ledger, Phase, Source, Trip};

use crate::meant::{Meant, base, is_bad};

/// Where the first bad value that reaches the trip was born.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Birth {
    /// In an operator: its inputs were good.
    Entry {
        /// Its index.
        entry: usize,
    },
    /// Outside the step: an operator met it in one of its inputs.
    Outside {
        /// Index of the operator that met it first.
        entry: usize,
        /// Position among its inputs.
        input: usize,
    },
}

impl Birth {
    /// Index of the entry.
    pub fn entry(self) -> usize {
        match self {
            Birth::Entry { entry } | Birth::Outside { entry, .. } => entry,
        }
    }
}

/// An origin and the entries from it to the trip.
#[derive(Clone, Debug, PartialEq)]
pub struct Located {
    /// The first birth that reaches the trip.
    pub birth: Birth,
    /// Entry indices from the origin to the one that wrote the tripping value, both included.
    pub path: Vec<usize>,
    /// A backward birth that was traced to this forward entry, when the origin is such a one.
    pub surfaced: Option<usize>,
}

/// Operators in which a `-inf` that came with the data is not a mask: it meets other numbers there.
const MIXING: &[&str] = &[
    "addbmm",
    "addmm",
    "addmv",
    "baddbmm",
    "bmm",
    "convolution",
    "dot",
    "linear",
    "mean",
    "mkldnn_rnn_layer",
    "mm",
    "mv",
    "native_batch_norm",
    "native_group_norm",
    "native_layer_norm",
    "std",
    "var",
    "var_mean",
];

/// Follows bad values backwards from the trip. `None` when the ledger does not contain the bad value.
///
/// Of several births that reach the trip the earliest is the origin. A `-inf` that was meant is no birth, but where
/// every birth was meant the last of them is the answer.
pub fn locate(ledger: &Ledger, trip: &Trip) -> Option<Located> {
    let search = Search { ledger, meant: Meant::of(ledger) };
    let start = trip.entry.filter(|&entry| search.writes_bad(entry)).or_else(|| search.last_bad())?;
    let also = trip.also.iter().copied().filter(|&entry| search.writes_bad(entry));
    search.from(std::iter::once(start).chain(also).collect())
}

struct Search<'a> {
    ledger: &'a Ledger,
    meant: Meant,
}

/// How the search came to an entry.
#[derive(Clone, Copy)]
struct Step {
    towards_trip: Option<usize>,
    /// True for the step from a backward birth to its forward operator.
    healed: bool,
}

impl Search<'_> {
    fn entry(&self, index: usize) -> &Entry {
        &self.ledger.entries[index]
    }

    fn writes_bad(&self, index: usize) -> bool {
        self.ledger.entries.get(index).is_some_and(|entry| entry.outputs.iter().any(is_bad))
    }

    fn last_bad(&self) -> Option<usize> {
        (0..self.ledger.entries.len()).rev().find(|&i| self.writes_bad(i) && !self.meant.entry(i))
    }

    /// The first start is what tripped, the others are gradients that are bad as well.
    fn from(&self, starts: Vec<usize>) -> Option<Located> {
        let mut seen: Vec<Option<Step>> = vec![None; self.ledger.entries.len()];
        for &start in &starts {
            seen[start] = Some(Step { towards_trip: None, healed: false });
        }
        // The last is taken up first: what reaches the trip itself is followed before what reaches a gradient only.
        let mut todo: Vec<usize> = starts.into_iter().rev().collect();
        let mut births: Vec<Birth> = vec![];
        let mut meant_births: Vec<Birth> = vec![];
        while let Some(index) = todo.pop() {
            let causes = self.causes(index);
            for &(earlier, healed) in &causes.entries {
                if earlier < self.ledger.entries.len() && seen[earlier].is_none() {
                    seen[earlier] = Some(Step { towards_trip: Some(index), healed });
                    todo.push(earlier);
                }
            }
            births.extend(&causes.outside);
            if causes.entries.is_empty() && causes.outside.is_empty() {
                let list = if self.meant.entry(index) { &mut meant_births } else { &mut births };
                list.push(Birth::Entry { entry: index });
            }
        }
        let birth =
            births.into_iter().min_by_key(|b| b.entry()).or(meant_births.into_iter().max_by_key(|b| b.entry()))?;
        let mut path = vec![birth.entry()];
        let mut surfaced = None;
        while let Some(Step { towards_trip: Some(next), healed }) = seen[path[path.len() - 1]] {
            if healed {
                surfaced.get_or_insert(next);
            }
            path.push(next);
        }
        Some(Located { birth, path, surfaced })
    }

    /// What made the outputs of entry `index` bad: earlier entries, values from outside, or (nothing) the entry itself.
    fn causes(&self, index: usize) -> Causes {
        let entry = self.entry(index);
        let mut causes = Causes::default();
        for (input, arg) in entry.inputs.iter().enumerate().filter(|(_, arg)| is_bad(arg)) {
            let meant = self.meant.arg(arg);
            match (arg.from, &arg.source) {
                (Some(writer), _) if !meant && writer < index => causes.entries.push((writer, false)),
                (None, Some(_)) if !meant || self.is_mixed_data(entry, arg) => {
                    causes.outside.push(Birth::Outside { entry: index, input });
                }
                _ => {}
            }
        }
        // A value that was healed in forward poisons backward through the derivative at it.
        if causes.entries.is_empty()
            && causes.outside.is_empty()
            && entry.phase == Phase::Backward
            && let Some(forward) = entry.forward
            && self.writes_bad(forward)
            && !self.meant.entry(forward)
        {
            causes.entries.push((forward, true));
        }
        causes
    }

    fn is_mixed_data(&self, entry: &Entry, arg: &Arg) -> bool {
        matches!(arg.source, Some(Source::Data { .. }))
            && MIXING.contains(&base(&entry.op))
            && !(arg.name == "self" && entry.op.contains("add"))
    }
}

#[derive(Default)]
struct Causes {
    entries: Vec<(usize, bool)>,
    outside: Vec<Birth>,
}
