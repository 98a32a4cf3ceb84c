//! The running state of a census: fixed in size, 64 KiB on the stack.
//!
//! [`Tally::define`] is the definition. What can be counted faster is: whole registers of float32, float16 and bfloat16 by SIMD,
//! 8-bit numbers by how often each of the 256 codes occurs.

#[cfg(target_arch = "x86_64")]
mod positions;
#[cfg(target_arch = "x86_64")]
mod simd;
#[cfg(target_arch = "x86_64")]
mod vector;

use std::hint::black_box;

use half::{bf16, f16};

use crate::census::Census;
use crate::element::{CHUNK, Element};
use crate::format::{Format, exponent_of};
use crate::fp8;

/// Exponent fields of a float64.
const FIELDS: usize = 2048;

/// The field of infinities and NaN.
const BAD_FIELD: usize = FIELDS - 1;

const EXPONENT_BIAS: i32 = 1023;

/// Exponents of float64 subnormals, the only numbers whose float64 field does not tell their exponent: -1074..=-1023.
const LOWEST_EXPONENT: i32 = -1074;
const SUBNORMAL_EXPONENTS: usize = 52;

/// Values of a byte.
const CODES: usize = 256;

/// Tables that bytes are counted into in turn: runs of one value do not wait for the same counter.
const CODE_TABLES: usize = 8;

pub(crate) struct Tally {
    /// Counts by float64 exponent field, in turn into one table and the other: an increment need not wait for the last.
    fields: [[u64; FIELDS]; 2],
    subnormals: [u64; SUBNORMAL_EXPONENTS],
    nan: u64,
    posinf: u64,
    neginf: u64,
    zero: u64,
    finite: Moments,
    codes: [u64; CODES],
    /// What the codes stand for; all numbers of a tensor are of one type.
    decode: fn(u8) -> f64,
    #[cfg(target_arch = "x86_64")]
    simd: simd::Simd,
}

/// A type whose numbers a tally counts.
pub(crate) trait Counted: Element {
    fn count(tally: &mut Tally, block: &[Self]) {
        tally.define(block);
    }
}

macro_rules! counted {
    (by simd: $($wide:ty)*; by code: $($byte:ty)*; by definition: $($other:ty)*) => {
        $(impl Counted for $wide {
            fn count(tally: &mut Tally, mut block: &[Self]) {
                #[cfg(target_arch = "x86_64")]
                if let Some((taken, moments)) = tally.simd.take(block) {
                    tally.finite = tally.finite.merge(moments);
                    block = &block[taken..];
                }
                tally.define(block);
            }
        })*
        $(impl Counted for $byte {
            fn count(tally: &mut Tally, block: &[Self]) {
                tally.add_codes(block);
            }
        })*
        $(impl Counted for $other {})*
    };
}

counted! {
    by simd: f32 f16 bf16;
    by code: i8 u8 fp8::E4M3Fn fp8::E4M3Fnuz fp8::E5M2 fp8::E5M2Fnuz fp8::E8M0Fnu;
    by definition: f64 i16 i32 i64 u16 u32 u64
}

/// Extremes and sums of finite numbers.
#[derive(Clone, Copy)]
struct Moments {
    min: f64,
    max: f64,
    /// Bits of the smallest nonzero magnitude, less 1: zero wraps round to the top.
    min_abs_less_1: u64,
    sum: f64,
    sum_squares: f64,
}

impl Moments {
    const NONE: Moments =
        Moments { min: f64::INFINITY, max: f64::NEG_INFINITY, min_abs_less_1: u64::MAX, sum: 0.0, sum_squares: 0.0 };

    #[inline(always)]
    fn add(&mut self, x: f64) {
        self.min = if x < self.min { x } else { self.min };
        self.max = if x > self.max { x } else { self.max };
        self.min_abs_less_1 = self.min_abs_less_1.min(x.abs().to_bits().wrapping_sub(1));
        self.sum += x;
        self.sum_squares += x * x;
    }

    fn merge(self, other: Moments) -> Moments {
        Moments {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            min_abs_less_1: self.min_abs_less_1.min(other.min_abs_less_1),
            sum: self.sum + other.sum,
            sum_squares: self.sum_squares + other.sum_squares,
        }
    }
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally {
            fields: [[0; FIELDS]; 2],
            subnormals: [0; SUBNORMAL_EXPONENTS],
            nan: 0,
            posinf: 0,
            neginf: 0,
            zero: 0,
            finite: Moments::NONE,
            codes: [0; CODES],
            decode: f64::from,
            #[cfg(target_arch = "x86_64")]
            simd: simd::Simd::Unused,
        }
    }

    pub(crate) fn add<T: Counted>(&mut self, block: &[T]) {
        T::count(self, block);
    }

    /// Adds what another tally has counted of the same tensor.
    pub(crate) fn merge(&mut self, mut other: Tally) {
        other.settle();
        for (mine, theirs) in self.fields.as_flattened_mut().iter_mut().zip(other.fields.as_flattened()) {
            *mine += theirs;
        }
        for (mine, theirs) in self.subnormals.iter_mut().zip(other.subnormals) {
            *mine += theirs;
        }
        self.nan += other.nan;
        self.posinf += other.posinf;
        self.neginf += other.neginf;
        self.zero += other.zero;
        self.finite = self.finite.merge(other.finite);
    }

    /// Brings what was counted by SIMD and by code, once and for all, into the fields of the definition.
    fn settle(&mut self) {
        #[cfg(target_arch = "x86_64")]
        {
            let fields = &mut self.fields[0];
            self.zero += self.simd.finish(|exponent, count| fields[(exponent + EXPONENT_BIAS) as usize] += count);
        }
        for code in 0..=u8::MAX {
            let count = self.codes[code as usize];
            if count == 0 {
                continue;
            }
            let x = (self.decode)(code);
            match field(x) {
                BAD_FIELD if x.is_nan() => self.nan += count,
                BAD_FIELD if x > 0.0 => self.posinf += count,
                BAD_FIELD => self.neginf += count,
                field => {
                    // No 8-bit number is a float64 subnormal.
                    *(if field == 0 { &mut self.zero } else { &mut self.fields[0][field] }) += count;
                    let mut one = Moments::NONE;
                    one.add(x);
                    self.finite =
                        self.finite.merge(Moments { sum: x * count as f64, sum_squares: x * x * count as f64, ..one });
                }
            }
        }
    }

    /// Counts 8-bit numbers.
    fn add_codes<T: Element>(&mut self, block: &[T]) {
        fn decode<T: Element>(code: u8) -> f64 {
            const { assert!(size_of::<T>() == 1) };
            // SAFETY: as long as one number, of which every bit pattern is valid.
            unsafe { (&raw const code).cast::<T>().read() }.to_f64()
        }
        self.decode = decode::<T>;
        // SAFETY: so many numbers of one byte.
        let bytes: &[u8] = unsafe { std::slice::from_raw_parts(block.as_ptr().cast(), block.len()) };
        // Counts of 16 bits do not overflow within so many bytes.
        for bytes in bytes.chunks(CODE_TABLES * usize::from(u16::MAX)) {
            let mut tables = [[0u16; CODES]; CODE_TABLES];
            let (groups, rest) = bytes.as_chunks::<CODE_TABLES>();
            for group in groups {
                for (table, code) in tables.iter_mut().zip(group) {
                    table[usize::from(*code)] += 1;
                }
            }
            for code in rest {
                self.codes[usize::from(*code)] += 1;
            }
            for table in tables {
                for (total, count) in self.codes.iter_mut().zip(table) {
                    *total += u64::from(count);
                }
            }
        }
    }

    /// The definition: every number widened to float64.
    fn define<T: Element>(&mut self, block: &[T]) {
        let mut buffer = [0.0; CHUNK];
        for chunk in block.chunks(CHUNK) {
            let numbers = &mut buffer[..chunk.len()];
            T::widen(chunk, numbers);
            self.add_numbers(numbers);
        }
    }

    fn add_numbers(&mut self, numbers: &[f64]) {
        let (zeros_before, bad_before) = (self.by_field(0), self.by_field(BAD_FIELD));
        let (pairs, last) = numbers.as_chunks::<2>();
        for [a, b] in pairs {
            self.fields[0][field(*a)] += 1;
            self.fields[1][field(*b)] += 1;
        }
        for x in last {
            self.fields[0][field(*x)] += 1;
        }
        let bad = self.by_field(BAD_FIELD) > bad_before;
        if bad || self.by_field(0) > zeros_before {
            self.add_odd(numbers);
        }
        self.finite = self.finite.merge(if bad { moments::<true>(numbers) } else { moments::<false>(numbers) });
    }

    fn by_field(&self, field: usize) -> u64 {
        self.fields[0][field] + self.fields[1][field]
    }

    /// Zeros, infinities, NaNs and float64 subnormals.
    fn add_odd(&mut self, numbers: &[f64]) {
        for &x in numbers {
            // Opaque bits: of plain ones the compiler makes `x == 0.0`, which under flush-to-zero a subnormal passes.
            match (field(x), black_box(x.to_bits()) << 1) {
                (0, 0) => self.zero += 1,
                (0, _) => self.subnormals[(exponent_of(x) - LOWEST_EXPONENT) as usize] += 1,
                (BAD_FIELD, _) if x.is_nan() => self.nan += 1,
                (BAD_FIELD, _) if x > 0.0 => self.posinf += 1,
                (BAD_FIELD, _) => self.neginf += 1,
                _ => {}
            }
        }
    }

    /// The census but for `n` and `first_bad`, each number counted `repeat` times.
    pub(crate) fn finish(mut self, repeat: u64, format: Option<&Format>) -> Census {
        self.settle();
        let subnormals = self.subnormals.iter().enumerate().map(|(i, count)| (i as i32 + LOWEST_EXPONENT, *count));
        let normals = (1..BAD_FIELD).map(|field| (field as i32 - EXPONENT_BIAS, self.by_field(field)));
        let exponents: Vec<_> = subnormals
            .chain(normals)
            .filter(|(_, count)| *count > 0)
            .map(|(exponent, count)| (exponent, count * repeat))
            .collect();
        let subnormal = format.map_or(0, |format| {
            let below = |(exponent, _): &&(i32, u64)| *exponent < format.min_exponent();
            exponents.iter().take_while(below).map(|(_, count)| count).sum()
        });
        let Moments { min, max, min_abs_less_1, sum, sum_squares } = self.finite;
        let any = min <= max;
        let representable = |x: f64| Some(x * repeat as f64).filter(|x| x.is_finite());
        Census {
            n: 0,
            nan: self.nan * repeat,
            posinf: self.posinf * repeat,
            neginf: self.neginf * repeat,
            zero: self.zero * repeat,
            subnormal,
            min: any.then_some(min),
            max: any.then_some(max),
            max_abs: any.then(|| max.abs().max(min.abs())),
            min_abs_nonzero: (min_abs_less_1 != u64::MAX).then(|| f64::from_bits(min_abs_less_1 + 1)),
            sum: representable(sum),
            sum_squares: representable(sum_squares),
            first_bad: None,
            exponents,
        }
    }
}

fn field(x: f64) -> usize {
    (x.to_bits() >> 52) as usize & (FIELDS - 1)
}

/// Of the finite numbers; all are finite unless `SOME_BAD`.
fn moments<const SOME_BAD: bool>(numbers: &[f64]) -> Moments {
    const LANES: usize = 4;
    let mut lanes = [Moments::NONE; LANES];
    let (groups, rest) = numbers.as_chunks::<LANES>();
    for group in groups {
        for (lane, x) in lanes.iter_mut().zip(group) {
            if !SOME_BAD || x.is_finite() {
                lane.add(*x);
            }
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        if !SOME_BAD || x.is_finite() {
            lane.add(*x);
        }
    }
    lanes.into_iter().fold(Moments::NONE, Moments::merge)
}
