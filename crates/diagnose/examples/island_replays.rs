//! Replays that ways of finding a planted island take: `cargo run --release -p nanscope-diagnose --example island_replays`.
//!
//! Among 200 units k are planted, at random: the step is finite when all of them are widened. `exact` counts the plants of
//! which the answer is the plant itself.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{Write, stdout};

use nanscope_diagnose::experiments::{IslandSearch, Next, Seen};

const UNITS: usize = 200;
const PLANTS: usize = 200;

/// How a plant is sought: the answer, and the replays that it took.
type Way = fn(&Plant) -> (BTreeSet<usize>, usize);

struct Plant {
    units: BTreeSet<usize>,
    replays: Cell<usize>,
}

impl Plant {
    /// SplitMix64, so that every run plants the same.
    fn random(k: usize, seed: &mut u64) -> Plant {
        let mut units = BTreeSet::new();
        while units.len() < k {
            *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = *seed;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            units.insert((z ^ (z >> 31)) as usize % UNITS);
        }
        Plant { units, replays: Cell::new(0) }
    }

    fn finite(&self, set: &BTreeSet<usize>) -> bool {
        self.replays.set(self.replays.get() + 1);
        self.units.is_subset(set)
    }
}

fn search(plant: &Plant, births: bool) -> (BTreeSet<usize>, usize) {
    let mut search = IslandSearch::new(UNITS, 1000);
    loop {
        match search.next() {
            Next::Found(island) => return (island.members.into_iter().collect(), island.replays),
            Next::Ask(asked) => {
                let set: BTreeSet<usize> = asked.iter().copied().collect();
                let birth = plant.units.iter().find(|unit| births && !set.contains(unit)).copied();
                search.answer(asked, Seen { finite: plant.finite(&set), birth });
            }
        }
    }
}

/// The shortest finite prefix, then its shortest finite suffix: one interval.
fn prefix_suffix(plant: &Plant) -> (BTreeSet<usize>, usize) {
    let bisect = |finite: &dyn Fn(usize) -> bool| {
        let (mut fails, mut works) = (0, UNITS);
        while works - fails > 1 {
            let middle = usize::midpoint(fails, works);
            *(if finite(middle) { &mut works } else { &mut fails }) = middle;
        }
        works
    };
    let end = bisect(&|n| plant.finite(&(0..n).collect()));
    let length = bisect(&|n| plant.finite(&(end.saturating_sub(n)..end).collect()));
    ((end.saturating_sub(length)..end).collect(), plant.replays.get())
}

/// Halves of a segment; where neither is enough, each is searched with the other held.
fn halving(plant: &Plant) -> (BTreeSet<usize>, usize) {
    fn inside(plant: &Plant, segment: &[usize], held: &BTreeSet<usize>) -> BTreeSet<usize> {
        if segment.len() == 1 {
            return segment.iter().copied().collect();
        }
        let (left, right) = segment.split_at(segment.len() / 2);
        let with = |half: &[usize]| half.iter().chain(held).copied().collect::<BTreeSet<usize>>();
        if plant.finite(&with(left)) {
            inside(plant, left, held)
        } else if plant.finite(&with(right)) {
            inside(plant, right, held)
        } else {
            let first = inside(plant, left, &with(right));
            let held = held.union(&first).copied().collect();
            first.union(&inside(plant, right, &held)).copied().collect()
        }
    }
    let all: Vec<usize> = (0..UNITS).collect();
    (inside(plant, &all, &BTreeSet::new()), plant.replays.get())
}

fn main() -> std::io::Result<()> {
    let ways: [(&str, Way); 4] = [
        ("along births", |plant| search(plant, true)),
        ("without births", |plant| search(plant, false)),
        ("segment halving", halving),
        ("prefix and suffix", prefix_suffix),
    ];
    let mut out = stdout();
    writeln!(out, "| way | members | replays, median | most | exact | members in the answer, median |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    for (name, way) in ways {
        for k in [1, 2, 3, 5] {
            let mut seed = k as u64;
            let found: Vec<(usize, usize, bool)> = (0..PLANTS)
                .map(|_| {
                    let plant = Plant::random(k, &mut seed);
                    let (answer, replays) = way(&plant);
                    (replays, answer.len(), answer == plant.units)
                })
                .collect();
            let sorted = |pick: fn(&(usize, usize, bool)) -> usize| {
                let mut all: Vec<usize> = found.iter().map(pick).collect();
                all.sort_unstable();
                all
            };
            let (replays, sizes) = (sorted(|x| x.0), sorted(|x| x.1));
            let exact = found.iter().filter(|x| x.2).count();
            let (half, most) = (replays[PLANTS / 2], replays[PLANTS - 1]);
            writeln!(out, "| {name} | {k} | {half} | {most} | {exact}/{PLANTS} | {} |", sizes[PLANTS / 2])?;
        }
    }
    Ok(())
}
