//! The range of a tensor, as a whole and of each of its features: one read of the memory.
//!
//! There is one definition. Where the processor has AVX2 it is compiled for that too, with the same operations in the same
//! order, so that both agree to the bit.

use std::ops::ControlFlow;

use crate::element::{CHUNK, Element, with_element};
use crate::layout::Order;
use crate::view::View;

/// Range and squares of the finite elements. Empty tensor: finite, count 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Whether no element is an infinity or NaN.
    pub finite: bool,
    /// Number of finite elements.
    pub count: u64,
    /// The lowest; +inf when there is none.
    pub min: f64,
    /// The highest; -inf when there is none.
    pub max: f64,
    /// Sum of squares, in float64.
    pub sum_squares: f64,
}

impl Default for Spread {
    fn default() -> Self {
        Spread { finite: true, count: 0, min: f64::INFINITY, max: f64::NEG_INFINITY, sum_squares: 0.0 }
    }
}

impl Spread {
    /// Largest magnitude; `None` without a finite element.
    pub fn largest(&self) -> Option<f64> {
        (self.count > 0).then(|| self.min.abs().max(self.max.abs()))
    }

    /// Root mean square; `None` without a finite element.
    pub fn rms(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.sum_squares / self.count as f64).sqrt())
    }

    #[inline(always)]
    fn add(&mut self, x: f64) {
        let finite = x.is_finite();
        self.finite &= finite;
        self.count += u64::from(finite);
        self.min = if finite && x < self.min { x } else { self.min };
        self.max = if finite && x > self.max { x } else { self.max };
        let x = if finite { x } else { 0.0 };
        self.sum_squares += x * x;
    }

    #[inline(always)]
    fn merge(&mut self, other: Spread) {
        self.finite &= other.finite;
        self.count += other.count;
        self.min = if other.min < self.min { other.min } else { self.min };
        self.max = if other.max > self.max { other.max } else { self.max };
        self.sum_squares += other.sum_squares;
    }
}

/// The spread of all elements; the parts of a complex element count as two.
pub fn spread(view: &View) -> Spread {
    features(view, view.len().max(1) * view.dtype().parts(), &mut [f64::INFINITY], &mut [f64::NEG_INFINITY])
}

/// The spread of all elements, and of each feature its lowest and highest finite element, merged into `low` and `high`.
///
/// Seen row-major, `inner` elements of one feature come side by side, then as many of the next; after the last feature the
/// first comes again. So `inner` is 1 for features in the last dimension.
///
/// # Panics
/// When `low` and `high` differ in length or are empty, or `inner` is 0.
pub fn features(view: &View, inner: usize, low: &mut [f64], high: &mut [f64]) -> Spread {
    assert!(low.len() == high.len() && !low.is_empty() && inner > 0, "one place for each feature");
    with_element!(view.dtype().part(), T => features_of::<T>(view, inner, low, high))
}

fn features_of<T: Element>(view: &View, inner: usize, low: &mut [f64], high: &mut [f64]) -> Spread {
    let mut state = Walk { inner, feature: 0, left: inner, low, high, total: Spread::default() };
    view.blocks::<T>(Order::Logical, |block| {
        let mut wide = [0.0; CHUNK];
        for chunk in block.chunks(CHUNK) {
            let numbers = &mut wide[..chunk.len()];
            T::widen(chunk, numbers);
            state.add(numbers);
        }
        ControlFlow::Continue(())
    });
    state.total
}

struct Walk<'a> {
    inner: usize,
    feature: usize,
    /// Elements until the next feature.
    left: usize,
    low: &'a mut [f64],
    high: &'a mut [f64],
    total: Spread,
}

impl Walk<'_> {
    fn add(&mut self, mut numbers: &[f64]) {
        if self.inner == 1 {
            self.total.merge(block(numbers));
            while !numbers.is_empty() {
                let row;
                (row, numbers) = numbers.split_at(numbers.len().min(self.low.len() - self.feature));
                let to = self.feature + row.len();
                row_range(row, &mut self.low[self.feature..to], &mut self.high[self.feature..to]);
                self.feature = if to == self.low.len() { 0 } else { to };
            }
        }
        while !numbers.is_empty() {
            let run;
            (run, numbers) = numbers.split_at(numbers.len().min(self.left));
            let found = block(run);
            self.total.merge(found);
            let (low, high) = (&mut self.low[self.feature], &mut self.high[self.feature]);
            *low = low.min(found.min);
            *high = high.max(found.max);
            self.left -= run.len();
            if self.left == 0 {
                self.left = self.inner;
                self.feature = (self.feature + 1) % self.low.len();
            }
        }
    }
}

macro_rules! also_for_avx2 {
    ($(fn $name:ident / $vector:ident / $scalar:ident ($($arg:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {$(
        #[inline(always)]
        fn $scalar($($arg: $type),*) $(-> $result)? $body

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn $vector($($arg: $type),*) $(-> $result)? {
            $scalar($($arg),*)
        }

        fn $name($($arg: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has what the function was compiled for.
                return unsafe { $vector($($arg),*) };
            }
            $scalar($($arg),*)
        }
    )*};
}

also_for_avx2! {
    fn block / block_avx2 / block_scalar(numbers: &[f64]) -> Spread {
        const LANES: usize = 8;
        let mut lanes = [Spread::default(); LANES];
        let (groups, rest) = numbers.as_chunks::<LANES>();
        for group in groups {
            for (lane, x) in lanes.iter_mut().zip(group) {
                lane.add(*x);
            }
        }
        for (lane, x) in lanes.iter_mut().zip(rest) {
            lane.add(*x);
        }
        let mut total = Spread::default();
        for lane in lanes {
            total.merge(lane);
        }
        total
    }

    fn row_range / row_range_avx2 / row_range_scalar(row: &[f64], low: &mut [f64], high: &mut [f64]) {
        for ((x, low), high) in row.iter().zip(low).zip(high) {
            let finite = x.is_finite();
            *low = if finite && *x < *low { *x } else { *low };
            *high = if finite && *x > *high { *x } else { *high };
        }
    }
}

/// Row-major index of the first number that passes a test of index and value. For real types.
pub fn find(view: &View, mut test: impl FnMut(u64, f64) -> bool) -> Option<u64> {
    with_element!(view.dtype().part(), T => find_of::<T>(view, &mut test))
}

fn find_of<T: Element>(view: &View, test: &mut dyn FnMut(u64, f64) -> bool) -> Option<u64> {
    let (mut before, mut found) = (0, None);
    view.blocks::<T>(Order::Logical, |block| {
        let at = block.iter().enumerate().position(|(at, x)| test(before + at as u64, x.to_f64()));
        found = at.map(|at| before + at as u64);
        before += block.len() as u64;
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dtype::Dtype;
    use crate::scan::tests::materialised;

    /// The definition, one number after the other.
    fn expected(numbers: &[f64], inner: usize, features: usize) -> (Spread, Vec<f64>, Vec<f64>) {
        let mut spread = Spread::default();
        let (mut low, mut high) = (vec![f64::INFINITY; features], vec![f64::NEG_INFINITY; features]);
        for (at, x) in numbers.iter().enumerate() {
            if !x.is_finite() {
                spread.finite = false;
                continue;
            }
            let feature = at / inner % features;
            low[feature] = low[feature].min(*x);
            high[feature] = high[feature].max(*x);
            spread.count += 1;
            spread.min = spread.min.min(*x);
            spread.max = spread.max.max(*x);
            spread.sum_squares += x * x;
        }
        (spread, low, high)
    }

    fn same(a: Spread, b: Spread) -> bool {
        let near = a.sum_squares == b.sum_squares || (a.sum_squares - b.sum_squares).abs() <= 1e-12 * b.sum_squares;
        near && (a.finite, a.count, a.min, a.max) == (b.finite, b.count, b.min, b.max)
    }

    proptest! {
        #[test]
        fn any_memory_is_as_defined(
            tops in prop::collection::vec(prop_oneof![8 => 0x3000u16..0x4200, 2 => any::<u16>()], 0..900),
            inner in 1..40usize,
            features in 1..40usize,
        ) {
            let bytes: Vec<u8> = tops.iter().flat_map(|top| top.to_ne_bytes()).collect();
            for &dtype in Dtype::ALL.iter().filter(|dtype| !dtype.is_complex()) {
                let numbers: Vec<f64> = bytes.chunks_exact(dtype.size()).map(|number| dtype.decode(number)).collect();
                let view = View::of_bytes(&bytes, dtype);
                for inner in [1, inner] {
                    let (spread, low, high) = expected(&numbers, inner, features);
                    let (mut got_low, mut got_high) = (vec![f64::INFINITY; features], vec![f64::NEG_INFINITY; features]);
                    let got = super::features(&view, inner, &mut got_low, &mut got_high);
                    prop_assert!(same(got, spread), "{}: got {got:?}, expected {spread:?}", dtype.name());
                    prop_assert_eq!((&got_low, &got_high), (&low, &high), "{}", dtype.name());
                    prop_assert!(same(super::spread(&view), spread));
                }
            }
        }

        #[test]
        fn a_strided_view_is_its_materialised_copy(
            bytes in prop::collection::vec(any::<u8>(), 400),
            shape in prop::collection::vec(1..5usize, 1..4),
            strides in prop::collection::vec(0..7usize, 4),
        ) {
            let strides = &strides[..shape.len()];
            let reach: usize = shape.iter().zip(strides).map(|(size, stride)| (size - 1) * stride).sum();
            prop_assume!((reach + 1) * 4 <= bytes.len());
            // SAFETY: the last element ends within the bytes.
            let view = unsafe { View::new(bytes.as_ptr(), Dtype::Float32, &shape, strides) };
            let copy = materialised(&bytes, Dtype::Float32, &shape, strides);
            let flat = View::of_bytes(&copy, Dtype::Float32);
            prop_assert!(same(spread(&view), spread(&flat)));
            let last = |view: &View| find(view, |at, _| at + 1 == view.len() as u64);
            prop_assert_eq!(last(&view), last(&flat));
        }

        #[test]
        fn both_ways_to_compile_agree_to_the_bit(numbers in prop::collection::vec(any::<f64>(), 0..100)) {
            let (by_processor, scalar) = (block(&numbers), block_scalar(&numbers));
            prop_assert_eq!(format!("{by_processor:?}"), format!("{scalar:?}"));
        }
    }

    #[test]
    fn an_empty_tensor_has_no_range() {
        // SAFETY: no element is read.
        let view = unsafe { View::contiguous(std::ptr::null(), Dtype::Float32, 0) };
        let spread = spread(&view);
        assert_eq!((spread, spread.largest(), spread.rms()), (Spread::default(), None, None));
    }
}
