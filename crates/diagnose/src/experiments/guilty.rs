//! Which samples of a batch make the step fail.

use std::collections::BTreeSet;

use super::Next;
use super::answers::{Answers, Halt};

/// Samples that are tried as the one that stands in for the others.
const STAND_INS_MAX: usize = 3;
/// Guilty samples of which each is shown to fail by itself.
const EACH_MAX: usize = 8;

type Set = BTreeSet<usize>;

/// A replay in which `samples` are as they are and every other sample is a copy of `stand_in`. The batch keeps its size, so
/// that shapes and the program's own numbers hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub struct Kept {
    pub samples: Vec<usize>,
    pub stand_in: usize,
}

/// What one replay has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Whether what tripped was finite.
    pub finite: bool,
    /// Samples whose rows are bad in the first bad result that has a row for each sample; empty where none has.
    pub rows: Vec<usize>,
}

/// What the search has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Samples {
    /// The guilty samples, ascending; empty where no sample in particular is to blame.
    pub guilty: Vec<usize>,
    /// The step is finite without them: that was seen.
    pub enough: bool,
    /// Each of them fails without the others: that was seen.
    pub each: bool,
    /// Replays.
    pub replays: usize,
}

/// A search over samples `0..n`.
///
/// The rows of the first bad result are the guess: it is confirmed by a replay without them, and by one with each alone.
/// That takes k + 2 replays for k guilty samples that show at one place, one more for each further place. Where rows show
/// nothing, samples are tested in groups: about k log2(n) + k + 2 replays.
#[derive(Clone, Debug)]
pub struct GuiltySearch {
    n: usize,
    answers: Answers<Kept, Shown>,
}

impl GuiltySearch {
    /// A search that may ask for `limit` replays.
    pub fn new(n: usize, limit: usize) -> Self {
        GuiltySearch { n, answers: Answers::new(limit) }
    }

    /// The next batch to be run, or the end.
    pub fn next(&self) -> Next<Kept, Samples> {
        let mut found = Samples::default();
        match self.search(&mut found) {
            Err(Halt::Ask(kept)) => Next::Ask(kept),
            Ok(()) | Err(Halt::Spent) => {
                found.replays = self.answers.len();
                Next::Found(found)
            }
        }
    }

    /// The outcome of the replay of `kept`.
    pub fn answer(&mut self, kept: Kept, shown: Shown) {
        self.answers.put(kept, shown);
    }

    fn ask(&self, samples: impl Iterator<Item = usize>, stand_in: usize) -> Result<Shown, Halt<Kept>> {
        self.answers.ask(&Kept { samples: samples.collect(), stand_in })
    }

    fn search(&self, found: &mut Samples) -> Result<(), Halt<Kept>> {
        let whole = self.ask(0..self.n, 0)?;
        if whole.finite || self.n < 2 {
            return Ok(());
        }
        let guilty = match self.along_rows(&whole)? {
            Some((guilty, stand_in)) => {
                found.guilty = guilty.iter().copied().collect();
                found.enough = true;
                self.each(found, stand_in)?;
                return Ok(());
            }
            None => self.in_groups(found)?,
        };
        found.guilty = guilty.into_iter().collect();
        Ok(())
    }

    /// From bad rows to bad rows until the step is finite without them.
    fn along_rows(&self, whole: &Shown) -> Result<Option<(Set, usize)>, Halt<Kept>> {
        let mut guilty = Set::new();
        let mut shown = whole.clone();
        loop {
            let before = guilty.len();
            guilty.extend(shown.rows.iter().copied().filter(|&row| row < self.n));
            let Some(stand_in) = (0..self.n).find(|row| !guilty.contains(row)) else { return Ok(None) };
            if guilty.len() == before {
                return Ok(None);
            }
            shown = self.ask((0..self.n).filter(|row| !guilty.contains(row)), stand_in)?;
            if shown.finite {
                return Ok(Some((guilty, stand_in)));
            }
        }
    }

    /// Each of the guilty alone, the rest finite: those that do not fail by themselves were not guilty, as long as the others
    /// explain the failure.
    fn each(&self, found: &mut Samples, stand_in: usize) -> Result<(), Halt<Kept>> {
        if found.guilty.len() > EACH_MAX {
            return Ok(());
        }
        let mut alone = vec![];
        for &row in &found.guilty.clone() {
            if !self.ask(std::iter::once(row), stand_in)?.finite {
                alone.push(row);
            }
        }
        if alone.len() == found.guilty.len() {
            found.each = true;
        } else if !alone.is_empty() {
            let without = self.ask((0..self.n).filter(|row| !alone.contains(row)), stand_in)?;
            if without.finite {
                (found.guilty, found.each) = (alone, true);
            }
        }
        Ok(())
    }

    /// The shortest failing prefix ends in a guilty sample; then the same with what follows.
    fn in_groups(&self, found: &mut Samples) -> Result<Set, Halt<Kept>> {
        let mut guilty = Set::new();
        let mut stand_in = None;
        for row in spread(self.n) {
            if self.ask(std::iter::once(row), row)?.finite {
                stand_in = Some(row);
                break;
            }
        }
        let Some(stand_in) = stand_in else { return Ok(guilty) };
        let mut start = 0;
        while start < self.n && !self.ask(start..self.n, stand_in)?.finite {
            let (mut good, mut bad) = (start, self.n);
            while bad - good > 1 {
                let middle = usize::midpoint(good, bad);
                *(if self.ask(start..middle, stand_in)?.finite { &mut good } else { &mut bad }) = middle;
            }
            guilty.insert(bad - 1);
            found.guilty = guilty.iter().copied().collect();
            start = bad;
        }
        found.each = true;
        let without = self.ask((0..self.n).filter(|row| !guilty.contains(row)), stand_in)?;
        found.enough = without.finite;
        Ok(guilty)
    }
}

/// Some samples, far from each other.
fn spread(n: usize) -> impl Iterator<Item = usize> {
    let count = n.min(STAND_INS_MAX);
    (0..count).map(move |i| i * n / count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `rows` tells what a replay shows of the guilty samples that are in it.
    fn run(n: usize, limit: usize, guilty: &[usize], rows: impl Fn(&[usize]) -> Vec<usize>) -> Samples {
        let mut search = GuiltySearch::new(n, limit);
        loop {
            match search.next() {
                Next::Found(samples) => return samples,
                Next::Ask(kept) => {
                    let all = kept.samples.len() < n;
                    let bad: Vec<usize> = guilty
                        .iter()
                        .copied()
                        .filter(|row| kept.samples.contains(row) || (all && *row == kept.stand_in))
                        .collect();
                    let shown = Shown { finite: bad.is_empty(), rows: rows(&bad) };
                    search.answer(kept, shown);
                }
            }
        }
    }

    const PLANTS: [&[usize]; 5] = [&[0], &[255], &[3, 200], &[0, 128], &[7, 8, 100, 180, 255]];

    #[test]
    fn rows_are_confirmed_in_few_replays() {
        for plant in PLANTS {
            let found = run(256, 30, plant, <[usize]>::to_vec);
            assert_eq!((found.guilty.as_slice(), found.enough, found.each), (plant, true, true));
            assert_eq!(found.replays, plant.len() + 2);
        }
    }

    #[test]
    fn guilty_samples_that_show_one_after_the_other_are_found() {
        for plant in PLANTS {
            let found = run(256, 30, plant, |bad| bad.iter().copied().take(1).collect());
            assert_eq!((found.guilty.as_slice(), found.enough, found.each), (plant, true, true));
            assert!(found.replays <= 2 * plant.len() + 1, "{}", found.replays);
        }
    }

    #[test]
    fn without_rows_samples_are_tested_in_groups() {
        for (plant, at_most) in PLANTS.into_iter().zip([30, 30, 30, 30, 60]) {
            let found = run(256, at_most, plant, |_| vec![]);
            assert_eq!((found.guilty.as_slice(), found.enough, found.each), (plant, true, true), "{}", found.replays);
        }
    }

    #[test]
    fn where_every_sample_fails_none_is_to_blame() {
        let all: Vec<usize> = (0..64).collect();
        let found = run(64, 30, &all, <[usize]>::to_vec);
        assert_eq!((found.guilty, found.replays), (vec![], 1 + STAND_INS_MAX));
    }

    #[test]
    fn a_spent_search_keeps_what_it_has() {
        let found = run(256, 24, &[7, 8, 100, 180, 255], |_| vec![]);
        assert_eq!((found.enough, found.each), (false, false));
        assert!(found.guilty.starts_with(&[7, 8]), "{found:?}");
    }
}
