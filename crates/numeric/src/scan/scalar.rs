//! The definition of every scan, over one block.

use super::{Counts, Pass};
use crate::element::Element;

/// Independent running sums, so that the additions of one do not wait for another's.
const LANES: usize = 4;

pub(super) fn all_finite<T: Element>(block: &[T]) -> bool {
    block.iter().all(|x| x.to_f64().is_finite())
}

pub(crate) fn pass<T: Element>(block: &[T]) -> Pass {
    let mut lanes = [Pass::default(); LANES];
    let (groups, rest) = block.as_chunks::<LANES>();
    for group in groups {
        for (lane, x) in lanes.iter_mut().zip(group) {
            lane.add(x.to_f64());
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        lane.add(x.to_f64());
    }
    Pass {
        finite: lanes.iter().all(|lane| lane.finite),
        max_abs: lanes.iter().fold(0.0, |largest, lane| lane.max_abs.max(largest)),
        sum_squares: lanes.iter().map(|lane| lane.sum_squares).sum(),
    }
}

impl Pass {
    #[inline(always)]
    fn add(&mut self, x: f64) {
        let finite = x.is_finite();
        let x = if finite { x } else { 0.0 };
        self.finite &= finite;
        self.max_abs = self.max_abs.max(x.abs());
        self.sum_squares += x * x;
    }
}

/// The counts of one block.
pub(super) fn counts<T: Element>(block: &[T]) -> Counts {
    let (mut nan, mut posinf, mut neginf) = (0, 0, 0);
    // Below every magnitude: still there at the end when nothing is finite.
    let mut largest = -1.0;
    for x in block {
        let x = x.to_f64();
        nan += u64::from(x.is_nan());
        posinf += u64::from(x == f64::INFINITY);
        neginf += u64::from(x == f64::NEG_INFINITY);
        let magnitude = x.abs();
        largest = if magnitude > largest && magnitude < f64::INFINITY { magnitude } else { largest };
    }
    Counts { nan, posinf, neginf, max_abs: (largest >= 0.0).then_some(largest) }
}
