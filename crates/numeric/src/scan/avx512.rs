//! Kernels for AVX-512, for float32 that lie in a cache: what comes from memory, those for AVX2 read as fast.

use std::arch::x86_64::*;

use super::Pass;
use super::avx2::{self, PREFETCH_BYTES, SINGLE_MIN};

/// Whether this processor runs the kernels; a cached load after the first call.
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx512f") && avx2::available()
}

/// Registers per round of a loop: enough independent chains to cover the latency of the additions.
const UNROLL: usize = 4;
const PER_ROUND: usize = 16 * UNROLL;

/// Elements whose squares are added in float32: as many in each lane as AVX2 adds.
const SINGLE: usize = 2 * avx2::SINGLE;

/// Loads a round, and asks for memory further on.
#[inline]
#[target_feature(enable = "avx512f")]
fn load(numbers: &[f32; PER_ROUND]) -> [__m512; UNROLL] {
    std::array::from_fn(|i| {
        let start = numbers[16 * i..].as_ptr();
        _mm_prefetch::<_MM_HINT_T0>(start.wrapping_byte_add(PREFETCH_BYTES).cast());
        // SAFETY: there are sixteen numbers from here on.
        unsafe { _mm512_loadu_ps(start) }
    })
}

/// As that for AVX2: squares are added in float32 over `SINGLE` elements at a time, 32 in each lane.
#[target_feature(enable = "avx512f,avx2,fma,f16c")]
pub(super) fn pass_f32(block: &[f32]) -> Option<Pass> {
    let magnitude = _mm512_set1_epi32(i32::MAX);
    let mut total = Pass::default();
    for part in block.chunks(SINGLE) {
        let mut largest = [_mm512_setzero_si512(); UNROLL];
        let mut squares = [_mm512_setzero_ps(); UNROLL];
        let mut round = |vectors: [__m512; UNROLL]| {
            for (i, x) in vectors.into_iter().enumerate() {
                largest[i] = _mm512_max_epi32(largest[i], _mm512_and_si512(_mm512_castps_si512(x), magnitude));
                squares[i] = _mm512_fmadd_ps(x, x, squares[i]);
            }
        };
        let (rounds, rest) = part.as_chunks::<PER_ROUND>();
        for numbers in rounds {
            round(load(numbers));
        }
        if !rest.is_empty() {
            // Zeros change neither the maximum nor the sums.
            let mut padded = [0.0; PER_ROUND];
            padded[..rest.len()].copy_from_slice(rest);
            round(load(&padded));
        }
        let [a, b, c, d] = largest;
        let largest = _mm512_reduce_max_epi32(_mm512_max_epi32(_mm512_max_epi32(a, b), _mm512_max_epi32(c, d)));
        let max_abs = f64::from(f32::from_bits(largest.cast_unsigned()));
        if !max_abs.is_finite() {
            return None;
        }
        let mut wide = _mm512_setzero_pd();
        for sum in squares {
            let upper = _mm512_extractf64x4_pd::<1>(_mm512_castps_pd(sum));
            wide = _mm512_add_pd(wide, _mm512_cvtps_pd(_mm512_castps512_ps256(sum)));
            wide = _mm512_add_pd(wide, _mm512_cvtps_pd(_mm256_castpd_ps(upper)));
        }
        let mut sum_squares = _mm512_reduce_add_pd(wide);
        if !sum_squares.is_finite() || (max_abs < SINGLE_MIN && max_abs > 0.0) {
            sum_squares = avx2::pass_f32_wide(part)?.sum_squares;
        }
        total.max_abs = total.max_abs.max(max_abs);
        total.sum_squares += sum_squares;
    }
    Some(total)
}
