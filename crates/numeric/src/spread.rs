//! The range of a tensor, as a whole and of each of its features: one read of the memory.
//!
//! There is one definition. Where the processor has AVX2 it is compiled for that too, with the same operations in the same
//! order, so that both agree to the bit.

use std::ops::ControlFlow;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::dtype::Dtype;
use crate::element::{CHUNK, Element, with_element};
use crate::layout::Order;
use crate::scan::kernel::Kernel;
use crate::scan::scalar;
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
}

/// The spread of all elements; the parts of a complex element count as two.
pub fn spread(view: &View) -> Spread {
    features(view, view.len().max(1) * view.dtype().parts(), &mut [f64::INFINITY], &mut [f64::NEG_INFINITY])
}

/// Features that can be told apart.
pub const FEATURES_MAX: usize = 1024;

/// The spread of all elements, and of each feature its lowest and highest finite element, merged into `low` and `high`.
///
/// Seen row-major, `inner` elements of one feature come side by side, then as many of the next; after the last feature the
/// first comes again. So `inner` is 1 for features in the last dimension.
///
/// # Panics
/// When `low` and `high` differ in length, are empty or longer than [`FEATURES_MAX`], or `inner` is 0.
pub fn features(view: &View, inner: usize, low: &mut [f64], high: &mut [f64]) -> Spread {
    assert!(low.len() == high.len() && (1..=FEATURES_MAX).contains(&low.len()), "one place for each feature");
    assert!(inner > 0, "a feature has elements");
    match view.dtype().part() {
        Dtype::Float32 => features_of::<f32, f32>(view, inner, low, high, |block, _| block),
        Dtype::Float64 => features_of::<f64, f64>(view, inner, low, high, |block, _| block),
        // Every 16-bit float is a float32.
        Dtype::Float16 => features_of::<f16, f32>(view, inner, low, high, |block, buffer| {
            block.convert_to_f32_slice(buffer);
            buffer
        }),
        Dtype::BFloat16 => features_of::<bf16, f32>(view, inner, low, high, |block, buffer| {
            block.convert_to_f32_slice(buffer);
            buffer
        }),
        other => with_element!(other, T => features_of::<T, f64>(view, inner, low, high, |block, buffer| {
            T::widen(block, buffer);
            buffer
        })),
    }
}

/// `read` gives a chunk of storage as numbers that can be compared, through a buffer of its length where it must.
fn features_of<T: Kernel, N: Number>(
    view: &View,
    inner: usize,
    low: &mut [f64],
    high: &mut [f64],
    read: impl for<'a> Fn(&'a [T], &'a mut [N]) -> &'a [N],
) -> Spread {
    let count = low.len();
    let (mut lowest, mut highest) = ([N::ABOVE; FEATURES_MAX], [N::BELOW; FEATURES_MAX]);
    let mut walk = Walk { inner, feature: 0, left: inner, low: &mut lowest[..count], high: &mut highest[..count] };
    let mut total = Spread::default();
    let repeat = view.blocks::<T>(Order::Logical, |block| {
        let pass = T::pass(block).unwrap_or_else(|| scalar::pass(block));
        total.finite &= pass.finite;
        total.sum_squares += pass.sum_squares;
        total.count += block.len() as u64;
        if !pass.finite {
            total.count -= block.iter().filter(|x| !x.to_f64().is_finite()).count() as u64;
        }
        let mut buffer = [N::ABOVE; CHUNK];
        for chunk in block.chunks(CHUNK) {
            let numbers = read(chunk, &mut buffer[..chunk.len()]);
            if pass.finite { walk.add::<true>(numbers) } else { walk.add::<false>(numbers) }
        }
        ControlFlow::Continue(())
    });
    debug_assert_eq!(repeat, 1, "in logical order every number is seen as often as it counts");
    for feature in 0..count {
        let (lowest, highest) = (lowest[feature].wide(), highest[feature].wide());
        low[feature] = low[feature].min(lowest);
        high[feature] = high[feature].max(highest);
        (total.min, total.max) = (total.min.min(lowest), total.max.max(highest));
    }
    total
}

/// A float that the processor compares. Under flush-to-zero it takes subnormals for 0.
trait Number: Copy + PartialOrd {
    const BELOW: Self;
    const ABOVE: Self;
    fn wide(self) -> f64;
    fn finite(self) -> bool;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Number for $type {
            const BELOW: Self = <$type>::NEG_INFINITY;
            const ABOVE: Self = <$type>::INFINITY;
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn finite(self) -> bool {
                self.is_finite()
            }
        }
    )*};
}

numbers!(f32 f64);

struct Walk<'a, N> {
    inner: usize,
    feature: usize,
    /// Elements until the next feature.
    left: usize,
    low: &'a mut [N],
    high: &'a mut [N],
}

impl<N: Number> Walk<'_, N> {
    fn add<const FINITE: bool>(&mut self, mut numbers: &[N]) {
        if self.inner == 1 {
            while !numbers.is_empty() {
                let row;
                (row, numbers) = numbers.split_at(numbers.len().min(self.low.len() - self.feature));
                let to = self.feature + row.len();
                columns::<N, FINITE>(row, &mut self.low[self.feature..to], &mut self.high[self.feature..to]);
                self.feature = if to == self.low.len() { 0 } else { to };
            }
        }
        while !numbers.is_empty() {
            let run;
            (run, numbers) = numbers.split_at(numbers.len().min(self.left));
            range::<N, FINITE>(run, &mut self.low[self.feature], &mut self.high[self.feature]);
            self.left -= run.len();
            if self.left == 0 {
                self.left = self.inner;
                self.feature = (self.feature + 1) % self.low.len();
            }
        }
    }
}

#[inline(always)]
fn widen<N: Number, const FINITE: bool>(x: N, low: &mut N, high: &mut N) {
    let counts = FINITE || x.finite();
    *low = if counts && x < *low { x } else { *low };
    *high = if counts && x > *high { x } else { *high };
}

macro_rules! also_for_avx2 {
    ($(fn $name:ident / $vector:ident / $scalar:ident ($($arg:ident: $type:ty),*) $body:block)*) => {$(
        #[inline(always)]
        fn $scalar<N: Number, const FINITE: bool>($($arg: $type),*) $body

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn $vector<N: Number, const FINITE: bool>($($arg: $type),*) {
            $scalar::<N, FINITE>($($arg),*)
        }

        fn $name<N: Number, const FINITE: bool>($($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has what the function was compiled for.
                return unsafe { $vector::<N, FINITE>($($arg),*) };
            }
            $scalar::<N, FINITE>($($arg),*)
        }
    )*};
}

also_for_avx2! {
    fn range / range_avx2 / range_scalar(run: &[N], low: &mut N, high: &mut N) {
        const LANES: usize = 32;
        let (mut lows, mut highs) = ([N::ABOVE; LANES], [N::BELOW; LANES]);
        let (groups, rest) = run.as_chunks::<LANES>();
        for group in groups {
            for lane in 0..LANES {
                widen::<N, FINITE>(group[lane], &mut lows[lane], &mut highs[lane]);
            }
        }
        for lane in 0..LANES {
            *low = if lows[lane] < *low { lows[lane] } else { *low };
            *high = if highs[lane] > *high { highs[lane] } else { *high };
        }
        rest.iter().for_each(|x| widen::<N, FINITE>(*x, low, high));
    }

    fn columns / columns_avx2 / columns_scalar(row: &[N], low: &mut [N], high: &mut [N]) {
        for ((x, low), high) in row.iter().zip(low).zip(high) {
            widen::<N, FINITE>(*x, low, high);
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
        // The float32 kernel adds in float32 over short parts.
        let near = a.sum_squares == b.sum_squares || (a.sum_squares - b.sum_squares).abs() <= 2e-6 * b.sum_squares;
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
        fn both_ways_to_compile_agree_to_the_bit(numbers in prop::collection::vec(any::<f64>(), 1..100)) {
            let places = |x: f64| vec![x; numbers.len()];
            let (mut low, mut high) = (places(f64::INFINITY), places(f64::NEG_INFINITY));
            let (mut scalar_low, mut scalar_high) = (low.clone(), high.clone());
            range::<f64, false>(&numbers, &mut low[0], &mut high[0]);
            range_scalar::<f64, false>(&numbers, &mut scalar_low[0], &mut scalar_high[0]);
            columns::<f64, false>(&numbers, &mut low, &mut high);
            columns_scalar::<f64, false>(&numbers, &mut scalar_low, &mut scalar_high);
            prop_assert_eq!((low, high), (scalar_low, scalar_high));
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
