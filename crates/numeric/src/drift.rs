//! How far a tensor is from the same tensor computed in float64: one read of both.

use std::ops::ControlFlow;

use crate::element::{CHUNK, Element, with_element};
use crate::layout::Order;
use crate::view::View;

/// What separates a run from its reference. Empty tensors: all counts 0, and the same.
///
/// Errors are relative to the larger of the two values, so that none of them is above 2 and none is infinite where a
/// reference is 0. Elements that are not finite on either side enter no error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Drift {
    /// Norm of the difference over the norm of the larger values.
    pub relative: f64,
    /// Largest relative error of an element.
    pub largest: f64,
    /// Elements that are 0 in the run and not in the reference.
    pub lost_zeros: u64,
    /// Elements that are exactly 1 or -1 in the run and not in the reference.
    pub saturated: u64,
    /// Elements of opposite signs.
    pub flipped: u64,
    /// Elements that are finite in the reference only.
    pub rescued: u64,
    /// Elements that are not finite in the reference.
    pub reference_bad: u64,
    /// True when every element equals its reference (or both are NaN).
    pub same: bool,
    /// Row-major index of the element that shows it best: the first of opposite signs, else the first lost zero, else the
    /// one with the largest difference.
    pub at: Option<usize>,
    /// Row-major index of the first saturated element.
    pub saturated_at: Option<usize>,
}

/// Compares `run` with `reference`, its numbers in row-major order. The parts of a complex element are two numbers.
///
/// # Panics
/// When the two differ in length.
pub fn drift(run: &View, reference: &[f64]) -> Drift {
    let parts = run.dtype().parts();
    assert_eq!(run.len() * parts, reference.len(), "one reference for each number");
    let mut state = State::default();
    with_element!(run.dtype().part(), T => {
        let mut wide = [0.0; CHUNK];
        run.blocks::<T>(Order::Logical, |block| {
            for chunk in block.chunks(CHUNK) {
                T::widen(chunk, &mut wide[..chunk.len()]);
                state.compare(&wide[..chunk.len()], reference);
            }
            ControlFlow::Continue(())
        });
    });
    state.finish(parts)
}

#[derive(Default)]
struct State {
    drift: Drift,
    seen: usize,
    different: bool,
    squares: f64,
    differences: f64,
    widest: (f64, Option<usize>),
    flipped: Option<usize>,
    lost: Option<usize>,
    saturated: Option<usize>,
}

impl State {
    fn compare(&mut self, run: &[f64], reference: &[f64]) {
        let start = self.seen;
        self.seen += run.len();
        for (i, (&x, &y)) in run.iter().zip(&reference[start..]).enumerate() {
            let difference = (x - y).abs();
            let scale = x.abs().max(y.abs());
            if !(x.is_finite() && y.is_finite()) {
                self.not_finite(x, y);
                continue;
            }
            self.squares += scale * scale;
            if difference == 0.0 {
                continue;
            }
            self.different = true;
            self.differences += difference * difference;
            self.drift.largest = self.drift.largest.max(difference / scale);
            if difference > self.widest.0 {
                self.widest = (difference, Some(start + i));
            }
            if x == 0.0 {
                self.drift.lost_zeros += 1;
                self.lost.get_or_insert(start + i);
            } else if x.abs() == 1.0 {
                self.drift.saturated += 1;
                self.saturated.get_or_insert(start + i);
            } else if x * y < 0.0 {
                self.drift.flipped += 1;
                self.flipped.get_or_insert(start + i);
            }
        }
    }

    #[cold]
    fn not_finite(&mut self, x: f64, y: f64) {
        self.different |= x.to_bits() != y.to_bits() && !(x.is_nan() && y.is_nan());
        self.drift.rescued += u64::from(y.is_finite());
        self.drift.reference_bad += u64::from(!y.is_finite());
    }

    fn finish(self, parts: usize) -> Drift {
        let relative = (self.differences / self.squares).sqrt();
        Drift {
            // Squares of what is near the ends of float64 are not numbers.
            relative: if relative.is_finite() { relative } else { self.drift.largest },
            same: !self.different,
            at: self.flipped.or(self.lost).or(self.widest.1).map(|at| at / parts),
            saturated_at: self.saturated.map(|at| at / parts),
            ..self.drift
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Dtype;

    fn of(run: &[f32], reference: &[f64]) -> Drift {
        // SAFETY: the slice outlives the view.
        drift(&unsafe { View::contiguous(run.as_ptr().cast(), Dtype::Float32, run.len()) }, reference)
    }

    #[test]
    fn what_is_the_same_has_no_error() {
        let found = of(&[1.0, f32::NAN, -0.5], &[1.0, f64::NAN, -0.5]);
        assert_eq!((found.same, found.relative, found.reference_bad), (true, 0.0, 1));
        assert_eq!(of(&[], &[]), Drift { same: true, ..Drift::default() });
    }

    #[test]
    fn a_silent_zero_a_saturated_one_and_a_wrong_sign_are_counted() {
        let found = of(&[3.0, 0.0, 1.0, -3e-8], &[3.0, 1e-50, 1.0 - 1e-9, 2e-9]);
        assert_eq!((found.lost_zeros, found.saturated, found.flipped, found.at), (1, 1, 1, Some(3)));
        assert_eq!(of(&[3.0, 0.0], &[3.0, 1e-50]).at, Some(1));
        assert!(found.relative < 1e-7 && found.largest > 1.0);
    }

    #[test]
    fn errors_are_relative_to_the_larger_value() {
        let found = of(&[0.0, 2.0], &[1.0, 2.0]);
        assert!((found.relative - (1.0f64 / 5.0).sqrt()).abs() < 1e-15);
        assert_eq!(found.largest, 1.0);
        assert_eq!(of(&[1.0, 0.0], &[0.0, 0.0]).relative, 1.0);
    }

    #[test]
    fn what_is_not_finite_on_one_side_enters_no_error() {
        let found = of(&[f32::INFINITY, 1.0, 5.0], &[7.0, f64::NAN, 5.0]);
        assert_eq!((found.rescued, found.reference_bad, found.relative, found.same), (1, 1, 0.0, false));
    }

    #[test]
    fn squares_that_leave_float64_cost_the_norm_only() {
        let run = [1e200f64, 0.0];
        // SAFETY: as above.
        let view = unsafe { View::contiguous(run.as_ptr().cast(), Dtype::Float64, 2) };
        assert_eq!(drift(&view, &[2e200, 0.0]).relative, 0.5);
    }
}
