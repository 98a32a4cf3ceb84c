//! What is in a tensor.

use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use crate::element::with_element;
use crate::layout::Order;
use crate::scan;
use crate::tally::Tally;
use crate::threads;
use crate::view::View;

/// What is in a tensor. Empty tensor: all counts 0.
///
/// A complex element counts as its two parts, in everything but `first_bad`. Expanded elements count as often as they
/// are seen. No field holds an infinity or NaN, so any JSON reader can read it; an absent field is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Census {
    /// Numbers.
    pub n: u64,
    /// NaNs of any payload.
    pub nan: u64,
    /// +inf.
    pub posinf: u64,
    /// -inf.
    pub neginf: u64,
    /// Zeros of either sign.
    pub zero: u64,
    /// Nonzero numbers below the smallest normal one of the tensor's own format.
    pub subnormal: u64,
    /// Smallest finite number; `None` when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Largest finite number; `None` when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Largest finite magnitude; `None` when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_abs: Option<f64>,
    /// Smallest nonzero finite magnitude; `None` when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_abs_nonzero: Option<f64>,
    /// Sum of the finite numbers in float64 (for float16 and bfloat16 in parts of float32 sums: it is off by less than 2e-6 times
    /// the sum of their magnitudes); `None` when it leaves the range of float64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<f64>,
    /// Sum of the squares of the finite numbers in float64 (for float16 and bfloat16 with a relative error below 2e-6); `None`
    /// when it leaves the range of float64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum_squares: Option<f64>,
    /// Row-major index of the first element that is an infinity or NaN, or of which a part is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_bad: Option<u64>,
    /// `(floor(log2 |x|), count)` of the finite nonzero numbers, ascending; subnormals by their true exponent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exponents: Vec<(i32, u64)>,
}

impl Census {
    /// Infinities and NaNs.
    pub fn bad(&self) -> u64 {
        self.nan + self.posinf + self.neginf
    }

    /// Numbers that are neither infinite nor NaN.
    pub fn finite(&self) -> u64 {
        self.n - self.bad()
    }
}

/// Reads a tensor once, and once more up to its first bad element when it has one.
///
/// Allocates only the exponents of the result, when the scan is over.
pub fn census(view: &View) -> Census {
    let mut tally = Tally::new();
    let repeat = read(view, 0, 1, &mut tally);
    finish(view, tally, repeat)
}

/// [`census`], read by up to `threads` threads. Sums are added in another order for another number of them.
pub fn census_on(view: &View, threads: usize) -> Census {
    if threads < 2 {
        return census(view);
    }
    let mut tally = Tally::new();
    let mut repeat = 1;
    for (part, counts) in threads::each(threads, threads, |number| {
        let mut tally = Box::new(Tally::new());
        let repeat = read(view, number, threads, &mut tally);
        (tally, repeat)
    }) {
        tally.merge(*part);
        repeat = counts;
    }
    finish(view, tally, repeat)
}

/// Tallies one part of a tensor; returns how often each number counts.
fn read(view: &View, number: usize, of: usize, tally: &mut Tally) -> u64 {
    with_element!(view.dtype().part(), T => view.blocks_of::<T>(Order::Memory, number, of, |block| {
        tally.add(block);
        ControlFlow::Continue(())
    }))
}

fn finish(view: &View, tally: Tally, repeat: u64) -> Census {
    let mut census = tally.finish(repeat, view.dtype().format());
    census.n = (view.len() * view.dtype().parts()) as u64;
    if census.bad() > 0 {
        census.first_bad = scan::first_bad(view);
    }
    census
}

#[cfg(test)]
mod tests;
