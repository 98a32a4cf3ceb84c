//! The census of a block by SIMD, for float32, float16 and bfloat16.
//!
//! A first pass over the block takes extremes and sums, on the integers that the bits are: they order as the magnitudes do,
//! and no flush-to-zero mode touches them. It tells which exponents can occur; a second pass, over memory that is now in the
//! first-level cache, turns every exponent into one set bit among 32 and counts the bits by position.
//! What it does not take, [`Tally`](super::Tally) reads by the definition: blocks that hold an infinity or NaN, float32 or
//! bfloat16 subnormals, exponents all over the range, or bfloat16 whose squares do not fit float32.

use std::arch::x86_64::{__m256i, __m512i};

use half::{bf16, f16};

use super::Moments;
use super::positions::{Positions, ROUND};
use super::vector::Vector;
use crate::element::Element;
use crate::format::{exponent_of, pow2};

/// Windows of 32 exponents over those of float32, of which the first is only partly used: the one that most numbers of a
/// network lie in is whole, 2^-21 to 2^10.
const WINDOWS: usize = 9;
const WINDOW_SHIFT: i32 = 22;

/// A block that needs more windows than this is read by the definition, which is then faster.
const MOST_WINDOWS: usize = 3;

const SINGLE_BIAS: i32 = 127;
const HALF_BIAS: i32 = 15;

/// Rounds after which sums in float32 go on in float64: 32 numbers in each lane.
const SINGLE_ROUNDS: usize = 8;

/// A first block of fewer numbers than this is not worth setting up the counters.
const SMALLEST: usize = 512;

/// A type that can be counted by registers.
pub(super) trait Source: Element {
    /// Bits.
    const WIDTH: u32;
    const INFINITY: u32;
    /// Registers of float32 that one register of this type makes.
    const PARTS: usize = 32 / Self::WIDTH as usize;
    /// Smallest magnitude that can be taken but for 0.
    const LEAST: f64;

    fn of_bits(bits: u32) -> f64;
    unsafe fn part<V: Vector>(x: V, part: usize) -> V;

    /// Whether squares up to this magnitude's, and their sums, fit the format in which they are added.
    fn squares_fit(_max_abs: f64) -> bool {
        true
    }

    /// The exponent fields themselves, modulo 32, where they have 5 bits and no number is subnormal.
    unsafe fn fields<V: Vector>(_x: V, _part: usize) -> Option<V> {
        None
    }
}

impl Source for f32 {
    const WIDTH: u32 = 32;
    const INFINITY: u32 = 0x7f80_0000;
    const LEAST: f64 = pow2(-126);

    fn of_bits(bits: u32) -> f64 {
        f32::from_bits(bits).to_f64()
    }

    #[inline(always)]
    unsafe fn part<V: Vector>(x: V, _: usize) -> V {
        x
    }
}

impl Source for bf16 {
    const WIDTH: u32 = 16;
    const INFINITY: u32 = 0x7f80;
    const LEAST: f64 = pow2(-126);

    fn of_bits(bits: u32) -> f64 {
        bf16::from_bits(bits as u16).to_f64()
    }

    #[inline(always)]
    unsafe fn part<V: Vector>(x: V, part: usize) -> V {
        // SAFETY: as the caller vouches for the instructions. A bfloat16 is the upper half of a float32.
        unsafe { if part == 0 { x.shl_16() } else { x.and(V::splat(0xffff_0000u32 as i32)) } }
    }

    fn squares_fit(max_abs: f64) -> bool {
        max_abs == 0.0 || (pow2(-40)..pow2(55)).contains(&max_abs)
    }
}

impl Source for f16 {
    const WIDTH: u32 = 16;
    const INFINITY: u32 = 0x7c00;
    const LEAST: f64 = 0.0;

    fn of_bits(bits: u32) -> f64 {
        f16::from_bits(bits as u16).to_f64()
    }

    #[inline(always)]
    unsafe fn part<V: Vector>(x: V, part: usize) -> V {
        // SAFETY: as the caller vouches for the instructions.
        unsafe { x.widen_f16(part) }
    }

    #[inline(always)]
    unsafe fn fields<V: Vector>(x: V, part: usize) -> Option<V> {
        // SAFETY: as the caller vouches for the instructions.
        Some(unsafe { if part == 0 { x.shr_10() } else { x.shr_26() } })
    }
}

/// Counts by exponent so far.
pub(super) struct Counter<V> {
    windows: [Positions<V>; WINDOWS],
    /// Of float16 without subnormals, by its own exponent field.
    direct: Positions<V>,
    /// Numbers taken, zeros included.
    taken: u64,
}

/// The counter for the registers of this processor.
#[allow(clippy::large_enum_variant, reason = "on the stack, once for each census")]
pub(super) enum Simd {
    Unused,
    Avx2(Counter<__m256i>),
    Avx512(Counter<__m512i>),
}

fn avx2_available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}

fn avx512_available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}

impl Simd {
    /// Takes as many numbers from the start of a block as fill whole registers: how many, with their extremes and sums.
    pub(super) fn take<T: Source>(&mut self, block: &[T]) -> Option<(usize, Moments)> {
        if matches!(self, Simd::Unused) {
            if block.len() < SMALLEST {
                return None;
            }
            if avx512_available() {
                // SAFETY: the processor has the instructions.
                *self = Simd::Avx512(unsafe { Counter::new() });
            } else if avx2_available() {
                // SAFETY: as above.
                *self = Simd::Avx2(unsafe { Counter::new() });
            }
        }
        match self {
            Simd::Unused => None,
            // SAFETY: there is such a counter only where the processor has the instructions.
            Simd::Avx2(counter) => unsafe { take_avx2(counter, block) },
            // SAFETY: as above.
            Simd::Avx512(counter) => unsafe { take_avx512(counter, block) },
        }
    }

    /// Calls `each` with every exponent and how many numbers have it; returns how many of the numbers taken are zeros.
    pub(super) fn finish(&mut self, each: impl FnMut(i32, u64)) -> u64 {
        match self {
            Simd::Unused => 0,
            // SAFETY: there is such a counter only where the processor has the instructions.
            Simd::Avx2(counter) => unsafe { counter.finish(each) },
            // SAFETY: as above.
            Simd::Avx512(counter) => unsafe { counter.finish(each) },
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
fn take_avx2<T: Source>(counter: &mut Counter<__m256i>, block: &[T]) -> Option<(usize, Moments)> {
    // SAFETY: this function was compiled for the instructions.
    unsafe { counter.take(block) }
}

#[target_feature(enable = "avx512f,avx512bw")]
fn take_avx512<T: Source>(counter: &mut Counter<__m512i>, block: &[T]) -> Option<(usize, Moments)> {
    // SAFETY: this function was compiled for the instructions.
    unsafe { counter.take(block) }
}

impl<V: Vector> Counter<V> {
    unsafe fn new() -> Self {
        // SAFETY: as the caller vouches for the instructions.
        let none = unsafe { Positions::new() };
        Counter { windows: [none; WINDOWS], direct: none, taken: 0 }
    }

    #[inline(always)]
    unsafe fn take<T: Source>(&mut self, block: &[T]) -> Option<(usize, Moments)> {
        let round_bytes = ROUND / T::PARTS * V::BYTES;
        let rounds = size_of_val(block) / round_bytes;
        if rounds == 0 {
            return None;
        }
        let start: *const u8 = block.as_ptr().cast();
        // SAFETY: so many rounds lie within the block, and the caller vouches for the instructions.
        let moments = unsafe { moments::<T, V>(start, rounds) }?;
        let count = rounds * round_bytes / size_of::<T>();
        if moments.min_abs_less_1 == u64::MAX {
            self.taken += count as u64;
            return Some((count, moments));
        }
        let least = f64::from_bits(moments.min_abs_less_1 + 1);
        let largest = moments.max.abs().max(moments.min.abs());
        if least < T::LEAST || !T::squares_fit(largest) {
            return None;
        }
        // SAFETY: as above.
        unsafe {
            if T::fields(V::zero(), 0).is_some() && least >= pow2(1 - HALF_BIAS) {
                self.direct.reserve();
                each_round::<T, V>(start, rounds, &mut self.direct, |x, part| match T::fields(x, part) {
                    Some(field) => field.bit_modulo(),
                    None => x,
                });
            } else {
                let window = |x: f64| (exponent_of(x) + SINGLE_BIAS + WINDOW_SHIFT) as usize / 32;
                let windows = window(least)..window(largest) + 1;
                if windows.len() > MOST_WINDOWS {
                    return None;
                }
                for window in windows {
                    let base = V::splat(first_field(window));
                    let positions = &mut self.windows[window];
                    positions.reserve();
                    each_round::<T, V>(start, rounds, positions, |x, part| {
                        T::part(x, part).shl_1().shr_24().sub(base).bit()
                    });
                }
            }
        }
        self.taken += count as u64;
        Some((count, moments))
    }

    unsafe fn finish(&mut self, mut each: impl FnMut(i32, u64)) -> u64 {
        let mut nonzero = 0;
        let mut add = |exponent, count| {
            nonzero += count;
            each(exponent, count);
        };
        for (window, positions) in self.windows.iter_mut().enumerate() {
            // SAFETY: as the caller vouches for the instructions.
            for (bit, count) in (0..).zip(unsafe { positions.counts() }) {
                // Field 0 is that of zeros, as no subnormal was taken.
                if first_field(window) + bit > 0 && count > 0 {
                    add(first_field(window) + bit - SINGLE_BIAS, count);
                }
            }
        }
        // SAFETY: as the caller vouches for the instructions.
        for (field, count) in (0..).zip(unsafe { self.direct.counts() }) {
            if field > 0 && count > 0 {
                add(field - HALF_BIAS, count);
            }
        }
        self.taken - nonzero
    }
}

fn first_field(window: usize) -> i32 {
    32 * window as i32 - WINDOW_SHIFT
}

/// Counts the bits that `bit` makes of the registers of every round.
///
/// # Safety
/// So many rounds must be readable, and the processor must have the instructions.
#[inline(always)]
unsafe fn each_round<T: Source, V: Vector>(
    start: *const u8,
    rounds: usize,
    positions: &mut Positions<V>,
    bit: impl Fn(V, usize) -> V,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        let mut from = start;
        for _ in 0..rounds {
            let mut bits = [V::zero(); ROUND];
            for (i, bits) in bits.iter_mut().enumerate() {
                *bits = bit(V::load(from.add(i / T::PARTS * V::BYTES)), i % T::PARTS);
            }
            positions.add(bits);
            from = from.add(ROUND / T::PARTS * V::BYTES);
        }
    }
}

/// Extremes and sums; `None` when something is not finite.
///
/// # Safety
/// As for [`each_round`].
#[inline(always)]
unsafe fn moments<T: Source, V: Vector>(start: *const u8, rounds: usize) -> Option<Moments> {
    let width = T::WIDTH;
    // SAFETY: as the caller vouches.
    unsafe {
        let minus_1 = V::splat(-1);
        let mut top = V::splat(if width == 16 { 0x8000_8000u32 as i32 } else { i32::MIN });
        let (mut bottom, mut lowest, mut least_less_1) = (V::zero(), minus_1, minus_1);
        let (mut sums, mut squares) = ([V::zero(); 4], [V::zero(); 4]);
        let mut from = start;
        let mut left = rounds;
        while left > 0 {
            let (mut single_sums, mut single_squares) = ([V::zero(); 2], [V::zero(); 2]);
            let part = left.min(SINGLE_ROUNDS);
            for _ in 0..part {
                for i in 0..ROUND / T::PARTS {
                    if i * V::BYTES % 64 == 0 {
                        V::prefetch(from);
                    }
                    let x = V::load(from);
                    from = from.add(V::BYTES);
                    top = top.max_signed(width, x);
                    bottom = bottom.max(width, x);
                    lowest = lowest.min(width, x);
                    // Twice the magnitude, less 1: zero wraps round to the top.
                    least_less_1 = least_less_1.min(width, x.add(width, x).add(width, minus_1));
                    if T::PARTS == 1 {
                        for half in 0..2 {
                            let (k, wide) = (2 * (i % 2) + half, x.widen_f32(half));
                            sums[k] = sums[k].add_f64(wide);
                            squares[k] = squares[k].add_square_f64(wide);
                        }
                    } else {
                        for part in 0..2 {
                            let single = T::part(x, part);
                            single_sums[part] = single_sums[part].add_f32(single);
                            single_squares[part] = single_squares[part].add_square_f32(single);
                        }
                    }
                }
            }
            if T::PARTS > 1 {
                for k in 0..4 {
                    sums[k] = sums[k].add_f64(single_sums[k / 2].widen_f32(k % 2));
                    squares[k] = squares[k].add_f64(single_squares[k / 2].widen_f32(k % 2));
                }
            }
            left -= part;
        }
        let total = |parts: [V; 4]| {
            let [a, b, c, d] = parts;
            a.add_f64(b).add_f64(c.add_f64(d)).lanes::<f64, 8>().iter().sum()
        };
        Extremes {
            top: reduce(width, top, |a, b| if signed(width, a) < signed(width, b) { b } else { a }),
            bottom: reduce(width, bottom, u32::max),
            lowest: reduce(width, lowest, u32::min),
            least_less_1: reduce(width, least_less_1, u32::min),
        }
        .moments::<T>(total(sums), total(squares))
    }
}

/// Folds the integers in a register.
#[inline(always)]
fn reduce<V: Vector>(width: u32, register: V, fold: impl Fn(u32, u32) -> u32) -> u32 {
    let words = register.lanes::<u32, 16>();
    let words = words[..V::BYTES / 4].iter().copied();
    let halves = |word: u32| if width == 16 { fold(word & 0xffff, word >> 16) } else { word };
    words.map(halves).reduce(&fold).unwrap_or(0)
}

fn signed(width: u32, bits: u32) -> i32 {
    if width == 16 { i32::from(bits as i16) } else { bits as i32 }
}

/// Extremes of the bits of some numbers, taken for integers.
struct Extremes {
    /// Largest signed: the largest number without a sign, when there is one.
    top: u32,
    /// Largest unsigned: the lowest number with a sign, when there is one.
    bottom: u32,
    /// Smallest unsigned: of the numbers without a sign, else of all, the one with the smallest magnitude.
    lowest: u32,
    /// Smallest of twice the magnitude less 1.
    least_less_1: u32,
}

impl Extremes {
    fn moments<T: Source>(self, sum: f64, sum_squares: f64) -> Option<Moments> {
        let sign = 1 << (T::WIDTH - 1);
        let bad = |bits: u32| bits & (sign - 1) >= T::INFINITY;
        // Only what has the sign of the question can answer it; `lowest` has it where all have the other.
        let max = if self.top & sign == 0 { self.top } else { self.lowest };
        let min = if self.bottom & sign != 0 { self.bottom } else { self.lowest };
        if bad(max) || bad(min) {
            return None;
        }
        let none = self.least_less_1 == u32::MAX >> (32 - T::WIDTH);
        let least_bits = if none { 0 } else { self.least_less_1.div_ceil(2) };
        Some(Moments {
            min: T::of_bits(min),
            max: T::of_bits(max),
            min_abs_less_1: T::of_bits(least_bits).to_bits().wrapping_sub(1),
            sum,
            sum_squares,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Take<V, T> = unsafe fn(&mut Counter<V>, &[T]) -> Option<(usize, Moments)>;
    type Taken = Option<(usize, [u64; 4], Vec<(i32, u64)>, u64)>;

    fn taken<V: Vector, T: Source>(take: Take<V, T>, block: &[T]) -> Taken {
        // SAFETY: the caller has asked for the instructions.
        unsafe {
            let mut counter = Counter::new();
            let mut total = (0, Moments::NONE);
            for part in block.chunks(1920) {
                let (count, moments) = take(&mut counter, part)?;
                total = (total.0 + count, total.1.merge(moments));
            }
            let mut exponents = vec![];
            let zeros = counter.finish(|exponent, count| exponents.push((exponent, count)));
            exponents.sort();
            let Moments { min, max, min_abs_less_1, sum, .. } = total.1;
            let whole = [min.to_bits(), max.to_bits(), min_abs_less_1, (sum * 16.0) as u64];
            Some((total.0, whole, exponents, zeros))
        }
    }

    /// Whole sixteenths, so that sums are exact in any order; rounds of both widths fill the block.
    fn numbers<T>(of: impl Fn(f32) -> T) -> Vec<T> {
        (0..4 * 1920).map(|i| of((i * 37 % 256 - 100) as f32 / 16.0)).collect()
    }

    #[test]
    fn both_widths_of_registers_say_the_same_of_every_type() {
        if !(avx2_available() && avx512_available()) {
            return;
        }
        fn check<T: Source>(block: &[T]) {
            let (narrow, wide) = (taken(take_avx2, block), taken(take_avx512, block));
            assert!(narrow.is_some());
            assert_eq!(narrow, wide);
        }
        check(&numbers(|x| x));
        check(&numbers(f16::from_f32));
        check(&numbers(bf16::from_f32));
    }
}
