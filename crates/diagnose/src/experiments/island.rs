//! The smallest set of units (modules, then lines) that must run in a wider format for the step to be finite.

use std::collections::BTreeSet;

use super::Next;
use super::answers::{Answers, Halt};

/// Units that grow the first guess; beyond it the order of calls is bisected.
const GROWN_MAX: usize = 12;
/// Disjoint islands that are looked for beside the first.
const ALTERNATIVES_MAX: usize = 2;

type Set = BTreeSet<usize>;

/// What one replay with some units in the wider format has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether what tripped was finite.
    pub finite: bool,
    /// Unit in which the first bad value was born, if one was.
    pub birth: Option<usize>,
}

/// What the search has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Island {
    /// Units, ascending; empty where even all units in the wider format do not help, or the search ended before it knew.
    pub members: Vec<usize>,
    /// True when a replay without any one of the members was seen to fail.
    pub minimal: bool,
    /// Other sets that do, none sharing a unit with `members` or another; each 1-minimal.
    pub alternatives: Vec<Vec<usize>>,
    /// A set that is finite and a larger one, around it, that is not.
    pub not_monotone: Option<(Vec<usize>, Vec<usize>)>,
    /// Replays.
    pub replays: usize,
}

/// A search over units `0..units`, numbered in the order in which they are called first.
///
/// The guess follows the births: the unit that gives birth to the first bad value is widened, then the one that does so in
/// the next replay, until the step is finite. Where a birth leads nowhere (what it shows was lost earlier), the shortest
/// finite prefix of the units is bisected for its last member, again and again. Then every member is dropped once.
/// For k members among n units that takes about 2k + 3 replays along births, and k log2(n) + 2k + 3 without them.
#[derive(Clone, Debug)]
pub struct IslandSearch {
    units: usize,
    answers: Answers<Vec<usize>, Seen>,
}

impl IslandSearch {
    /// A search that may ask for `limit` replays.
    pub fn new(units: usize, limit: usize) -> Self {
        IslandSearch { units, answers: Answers::new(limit) }
    }

    /// The next set to be run in the wider format, or the end.
    pub fn next(&self) -> Next<Vec<usize>, Island> {
        let mut island = Island::default();
        match self.search(&mut island) {
            Err(Halt::Ask(set)) => Next::Ask(set),
            Ok(()) | Err(Halt::Spent) => {
                island.replays = self.answers.len();
                island.not_monotone = self.not_monotone();
                Next::Found(island)
            }
        }
    }

    /// The outcome of the replay with `set` (ascending) in the wider format.
    pub fn answer(&mut self, set: Vec<usize>, seen: Seen) {
        self.answers.put(set, seen);
    }

    fn ask(&self, set: &Set) -> Result<Seen, Halt<Vec<usize>>> {
        self.answers.ask(&set.iter().copied().collect())
    }

    fn finite(&self, set: &Set) -> Result<bool, Halt<Vec<usize>>> {
        Ok(self.ask(set)?.finite)
    }

    fn search(&self, island: &mut Island) -> Result<(), Halt<Vec<usize>>> {
        let all: Set = (0..self.units).collect();
        if self.finite(&Set::new())? || !self.finite(&all)? {
            return Ok(());
        }
        let enough = match self.grow()? {
            Some(set) => set,
            None => self.bisect(&all)?,
        };
        island.members = enough.iter().copied().collect();
        let members = self.minimise(enough)?;
        island.members = members.iter().copied().collect();
        island.minimal = true;
        let mut rest: Set = &all - &members;
        while island.alternatives.len() < ALTERNATIVES_MAX && !rest.is_empty() && self.finite(&rest)? {
            let other = self.minimise(self.bisect(&rest)?)?;
            rest = &rest - &other;
            island.alternatives.push(other.into_iter().collect());
        }
        Ok(())
    }

    /// From birth to birth to a finite set; `None` where a birth is in the set already, or was not seen.
    fn grow(&self) -> Result<Option<Set>, Halt<Vec<usize>>> {
        let mut set = Set::new();
        loop {
            let seen = self.ask(&set)?;
            if seen.finite {
                return Ok(Some(set));
            }
            match seen.birth {
                Some(unit) if unit < self.units && set.len() < GROWN_MAX && set.insert(unit) => {}
                _ => return Ok(None),
            }
        }
    }

    /// A finite subset of `of`, which is finite itself: the last member of the shortest finite prefix, then the last one of
    /// what must come before it, and so on.
    fn bisect(&self, of: &Set) -> Result<Set, Halt<Vec<usize>>> {
        let mut fixed = Set::new();
        let mut rest: Vec<usize> = of.iter().copied().collect();
        while !self.finite(&fixed)? {
            let (mut fails, mut finite) = (0, rest.len());
            while finite - fails > 1 {
                let middle = usize::midpoint(fails, finite);
                let prefix = rest[..middle].iter().copied().chain(fixed.iter().copied()).collect();
                *(if self.finite(&prefix)? { &mut finite } else { &mut fails }) = middle;
            }
            rest.truncate(finite);
            let Some(last) = rest.pop() else { break }; // `of` itself has failed this time: not monotone
            fixed.insert(last);
        }
        Ok(fixed)
    }

    /// Drops members until none can be dropped.
    fn minimise(&self, mut set: Set) -> Result<Set, Halt<Vec<usize>>> {
        'again: loop {
            for &unit in &set {
                let mut without = set.clone();
                without.remove(&unit);
                if self.finite(&without)? {
                    set = without;
                    continue 'again;
                }
            }
            return Ok(set);
        }
    }

    fn not_monotone(&self) -> Option<(Vec<usize>, Vec<usize>)> {
        let known: Vec<(Set, &Vec<usize>, bool)> =
            self.answers.iter().map(|(set, seen)| (set.iter().copied().collect(), set, seen.finite)).collect();
        for (small, smaller, _) in known.iter().filter(|(.., finite)| *finite) {
            let around = known.iter().find(|(large, _, finite)| !finite && small.is_subset(large));
            if let Some((_, larger, _)) = around {
                return Some(((*smaller).clone(), (*larger).clone()));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search to its end; `births` says whether a replay shows where the first bad value was born.
    fn run(units: usize, limit: usize, births: bool, finite: impl Fn(&[usize]) -> Result<(), usize>) -> Island {
        let mut search = IslandSearch::new(units, limit);
        loop {
            match search.next() {
                Next::Found(island) => return island,
                Next::Ask(set) => {
                    let outcome = finite(&set);
                    search.answer(set, Seen { finite: outcome.is_ok(), birth: outcome.err().filter(|_| births) });
                }
            }
        }
    }

    /// Every planted unit must be in the set; the first that is not gives birth.
    fn planted(plant: &[usize]) -> impl Fn(&[usize]) -> Result<(), usize> {
        move |set| plant.iter().find(|unit| !set.contains(unit)).map_or(Ok(()), |&unit| Err(unit))
    }

    const PLANTS: [&[usize]; 6] = [&[0], &[199], &[17, 183], &[3, 90, 91], &[0, 50, 101, 150, 199], &[5, 6, 7, 8, 9]];

    #[test]
    fn planted_islands_are_found_along_births() {
        for plant in PLANTS {
            let island = run(200, 60, true, planted(plant));
            assert_eq!((island.members.as_slice(), island.minimal), (plant, true));
            assert!(island.replays <= 2 * plant.len() + 3, "{plant:?}: {}", island.replays);
        }
    }

    #[test]
    fn planted_islands_are_found_without_births() {
        for plant in PLANTS {
            let island = run(200, 60, false, planted(plant));
            assert_eq!((island.members.as_slice(), island.minimal), (plant, true));
            assert!(island.replays <= 60, "{plant:?}: {}", island.replays);
            assert_eq!(island.not_monotone, None);
        }
    }

    #[test]
    fn a_birth_that_leads_nowhere_costs_a_bisection() {
        // The digits are lost in unit 40; what shows is in unit 120.
        let island = run(200, 60, true, |set| if set.contains(&40) { Ok(()) } else { Err(120) });
        assert_eq!((island.members, island.minimal), (vec![40], true));
    }

    #[test]
    fn another_island_is_an_alternative() {
        let either = |set: &[usize]| {
            if set.contains(&7) || (set.contains(&20) && set.contains(&30)) { Ok(()) } else { Err(7) }
        };
        let island = run(64, 60, true, either);
        assert_eq!((island.members, island.alternatives), (vec![7], vec![vec![20, 30]]));
    }

    #[test]
    fn no_island_is_no_answer() {
        let island = run(8, 60, true, |_| Err(3));
        assert_eq!((island.members, island.minimal, island.replays), (vec![], false, 2));
    }

    #[test]
    fn what_is_not_monotone_is_said() {
        let island = run(3, 60, true, |set| match set {
            [1] | [1, 2] | [0, 1, 2] => Ok(()),
            [] => Err(0),
            [0] => Err(1),
            _ => Err(2),
        });
        assert_eq!((island.members, island.minimal), (vec![1], true));
        assert_eq!(island.not_monotone, Some((vec![1], vec![0, 1])));
        assert_eq!(run(3, 60, true, planted(&[1])).not_monotone, None);
    }

    #[test]
    fn a_spent_search_says_that_its_answer_may_not_be_minimal() {
        let island = run(200, 7, true, planted(&[0, 50, 101, 150, 199]));
        assert_eq!((island.members.len(), island.minimal, island.replays), (5, false, 7));
        let island = run(200, 5, true, planted(&[0, 50, 101, 150, 199]));
        assert_eq!((island.members.len(), island.minimal), (0, false));
    }
}
