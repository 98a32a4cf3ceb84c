//! The scans that run at every step: is everything finite, and how large is it.
//!
//! Each walks blocks that fit the cache. A kernel answers for a block that is finite throughout, at memory speed;
//! when it cannot, the scalar definition reads the block once more.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
pub(crate) mod kernel;
pub(crate) mod scalar;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::element::with_element;
use crate::layout::Order;
use crate::threads;
use crate::view::View;
use kernel::Kernel;

/// What a gradient pass needs. An empty tensor is finite, and its numbers are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// Whether no element is an infinity or NaN.
    pub finite: bool,
    /// Largest magnitude of the finite elements; 0 when there is none.
    pub max_abs: f64,
    /// Sum over the finite elements of their squares, added in float64 (for float32 in parts of float32 sums: its relative
    /// error is below 2e-6); infinite when it leaves the range of float64.
    pub sum_squares: f64,
}

impl Default for Pass {
    fn default() -> Self {
        Pass { finite: true, max_abs: 0.0, sum_squares: 0.0 }
    }
}

/// How many elements are not finite, and how large the others are. Empty tensor: all counts 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// NaNs of any payload.
    pub nan: u64,
    /// +inf.
    pub posinf: u64,
    /// -inf.
    pub neginf: u64,
    /// Largest magnitude of the finite elements; `None` when there is none.
    pub max_abs: Option<f64>,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.nan += other.nan;
        self.posinf += other.posinf;
        self.neginf += other.neginf;
        // `None` orders below every number, and no number here is a NaN.
        self.max_abs = if other.max_abs > self.max_abs { other.max_abs } else { self.max_abs };
    }
}

impl Pass {
    fn merge(&mut self, other: Pass) {
        self.finite &= other.finite;
        self.max_abs = self.max_abs.max(other.max_abs);
        self.sum_squares += other.sum_squares;
    }
}

/// Whether no element is an infinity or NaN. Stops at the first block that has one. True for an empty tensor.
pub fn all_finite(view: &View) -> bool {
    with_element!(view.dtype().part(), T => all_finite_of::<T>(view, 0, 1))
}

/// Index of the first tensor that holds an infinity or NaN, read by up to `threads` threads; `None` when all are finite. Not all
/// of what follows that tensor is read.
pub fn first_not_finite(views: &[View], threads: usize) -> Option<usize> {
    if threads < 2 {
        return views.iter().position(|view| !all_finite(view));
    }
    let parts: Vec<_> = threads::parts(views).collect();
    let first = AtomicUsize::new(usize::MAX);
    threads::each(parts.len(), threads, |job| {
        let part = parts[job];
        if part.view >= first.load(Ordering::Relaxed) {
            return;
        }
        let view = &views[part.view];
        if !with_element!(view.dtype().part(), T => all_finite_of::<T>(view, part.number, part.of)) {
            first.fetch_min(part.view, Ordering::Relaxed);
        }
    });
    Some(first.into_inner()).filter(|first| *first < views.len())
}

/// The fused gradient pass: one read of the memory. The parts of a complex element count as two elements.
pub fn pass(view: &View) -> Pass {
    let mut total = Pass::default();
    for part in threads::parts(std::slice::from_ref(view)) {
        total.merge(with_element!(view.dtype().part(), T => pass_of::<T>(view, part.number, part.of)));
    }
    total
}

/// [`pass`] of every tensor, read by up to `threads` threads; the numbers do not depend on how many.
pub fn passes(views: &[View], threads: usize) -> Vec<Pass> {
    if threads < 2 {
        return views.iter().map(pass).collect();
    }
    let parts: Vec<_> = threads::parts(views).collect();
    let found = threads::each(parts.len(), threads, |job| {
        let threads::Part { view, number, of } = parts[job];
        with_element!(views[view].dtype().part(), T => pass_of::<T>(&views[view], number, of))
    });
    let mut total = vec![Pass::default(); views.len()];
    for (part, found) in parts.iter().zip(found) {
        total[part.view].merge(found);
    }
    total
}

/// Counts of what is not finite, and the largest finite magnitude. The parts of a complex element count as two
/// elements.
pub fn counts(view: &View) -> Counts {
    with_element!(view.dtype().part(), T => counts_of::<T>(view, 0, 1))
}

/// [`counts`], read by up to `threads` threads.
pub fn counts_on(view: &View, threads: usize) -> Counts {
    if threads < 2 {
        return counts(view);
    }
    let mut total = Counts::default();
    for part in threads::each(
        threads,
        threads,
        |number| with_element!(view.dtype().part(), T => counts_of::<T>(view, number, threads)),
    ) {
        total.add(part);
    }
    total
}

/// Row-major index of the first element that is an infinity or NaN, or of which a part is; `None` when all are finite.
pub fn first_bad(view: &View) -> Option<u64> {
    with_element!(view.dtype().part(), T => first_bad_of::<T>(view)).map(|number| number / view.dtype().parts() as u64)
}

fn finite_block<T: Kernel>(block: &[T]) -> bool {
    T::ALWAYS_FINITE || T::finite(block) || scalar::all_finite(block)
}

fn all_finite_of<T: Kernel>(view: &View, number: usize, of: usize) -> bool {
    if T::ALWAYS_FINITE {
        return true;
    }
    let mut finite = true;
    view.blocks_of::<T>(Order::Memory, number, of, |block| {
        finite = finite_block(block);
        if finite { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    finite
}

fn pass_of<T: Kernel>(view: &View, number: usize, of: usize) -> Pass {
    let mut total = Pass::default();
    let repeat = view.blocks_of::<T>(Order::Memory, number, of, |block| {
        total.merge(T::pass(block).unwrap_or_else(|| scalar::pass(block)));
        ControlFlow::Continue(())
    });
    total.sum_squares *= repeat as f64;
    total
}

fn counts_of<T: Kernel>(view: &View, number: usize, of: usize) -> Counts {
    let mut total = Counts::default();
    let repeat = view.blocks_of::<T>(Order::Memory, number, of, |block| {
        total.add(match T::max_abs(block) {
            Some(largest) => Counts { max_abs: Some(largest), ..Counts::default() },
            None => scalar::counts(block),
        });
        ControlFlow::Continue(())
    });
    Counts { nan: total.nan * repeat, posinf: total.posinf * repeat, neginf: total.neginf * repeat, ..total }
}

fn first_bad_of<T: Kernel>(view: &View) -> Option<u64> {
    if T::ALWAYS_FINITE {
        return None;
    }
    let mut before = 0;
    let mut found = None;
    view.blocks::<T>(Order::Logical, |block| {
        if finite_block(block) {
            before += block.len() as u64;
            return ControlFlow::Continue(());
        }
        found = block.iter().position(|x| !x.to_f64().is_finite()).map(|at| before + at as u64);
        ControlFlow::Break(())
    });
    found
}

#[cfg(test)]
pub(crate) mod tests;
