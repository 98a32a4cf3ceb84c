use crate::Trace;

/// What becomes of one region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// What it keeps for backward stays in memory.
    Kept,
    /// Its inputs stay, and it is run again in backward.
    Again,
    /// Not decided. Counted with the least that either choice needs at any moment: a bound from below.
    Open,
}

/// The largest sum of living memory, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Bytes that the step has made and that are alive together; what is resident is not among them.
    pub bytes: u64,
    /// The tick; a recomputation stands at the tick at which backward asks for it.
    pub tick: usize,
}

/// A step whose regions can be switched between [`Mode`]s: who keeps which memory until when, worked out once.
///
/// Running a region again at the tick `asked` takes the memory of its forward pass up to the last tensor that it keeps, which is
/// where `torch.utils.checkpoint` stops early; what it keeps lives until backward has used it.
pub struct Simulation {
    ticks: usize,
    blocks: Vec<usize>, // of each region: its block, or usize::MAX
    fixed: Vec<i64>,    // change of living bytes at each tick that no mode alters
    shared: Vec<Shared>,
    again: Vec<Again>,
}

/// Memory whose end depends on modes.
struct Shared {
    bytes: i64,
    born: usize,
    end: usize,                     // whatever the modes
    kept: Vec<(Vec<usize>, usize)>, // regions, all of which must be `Kept`, and the end of what they keep then
    input: Vec<(usize, usize)>,     // a region that is `Again`, and when it lets go of its inputs
}

#[derive(Default)]
struct Again {
    asked: Option<usize>,
    inner: i64,                // most that is alive at once while it is run again
    copies: Vec<(i64, usize)>, // what it keeps then, and until when
}

impl Simulation {
    /// Of one trace.
    pub fn new(trace: &Trace) -> Self {
        let inside = |region: usize, tick: usize| {
            let region = &trace.regions[region];
            region.begin <= tick && tick < region.end
        };
        let mut held: Vec<Vec<(Vec<usize>, usize)>> = vec![Vec::new(); trace.storages.len()];
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); trace.regions.len()];
        for (at, holder) in trace.holders.iter().enumerate() {
            let regions: Vec<usize> = (0..trace.regions.len()).filter(|&r| inside(r, holder.packed)).collect();
            for &region in &regions {
                members[region].push(at);
            }
            if let Some(storage) = holder.storage {
                held[storage].push((regions, holder.released.unwrap_or(trace.ticks)));
            }
        }
        let released = |at: usize| trace.holders[at].released.unwrap_or(trace.ticks);
        let mut input: Vec<Vec<(usize, usize)>> = vec![Vec::new(); trace.storages.len()];
        for (at, region) in trace.regions.iter().enumerate() {
            if let Some(last) = members[at].iter().map(|&h| released(h)).max() {
                for &storage in &region.inputs {
                    input[storage].push((at, last));
                }
            }
        }
        let again = (0..trace.regions.len()).map(|at| again(trace, at, &members[at])).collect();
        let (mut fixed, mut shared) = (vec![0; trace.ticks + 1], Vec::new());
        for ((storage, held), input) in trace.storages.iter().zip(held).zip(input) {
            let own = storage.died.unwrap_or(trace.ticks);
            let end = held.iter().filter(|(regions, _)| regions.is_empty()).map(|&(_, end)| end).fold(own, usize::max);
            let kept: Vec<_> =
                held.into_iter().filter(|(regions, until)| !regions.is_empty() && *until > end).collect();
            let input: Vec<_> = input.into_iter().filter(|&(_, until)| until > end).collect();
            let bytes = i64::try_from(storage.bytes).unwrap_or(i64::MAX);
            fixed[storage.born] += bytes;
            if kept.is_empty() && input.is_empty() {
                fixed[end] -= bytes;
            } else {
                shared.push(Shared { bytes, born: storage.born, end, kept, input });
            }
        }
        let blocks = trace.regions.iter().map(|region| region.block.unwrap_or(usize::MAX)).collect();
        Simulation { ticks: trace.ticks, blocks, fixed, shared, again }
    }

    /// Modes of all regions where block `b` has the mode `of(b)` and what the program itself checkpoints is kept.
    pub fn modes(&self, of: impl Fn(usize) -> Mode) -> Vec<Mode> {
        self.blocks.iter().map(|&block| if block == usize::MAX { Mode::Kept } else { of(block) }).collect()
    }

    /// Modes of the program as it is: what it checkpoints is run again.
    pub fn as_is(&self) -> Vec<Mode> {
        self.blocks.iter().map(|&block| if block == usize::MAX { Mode::Again } else { Mode::Kept }).collect()
    }

    /// The peak under these modes of the regions.
    pub fn peak(&self, modes: &[Mode]) -> Peak {
        let mut change = self.fixed.clone();
        for one in &self.shared {
            change[one.end(modes)] -= one.bytes;
        }
        let mut inner: Vec<(usize, i64)> = Vec::new();
        for (again, mode) in self.again.iter().zip(modes) {
            let (Mode::Again, Some(asked)) = (mode, again.asked) else { continue };
            inner.push((asked, again.inner));
            for &(bytes, until) in &again.copies {
                change[asked] += bytes;
                change[until.max(asked)] -= bytes;
            }
        }
        inner.sort_unstable();
        let (mut level, mut peak, mut next) = (0, Peak { bytes: 0, tick: 0 }, 0);
        for (tick, by) in change.iter().enumerate() {
            let mut top = level;
            while next < inner.len() && inner[next].0 == tick {
                top = top.max(level + inner[next].1);
                next += 1;
            }
            level += by;
            let bytes = u64::try_from(top.max(level)).unwrap_or(0);
            if bytes > peak.bytes {
                peak = Peak { bytes, tick };
            }
        }
        peak
    }

    /// Upper bound of the bytes that running each of `blocks` blocks again would free at a tick.
    pub(crate) fn gains(&self, tick: usize, blocks: usize) -> Vec<u64> {
        let mut gains = vec![0; blocks];
        let mut counted = vec![usize::MAX; blocks];
        for (at, one) in self.shared.iter().enumerate() {
            if one.born > tick || one.end > tick {
                continue;
            }
            for region in one.kept.iter().filter(|(_, until)| *until > tick).flat_map(|(regions, _)| regions) {
                let block = self.blocks[*region];
                if block < blocks && counted[block] != at {
                    counted[block] = at;
                    gains[block] += u64::try_from(one.bytes).unwrap_or(0);
                }
            }
        }
        gains
    }

    /// Ticks of the step.
    pub fn ticks(&self) -> usize {
        self.ticks
    }
}

impl Shared {
    fn end(&self, modes: &[Mode]) -> usize {
        let kept = self.kept.iter().filter(|(regions, _)| regions.iter().all(|&r| modes[r] == Mode::Kept));
        let input = self.input.iter().filter(|&&(r, _)| modes[r] == Mode::Again);
        kept.map(|&(_, until)| until).chain(input.map(|&(_, until)| until)).fold(self.end, usize::max)
    }
}

/// What running a region again takes. `members` are the indices of what was kept within it.
fn again(trace: &Trace, region: usize, members: &[usize]) -> Again {
    let span = &trace.regions[region];
    let Some(stop) = members.iter().map(|&at| trace.holders[at].packed).max() else { return Again::default() };
    let asked = members.iter().filter_map(|&at| trace.holders[at].unpacked).min();
    let mut until = std::collections::HashMap::new();
    for &at in members {
        let holder = &trace.holders[at];
        if let Some(storage) = holder.storage {
            let end = until.entry(storage).or_insert(0);
            *end = holder.released.unwrap_or(trace.ticks).max(*end);
        }
    }
    let (mut change, mut copies) = (vec![0; stop + 2 - span.begin], Vec::new());
    for (at, storage) in trace.storages.iter().enumerate() {
        if !(span.begin..stop).contains(&storage.born) {
            continue;
        }
        let bytes = i64::try_from(storage.bytes).unwrap_or(i64::MAX);
        change[storage.born - span.begin] += bytes;
        match until.get(&at) {
            Some(&end) => copies.push((bytes, end)),
            None => change[storage.died.unwrap_or(stop).min(stop) + 1 - span.begin] -= bytes,
        }
    }
    let (mut level, mut inner) = (0, 0);
    for by in change {
        level += by;
        inner = inner.max(level);
    }
    Again { asked, inner, copies }
}
