use crate::{Mode, Simulation};

/// Choices that are looked at before the search for the best says what it has.
pub const NODES_MAX: usize = 40_000;

/// The cheapest choice that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Best {
    /// Blocks to run again, ascending.
    pub blocks: Vec<usize>,
    /// Seconds that they take.
    pub seconds: f64,
    /// Whether it is proved that none is cheaper; false where the choices that could be looked at were not enough.
    pub exact: bool,
}

/// The choice of blocks that takes the least time (`seconds` of each block) with a peak of at most `limit` bytes, among those that the
/// first `nodes` branches lead to; None where none was found.
///
/// Branch and bound. A branch ends where even the least that its open blocks could need is too much, or where what it must still
/// save at its peak, block by block as if nothing were shared, costs as much as the best choice so far.
pub fn best(simulation: &Simulation, seconds: &[f64], limit: u64, nodes: usize) -> Option<Best> {
    let start = simulation.peak(&simulation.modes(|_| Mode::Kept));
    let gains = simulation.gains(start.tick, seconds.len());
    let mut order: Vec<usize> = (0..seconds.len()).collect();
    // What frees the most for its time comes first; of equals the earlier block, whose memory waits the longest.
    order.sort_by(|&a, &b| {
        let worth = |at: usize| gains[at] as f64 / seconds[at].max(f64::MIN_POSITIVE);
        worth(b).total_cmp(&worth(a)).then(a.cmp(&b))
    });
    let mut search = Search { simulation, seconds, limit, order, found: None, left: nodes };
    search.visit(0, &mut vec![Mode::Open; seconds.len()], 0.0);
    let exact = search.left > 0;
    search.found.map(|(blocks, seconds)| Best { blocks, seconds, exact })
}

/// The choice with the smallest peak that single changes lead to from the better of none and all, and that peak in bytes.
pub fn least(simulation: &Simulation, blocks: usize) -> (Vec<usize>, u64) {
    let peak = |again: &[bool]| simulation.peak(&simulation.modes(|b| mode(again[b]))).bytes;
    let mut best = vec![false; blocks];
    let mut bytes = peak(&best);
    let all = vec![true; blocks];
    if peak(&all) < bytes {
        (bytes, best) = (peak(&all), all);
    }
    loop {
        let before = bytes;
        for block in 0..blocks {
            best[block] = !best[block];
            let now = peak(&best);
            if now < bytes {
                bytes = now;
            } else {
                best[block] = !best[block];
            }
        }
        if bytes == before {
            return ((0..blocks).filter(|&block| best[block]).collect(), bytes);
        }
    }
}

fn mode(again: bool) -> Mode {
    if again { Mode::Again } else { Mode::Kept }
}

struct Search<'a> {
    simulation: &'a Simulation,
    seconds: &'a [f64],
    limit: u64,
    order: Vec<usize>,
    found: Option<(Vec<usize>, f64)>,
    left: usize,
}

impl Search<'_> {
    fn visit(&mut self, depth: usize, chosen: &mut Vec<Mode>, spent: f64) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        if self.simulation.peak(&self.simulation.modes(|b| chosen[b])).bytes > self.limit {
            return;
        }
        let closed = |b: usize| if chosen[b] == Mode::Again { Mode::Again } else { Mode::Kept };
        let peak = self.simulation.peak(&self.simulation.modes(closed));
        if peak.bytes <= self.limit {
            if self.found.as_ref().is_none_or(|(_, best)| spent < *best) {
                let blocks = (0..chosen.len()).filter(|&b| chosen[b] == Mode::Again).collect();
                self.found = Some((blocks, spent));
            }
            return;
        }
        let Some(&block) = self.order.get(depth) else { return };
        let open = &self.order[depth..];
        let gains = self.simulation.gains(peak.tick, chosen.len());
        let Some(more) = at_least(peak.bytes - self.limit, open, &gains, self.seconds) else { return };
        // Sums of the same seconds in another order differ in their last digits.
        if self.found.as_ref().is_some_and(|(_, best)| (spent + more) * (1.0 + 1e-9) >= *best) {
            return;
        }
        for mode in [Mode::Again, Mode::Kept] {
            chosen[block] = mode;
            let cost = if mode == Mode::Again { self.seconds[block] } else { 0.0 };
            self.visit(depth + 1, chosen, spent + cost);
        }
        chosen[block] = Mode::Open;
    }
}

/// Seconds without which no choice among `open` blocks frees `bytes`; None where all of them free less.
///
/// The larger of two bounds: as many blocks as the largest gains need, at the smallest prices; and the best gain for its price first,
/// the last block in part.
fn at_least(bytes: u64, open: &[usize], gains: &[u64], seconds: &[f64]) -> Option<f64> {
    let mut largest: Vec<u64> = open.iter().map(|&b| gains[b]).collect();
    largest.sort_unstable_by(|a, b| b.cmp(a));
    let (mut sum, mut count) = (0, 0);
    while sum < bytes {
        sum += largest.get(count)?;
        count += 1;
    }
    let mut prices: Vec<f64> = open.iter().filter(|&&b| gains[b] > 0).map(|&b| seconds[b]).collect();
    prices.sort_by(f64::total_cmp);
    let whole: f64 = prices.iter().take(count).sum();
    let mut worth: Vec<(f64, u64)> =
        open.iter().filter(|&&b| gains[b] > 0).map(|&b| (seconds[b] / gains[b] as f64, gains[b])).collect();
    worth.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut left, mut part) = (bytes, 0.0);
    for (price, gain) in worth {
        let taken = gain.min(left);
        part += price * taken as f64;
        left -= taken;
    }
    Some(whole.max(part))
}
