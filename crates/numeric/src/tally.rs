//! The running state of a census: fixed in size, 32 KiB on the stack.

use std::hint::black_box;

use crate::census::Census;
use crate::element::{CHUNK, Element};
use crate::format::{Format, exponent_of};

/// Exponent fields of a float64.
const FIELDS: usize = 2048;

/// The field of infinities and NaN.
const BAD_FIELD: usize = FIELDS - 1;

const EXPONENT_BIAS: i32 = 1023;

/// Exponents of float64 subnormals, the only numbers whose float64 field does not tell their exponent: -1074..=-1023.
const LOWEST_EXPONENT: i32 = -1074;
const SUBNORMAL_EXPONENTS: usize = 52;

pub(crate) struct Tally {
    /// Counts by float64 exponent field, in turn into one table and the other: an increment need not wait for the last.
    fields: [[u64; FIELDS]; 2],
    subnormals: [u64; SUBNORMAL_EXPONENTS],
    nan: u64,
    posinf: u64,
    neginf: u64,
    zero: u64,
    finite: Moments,
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
        }
    }

    pub(crate) fn add<T: Element>(&mut self, block: &[T]) {
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
    pub(crate) fn finish(self, repeat: u64, format: Option<&Format>) -> Census {
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
