//! The steps of one optimizer as they are remembered: the latest without a gap, the earlier ones thinned.

use nanscope_trace::schema::{Num, PastStep};

use super::Signals;

/// Latest steps kept without a gap.
const RECENT: usize = 64;
/// Earlier steps kept at most.
const EARLIER: usize = 256;
/// Groups whose norms are kept.
const GROUPS: usize = 64;

/// Slots are filled anew and never given back, so that a record allocates nothing once it is full.
#[derive(Debug)]
pub(super) struct Record {
    /// A ring; `next` is the oldest once it is full.
    recent: Vec<PastStep>,
    next: usize,
    /// The first `thinned` of these are in use: of the steps that left the ring, every `stride`-th.
    earlier: Vec<PastStep>,
    thinned: usize,
    stride: u64,
    left: u64,
}

impl Default for Record {
    fn default() -> Self {
        Record { recent: Vec::with_capacity(RECENT), next: 0, earlier: Vec::new(), thinned: 0, stride: 1, left: 0 }
    }
}

impl Record {
    pub(super) fn push(&mut self, signals: &Signals) {
        if self.recent.len() < RECENT {
            self.recent.push(PastStep::default());
            self.next = self.recent.len() - 1;
        } else {
            self.keep_oldest();
        }
        fill(&mut self.recent[self.next], signals);
        self.next = (self.next + 1) % RECENT;
    }

    /// The step so many before the latest, as long as it is in the ring; 0 is the latest.
    pub(super) fn back(&self, steps: usize) -> Option<&PastStep> {
        if steps >= self.recent.len() {
            return None;
        }
        let len = self.recent.len();
        // `next` is one past the latest, whether the ring is full or not.
        self.recent.get((self.next + 2 * len - 1 - steps) % len)
    }

    /// All that is kept, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &PastStep> {
        let recent = (0..self.recent.len()).rev().filter_map(|steps| self.back(steps));
        self.earlier[..self.thinned].iter().chain(recent)
    }

    /// The median of a signal over all that is kept but the latest `lag` steps; of magnitudes that are finite and not 0.
    pub(super) fn median(&self, lag: usize, signal: impl Fn(&PastStep) -> Option<Num>) -> Option<f64> {
        let mut magnitudes = [0.0; RECENT + EARLIER];
        let mut count = 0;
        let older = (self.thinned + self.recent.len()).saturating_sub(lag);
        for magnitude in self.iter().take(older).filter_map(|past| Some(signal(past)?.0.abs())) {
            if magnitude.is_finite() && magnitude > 0.0 {
                magnitudes[count] = magnitude;
                count += 1;
            }
        }
        let middle = count.checked_sub(1)? / 2;
        Some(*magnitudes[..count].select_nth_unstable_by(middle, f64::total_cmp).1)
    }

    /// The oldest of the ring is about to be overwritten.
    fn keep_oldest(&mut self) {
        self.left += 1;
        if !(self.left - 1).is_multiple_of(self.stride) {
            return;
        }
        if self.thinned == EARLIER {
            for at in 0..EARLIER / 2 {
                self.earlier.swap(at, 2 * at);
            }
            self.thinned = EARLIER / 2;
            self.stride *= 2;
            if !(self.left - 1).is_multiple_of(self.stride) {
                return;
            }
        }
        if self.thinned == self.earlier.len() {
            self.earlier.push(PastStep::default());
        }
        std::mem::swap(&mut self.earlier[self.thinned], &mut self.recent[self.next]);
        self.thinned += 1;
    }
}

fn fill(past: &mut PastStep, signals: &Signals) {
    let mut groups = std::mem::take(&mut past.groups);
    groups.clear();
    groups.extend(signals.groups.iter().take(GROUPS).copied().map(Num));
    *past = PastStep {
        step: signals.step,
        optimizer: signals.optimizer,
        loss: signals.loss.map(Num),
        grad_norm: signals.grad_norm.map(Num),
        grad_max: signals.grad_max.map(Num),
        groups,
        lr: signals.lr.map(Num),
        scale: signals.scale.map(Num),
        skipped: signals.skipped,
        carried: signals.carried,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_all_there_and_the_earlier_ones_evenly_spread() {
        let mut record = Record::default();
        for step in 0..100_000 {
            record.push(&Signals { step, loss: Some(step as f64), ..Signals::default() });
            let back = record.back(0).unwrap();
            assert_eq!(back.step, step);
        }
        let steps: Vec<u64> = record.iter().map(|past| past.step).collect();
        assert!(steps.len() <= RECENT + EARLIER && steps.len() >= RECENT + EARLIER / 2);
        assert!(steps.is_sorted());
        assert_eq!(steps[steps.len() - RECENT..], (100_000 - RECENT as u64..100_000).collect::<Vec<_>>());
        let gaps: Vec<u64> = steps[..steps.len() - RECENT].windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| *gap == record.stride), "{gaps:?}");
        assert_eq!(record.back(RECENT), None);
    }

    #[test]
    fn a_median_leaves_out_the_latest_and_what_is_no_magnitude() {
        let mut record = Record::default();
        for (step, loss) in [3.0, -1.0, 0.0, f64::NAN, 2.0, 9.0, 9.0].into_iter().enumerate() {
            record.push(&Signals { step: step as u64, loss: Some(loss), ..Signals::default() });
        }
        assert_eq!(record.median(2, |past| past.loss), Some(2.0));
        assert_eq!(record.median(7, |past| past.loss), None);
        assert_eq!(record.median(2, |past| past.grad_norm), None);
    }
}
