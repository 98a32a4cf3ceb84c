//! Kernels for AVX2 with FMA and F16C.
//!
//! The magnitude bits of a float order as an integer does, infinity above every finite number and NaN above that: one
//! integer maximum is both the finiteness check and the largest magnitude, and no flush-to-zero mode touches it.

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::Pass;
use crate::element::Element;

/// Whether this processor runs the kernels; a cached load after the first call.
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}

/// Vectors per round of a loop: enough independent chains to cover the latency of the additions.
const UNROLL: usize = 2;

/// How far ahead memory is asked for: the hardware prefetcher stops at each 4 KiB page.
pub(super) const PREFETCH_BYTES: usize = 2048;

/// Loads `UNROLL` vectors, and asks for memory further on.
#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn load<T: Copy, const N: usize>(numbers: &[T; N]) -> [__m256i; UNROLL] {
    const { assert!(size_of::<T>() * N == 32 * UNROLL) };
    let start: *const __m256i = numbers.as_ptr().cast();
    _mm_prefetch::<_MM_HINT_T0>(start.wrapping_byte_add(PREFETCH_BYTES).cast());
    // SAFETY: the array is as long as the two vectors.
    unsafe { [_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))] }
}

/// Four running sums of squares in float64.
struct Squares([__m256d; 4]);

impl Squares {
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn new() -> Squares {
        Squares([_mm256_setzero_pd(); 4])
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn add(&mut self, i: usize, x: __m256d) {
        self.0[i] = _mm256_fmadd_pd(x, x, self.0[i]);
    }

    /// Eight float32, into the sums `i` and `i + 1`.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn add_f32(&mut self, i: usize, x: __m256) {
        self.add(i, _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
        self.add(i + 1, _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(x)));
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn total(self) -> f64 {
        let [a, b, c, d] = self.0;
        let sum = _mm256_add_pd(_mm256_add_pd(a, b), _mm256_add_pd(c, d));
        // SAFETY: four float64 are as long as the vector, and every bit pattern is valid.
        unsafe { std::mem::transmute::<__m256d, [f64; 4]>(sum) }.iter().sum()
    }
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn max_epi64(a: __m256i, b: __m256i) -> __m256i {
    _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b))
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn square_f64(squares: &mut Squares, i: usize, x: __m256i) {
    squares.add(i, _mm256_castsi256_pd(x));
    // Alternates between two of the four sums per vector, so that each of the two vectors has two chains.
    squares.0.swap(i, i + 1);
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn square_f32(squares: &mut Squares, i: usize, x: __m256i) {
    squares.add_f32(i, _mm256_castsi256_ps(x));
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn square_f16(squares: &mut Squares, _: usize, x: __m256i) {
    squares.add_f32(0, _mm256_cvtph_ps(_mm256_castsi256_si128(x)));
    squares.add_f32(2, _mm256_cvtph_ps(_mm256_extracti128_si256::<1>(x)));
}

#[inline]
#[target_feature(enable = "avx2,fma,f16c")]
fn square_bf16(squares: &mut Squares, _: usize, x: __m256i) {
    // A bfloat16 is the upper half of a float32.
    let zero = _mm256_setzero_si256();
    squares.add_f32(0, _mm256_castsi256_ps(_mm256_unpacklo_epi16(zero, x)));
    squares.add_f32(2, _mm256_castsi256_ps(_mm256_unpackhi_epi16(zero, x)));
}

/// The largest magnitude of a block as float64, `None` unless all of it is finite; `$visit` sees every vector.
macro_rules! each_vector {
    ($block:ident, $type:ident, $bits:ident, $set:ident, $max:ident, |$i:pat_param, $x:pat_param| $visit:expr) => {{
        const PER_ROUND: usize = 32 * UNROLL / size_of::<$type>();
        const MAGNITUDE: $bits = $bits::MAX >> 1;
        let magnitude = $set(MAGNITUDE.cast_signed());
        let mut largest = [_mm256_setzero_si256(); UNROLL];
        let mut round = |vectors: [__m256i; UNROLL]| {
            for (i, vector) in vectors.into_iter().enumerate() {
                largest[i] = $max(largest[i], _mm256_and_si256(vector, magnitude));
                let ($i, $x) = (2 * i, vector);
                $visit;
            }
        };
        let (rounds, rest) = $block.as_chunks::<PER_ROUND>();
        for numbers in rounds {
            round(load(numbers));
        }
        if !rest.is_empty() {
            // Zeros change neither the maximum nor the sums.
            let mut padded = [$type::from_bits(0); PER_ROUND];
            padded[..rest.len()].copy_from_slice(rest);
            round(load(&padded));
        }
        // SAFETY: the integers are as long as the vector, and every bit pattern is valid.
        let lanes: [$bits; 32 / size_of::<$type>()] = unsafe { std::mem::transmute($max(largest[0], largest[1])) };
        let largest = $type::from_bits(lanes.into_iter().fold(0, $bits::max)).to_f64();
        largest.is_finite().then_some(largest)
    }};
}
macro_rules! kernels {
    ($($type:ident as $bits:ident, set $set:ident, max $max:ident, square $square:ident: $pass:ident $max_abs:ident;)*) => {$(
        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $pass(block: &[$type]) -> Option<Pass> {
            let mut squares = Squares::new();
            let max_abs = each_vector!(block, $type, $bits, $set, $max, |i, x| $square(&mut squares, i, x))?;
            Some(Pass { finite: true, max_abs, sum_squares: squares.total() })
        }

        #[target_feature(enable = "avx2,fma,f16c")]
        pub(super) fn $max_abs(block: &[$type]) -> Option<f64> {
            each_vector!(block, $type, $bits, $set, $max, |_i, _x| ())
        }
    )*};
}

/// Elements whose squares are added in float32 before the sum goes on in float64.
pub(super) const SINGLE: usize = 1024;

/// Below this magnitude squares get near the smallest float32, and a sum of them loses digits.
pub(super) const SINGLE_MIN: f64 = 1e-12;

/// As `pass_f32_wide`, twice as fast: squares are added in float32 over `SINGLE` elements at a time, 32 in each lane, and
/// in float64 from there on. The relative error of the sum is below 32 * 2^-24. Blocks whose squares do not fit float32
/// are read again.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn pass_f32(block: &[f32]) -> Option<Pass> {
    let mut total = Pass::default();
    for part in block.chunks(SINGLE) {
        let mut squares = [_mm256_setzero_ps(); 2 * UNROLL];
        let max_abs = each_vector!(part, f32, u32, _mm256_set1_epi32, _mm256_max_epi32, |i, x| {
            let x = _mm256_castsi256_ps(x);
            squares[i] = _mm256_fmadd_ps(x, x, squares[i]);
            squares.swap(i, i + 1);
        })?;
        let mut wide = Squares::new();
        for (i, sum) in squares.into_iter().enumerate() {
            wide.0[i] = _mm256_add_pd(
                _mm256_cvtps_pd(_mm256_castps256_ps128(sum)),
                _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(sum)),
            );
        }
        let mut sum_squares = wide.total();
        if !sum_squares.is_finite() || (max_abs < SINGLE_MIN && max_abs > 0.0) {
            sum_squares = pass_f32_wide(part)?.sum_squares;
        }
        total.max_abs = total.max_abs.max(max_abs);
        total.sum_squares += sum_squares;
    }
    Some(total)
}

kernels! {
    f64 as u64, set _mm256_set1_epi64x, max max_epi64, square square_f64: pass_f64 max_abs_f64;
    f32 as u32, set _mm256_set1_epi32, max _mm256_max_epi32, square square_f32: pass_f32_wide max_abs_f32;
    f16 as u16, set _mm256_set1_epi16, max _mm256_max_epi16, square square_f16: pass_f16 max_abs_f16;
    bf16 as u16, set _mm256_set1_epi16, max _mm256_max_epi16, square square_bf16: pass_bf16 max_abs_bf16;
}

/// Whether all are finite: that is in the upper half of each, and AVX2 has no maximum of 64-bit integers.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn finite_f64(block: &[f64]) -> bool {
    const PER_ROUND: usize = 4 * UNROLL;
    const INFINITY: i32 = (f64::INFINITY.to_bits() >> 32) as i32;
    let magnitude = _mm256_set1_epi64x(0x7fff_ffff << 32);
    let mut largest = [_mm256_setzero_si256(); UNROLL];
    let mut round = |vectors: [__m256i; UNROLL]| {
        for (largest, vector) in largest.iter_mut().zip(vectors) {
            *largest = _mm256_max_epi32(*largest, _mm256_and_si256(vector, magnitude));
        }
    };
    let (rounds, rest) = block.as_chunks::<PER_ROUND>();
    for numbers in rounds {
        round(load(numbers));
    }
    let mut padded = [0.0; PER_ROUND];
    padded[..rest.len()].copy_from_slice(rest);
    round(load(&padded));
    // SAFETY: the integers are as long as the vector, and every bit pattern is valid.
    let lanes: [i32; 8] = unsafe { std::mem::transmute(_mm256_max_epi32(largest[0], largest[1])) };
    lanes.into_iter().all(|lane| lane < INFINITY)
}

/// What the codes of 8-bit numbers tell, whatever the type.
pub(super) struct Extremes {
    /// Largest code without its sign.
    pub(super) magnitude: u8,
    /// Whether one is the sign alone.
    pub(super) has_negative_zero: bool,
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) fn extremes(codes: &[u8]) -> Extremes {
    const PER_ROUND: usize = 32 * UNROLL;
    let (magnitude, sign) = (_mm256_set1_epi8(0x7f), _mm256_set1_epi8(i8::MIN));
    let (mut largest, mut negative_zero) = ([_mm256_setzero_si256(); UNROLL], [_mm256_setzero_si256(); UNROLL]);
    let mut round = |vectors: [__m256i; UNROLL]| {
        for (i, vector) in vectors.into_iter().enumerate() {
            largest[i] = _mm256_max_epu8(largest[i], _mm256_and_si256(vector, magnitude));
            negative_zero[i] = _mm256_or_si256(negative_zero[i], _mm256_cmpeq_epi8(vector, sign));
        }
    };
    let (rounds, rest) = codes.as_chunks::<PER_ROUND>();
    for codes in rounds {
        round(load(codes));
    }
    let mut padded = [0; PER_ROUND];
    padded[..rest.len()].copy_from_slice(rest);
    round(load(&padded));
    let negative_zero = _mm256_or_si256(negative_zero[0], negative_zero[1]);
    // SAFETY: the integers are as long as the vector, and every bit pattern is valid.
    let lanes: [u8; 32] = unsafe { std::mem::transmute(_mm256_max_epu8(largest[0], largest[1])) };
    Extremes {
        magnitude: lanes.into_iter().fold(0, u8::max),
        has_negative_zero: _mm256_movemask_epi8(negative_zero) != 0,
    }
}
