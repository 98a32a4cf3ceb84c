//! The collectives of one communicator, rank beside rank.
//!
//! The first rank to name an operation says what it should be; every other rank is compared with that as its lines come,
//! whether the logs are read one after another or as one. Four bytes are kept for an operation, whatever the number of ranks.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::fact::Collective;
use crate::scan::words;

/// Operations that are remembered, over all communicators: 96 MB.
const MOST: usize = 24_000_000;
/// Kinds of operations that can be told in words.
const KINDS: usize = 20_000;

/// Budget and words that all communicators share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    kept: usize,
    kinds: HashMap<u32, String>,
    /// Operations that were not compared, for want of room.
    pub(crate) dropped: u64,
}

/// What one rank has done on a communicator.
#[derive(Clone, Debug, Default)]
struct Course {
    current: Option<u64>,
    kind: u32,
    seen: u64,
    pairwise: u64,
    from_start: bool,
    last: Option<u64>,
    last_kind: u32,
    parted: bool,
}

/// The collectives of one communicator.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collectives {
    base: Option<u64>,
    reference: Vec<u32>,
    courses: BTreeMap<u32, Course>,
    parted: Option<(u64, BTreeMap<u32, u32>)>,
}

/// The first operation in which ranks differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parted {
    /// `opCount`, counted without what two ranks send each other.
    pub(crate) at: u64,
    /// What was done, and by which ranks; the most ranks first.
    pub(crate) sides: Vec<(String, Vec<u32>)>,
}

/// Ranks whose log stops before that of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Behind {
    /// The last operation of those ahead.
    pub(crate) ahead: u64,
    /// Ranks behind: last operation, and what it was.
    pub(crate) ranks: BTreeMap<u32, (Option<u64>, String)>,
}

impl Collectives {
    /// A rank enqueues something.
    pub(crate) fn take(&mut self, rank: u32, found: &Collective, shared: &mut Shared) {
        if self.courses.get(&rank).is_none_or(|course| course.current != Some(found.count)) {
            self.close(rank, shared);
            let course = self.courses.entry(rank).or_default();
            course.from_start |= course.seen == 0 && found.count == 0;
            course.seen += 1;
            course.current = Some(found.count);
            course.kind = 0;
        }
        if found.is_pairwise() {
            return;
        }
        let Some(course) = self.courses.get_mut(&rank) else { return };
        let before = course.kind;
        let mut hasher = DefaultHasher::new();
        (before, found.op, found.elements, found.dtype, found.reduction, found.root).hash(&mut hasher);
        // 0 is no kind.
        course.kind = hasher.finish() as u32 | 1;
        if shared.kinds.len() < KINDS && !shared.kinds.contains_key(&course.kind) {
            let text = match shared.kinds.get(&before) {
                Some(before) if before.len() < 200 => format!("{before} + {}", describe(found)),
                Some(before) => format!("{before} ..."),
                None => describe(found),
            };
            shared.kinds.insert(course.kind, text);
        }
    }

    /// The operations that a rank has enqueued under its current number are complete.
    fn close(&mut self, rank: u32, shared: &mut Shared) {
        let Some(course) = self.courses.get_mut(&rank) else { return };
        let Some(count) = course.current.take() else { return };
        if course.kind == 0 {
            course.pairwise += 1;
            return;
        }
        // Pairs of ranks count on their own.
        let Some(at) = count.checked_sub(course.pairwise).filter(|_| course.pairwise == 0 || course.from_start) else {
            return;
        };
        let kind = course.kind;
        if course.last <= Some(at) {
            course.last = Some(at);
            course.last_kind = kind;
        }
        if course.parted {
            return;
        }
        let base = *self.base.get_or_insert(at);
        let Some(index) = at.checked_sub(base).and_then(|index| usize::try_from(index).ok()) else {
            shared.dropped += 1;
            return;
        };
        match self.reference.get_mut(index) {
            Some(0) => self.reference[index] = kind,
            Some(known) if *known == kind => {}
            Some(_) => {
                course.parted = true;
                match &mut self.parted {
                    Some((first, kinds)) if *first == at => {
                        kinds.insert(rank, kind);
                    }
                    Some((first, _)) if *first < at => {}
                    parted => *parted = Some((at, BTreeMap::from([(rank, kind)]))),
                }
            }
            None => {
                let more = index + 1 - self.reference.len();
                if more > MOST || shared.kept + more > MOST {
                    shared.dropped += 1;
                    return;
                }
                shared.kept += more;
                self.reference.resize(index, 0);
                self.reference.push(kind);
            }
        }
    }

    /// The logs are over.
    pub(crate) fn finish(&mut self, shared: &mut Shared) {
        let ranks: Vec<u32> = self.courses.keys().copied().collect();
        for rank in ranks {
            self.close(rank, shared);
        }
    }

    /// Whether any rank has enqueued anything.
    pub(crate) fn any(&self) -> bool {
        self.base.is_some()
    }

    /// The first operation in which ranks differ.
    pub(crate) fn parted(&self, shared: &Shared) -> Option<Parted> {
        let (at, others) = self.parted.as_ref()?;
        let expected = self.reference[usize::try_from(at - self.base?).ok()?];
        let mut sides: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (rank, course) in &self.courses {
            let kind = others.get(rank).copied().unwrap_or(expected);
            if course.last >= Some(*at) {
                sides.entry(kind).or_default().push(*rank);
            }
        }
        let mut sides: Vec<(String, Vec<u32>)> = sides
            .into_iter()
            .map(|(kind, ranks)| (shared.kinds.get(&kind).cloned().unwrap_or_default(), ranks))
            .collect();
        sides.sort_by_key(|(text, ranks)| (usize::MAX - ranks.len(), text.clone()));
        Some(Parted { at: *at, sides })
    }

    /// Ranks that stop before others do.
    pub(crate) fn behind(&self, shared: &Shared) -> Option<Behind> {
        let ahead = self.courses.values().filter_map(|course| course.last).max()?;
        let ranks: BTreeMap<_, _> = self
            .courses
            .iter()
            .filter(|(_, course)| course.last < Some(ahead))
            .map(|(rank, course)| {
                let last = shared.kinds.get(&course.last_kind).cloned().unwrap_or_default();
                (*rank, (course.last, last))
            })
            .collect();
        (!ranks.is_empty()).then_some(Behind { ahead, ranks })
    }
}

/// As `AllReduce of 1048576 float32, sum`.
fn describe(found: &Collective) -> String {
    const DTYPES: [&str; 12] = [
        "int8",
        "uint8",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "float8_e4m3",
        "float8_e5m2",
    ];
    const REDUCTIONS: [&str; 5] = ["sum", "prod", "max", "min", "avg"];
    let op = words(found.op, 40);
    let dtype = usize::try_from(found.dtype).ok().and_then(|at| DTYPES.get(at).copied()).unwrap_or("elements");
    let reduction = usize::try_from(found.reduction).ok().and_then(|at| REDUCTIONS.get(at).copied());
    let more = match (op.as_str(), reduction) {
        ("AllReduce" | "ReduceScatter", Some(reduction)) => format!(", {reduction}"),
        ("Reduce", Some(reduction)) => format!(", {reduction}, root {}", found.root),
        ("Broadcast", _) => format!(", root {}", found.root),
        _ => String::new(),
    };
    format!("{op} of {} {dtype}{more}", found.elements)
}
