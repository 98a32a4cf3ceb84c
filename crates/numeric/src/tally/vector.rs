//! Registers of 256 and 512 bits under one set of names, so that a kernel is written once.
//!
//! Every function here is inlined into a kernel that was compiled for the instructions it uses; calling one on a processor
//! without them is undefined, which is what each `unsafe` means.

use std::arch::x86_64::*;

/// How far ahead memory is asked for: the hardware prefetcher stops at each 4 KiB page.
const PREFETCH_BYTES: usize = 2048;

/// A register. `width`, 16 or 32, is that of the integers it is taken for, in bits; without it they have 32.
pub(super) trait Vector: Copy {
    const BYTES: usize;

    unsafe fn splat(x: i32) -> Self;
    /// Loads unaligned memory.
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn add(self, width: u32, other: Self) -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn and(self, other: Self) -> Self;
    /// Larger of two signed integers.
    unsafe fn max_signed(self, width: u32, other: Self) -> Self;
    /// Larger of two unsigned integers.
    unsafe fn max(self, width: u32, other: Self) -> Self;
    /// Smaller of two unsigned integers.
    unsafe fn min(self, width: u32, other: Self) -> Self;
    unsafe fn shl_1(self) -> Self;
    unsafe fn shl_16(self) -> Self;
    unsafe fn shr_10(self) -> Self;
    unsafe fn shr_24(self) -> Self;
    unsafe fn shr_26(self) -> Self;
    /// `1 << x`, and 0 where `x` is above 31.
    unsafe fn bit(self) -> Self;
    /// `1 << (x mod 32)`.
    unsafe fn bit_modulo(self) -> Self;
    /// Bit by bit the sum of three, and its carry.
    unsafe fn full_add(self, b: Self, c: Self) -> (Self, Self);
    /// Lower or upper (`half` 0 or 1) half, taken for float16, as float32. Exact whatever the processor does to subnormals.
    unsafe fn widen_f16(self, half: usize) -> Self;
    /// Lower or upper half, taken for float32, as float64.
    unsafe fn widen_f32(self, half: usize) -> Self;
    unsafe fn add_f32(self, x: Self) -> Self;
    /// `self + x * x`.
    unsafe fn add_square_f32(self, x: Self) -> Self;
    unsafe fn add_f64(self, x: Self) -> Self;
    /// `self + x * x`.
    unsafe fn add_square_f64(self, x: Self) -> Self;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as for every function here.
        unsafe { Self::splat(0) }
    }

    /// As numbers of a type that has no padding and takes every bit pattern; as many as fit `N`, the rest 0.
    #[inline(always)]
    fn lanes<T: Copy + Default, const N: usize>(self) -> [T; N] {
        let mut lanes = [T::default(); N];
        let bytes = Self::BYTES.min(size_of_val(&lanes));
        // SAFETY: both are at least so long, and plain.
        unsafe { std::ptr::copy_nonoverlapping((&raw const self).cast::<u8>(), lanes.as_mut_ptr().cast(), bytes) };
        lanes
    }

    /// Asks for memory further on. Any address will do.
    #[inline(always)]
    unsafe fn prefetch(from: *const u8) {
        // SAFETY: as for every function here; a prefetch never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(PREFETCH_BYTES).cast()) };
    }
}

macro_rules! instructions {
    ($($name:ident($x:ident $(, $arg:ident)*) = $code:expr;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self $(, $arg: Self)*) -> Self {
            let $x = self;
            // SAFETY: the caller was compiled for these instructions.
            unsafe { $code }
        }
    )*};
}

macro_rules! by_width {
    ($($name:ident $narrow:ident $wide:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(self, width: u32, other: Self) -> Self {
            // SAFETY: the caller was compiled for this instruction.
            unsafe { if width == 16 { $narrow(self, other) } else { $wide(self, other) } }
        }
    )*};
}

impl Vector for __m512i {
    const BYTES: usize = 64;

    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        // SAFETY: the caller was compiled for this instruction.
        unsafe { _mm512_set1_epi32(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller was compiled for this instruction, and vouches for the memory.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    by_width! {
        add _mm512_add_epi16 _mm512_add_epi32;
        max_signed _mm512_max_epi16 _mm512_max_epi32;
        max _mm512_max_epu16 _mm512_max_epu32;
        min _mm512_min_epu16 _mm512_min_epu32;
    }

    instructions! {
        sub(x, other) = _mm512_sub_epi32(x, other);
        and(x, other) = _mm512_and_si512(x, other);
        shl_1(x) = _mm512_slli_epi32::<1>(x);
        shl_16(x) = _mm512_slli_epi32::<16>(x);
        shr_10(x) = _mm512_srli_epi32::<10>(x);
        shr_24(x) = _mm512_srli_epi32::<24>(x);
        shr_26(x) = _mm512_srli_epi32::<26>(x);
        bit(x) = _mm512_sllv_epi32(_mm512_set1_epi32(1), x);
        bit_modulo(x) = _mm512_rolv_epi32(_mm512_set1_epi32(1), x);
        add_f32(x, other) = _mm512_castps_si512(_mm512_add_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(other)));
        add_square_f32(x, other) = {
            let other = _mm512_castsi512_ps(other);
            _mm512_castps_si512(_mm512_fmadd_ps(other, other, _mm512_castsi512_ps(x)))
        };
        add_f64(x, other) = _mm512_castpd_si512(_mm512_add_pd(_mm512_castsi512_pd(x), _mm512_castsi512_pd(other)));
        add_square_f64(x, other) = {
            let other = _mm512_castsi512_pd(other);
            _mm512_castpd_si512(_mm512_fmadd_pd(other, other, _mm512_castsi512_pd(x)))
        };
    }

    #[inline(always)]
    unsafe fn full_add(self, b: Self, c: Self) -> (Self, Self) {
        // SAFETY: the caller was compiled for these instructions. The numbers are truth tables: odd, and at least two.
        unsafe { (_mm512_ternarylogic_epi32::<0x96>(self, b, c), _mm512_ternarylogic_epi32::<0xe8>(self, b, c)) }
    }

    #[inline(always)]
    unsafe fn widen_f16(self, half: usize) -> Self {
        // SAFETY: the caller was compiled for these instructions.
        unsafe {
            let part = if half == 0 { _mm512_castsi512_si256(self) } else { _mm512_extracti64x4_epi64::<1>(self) };
            _mm512_castps_si512(_mm512_cvtph_ps(part))
        }
    }

    #[inline(always)]
    unsafe fn widen_f32(self, half: usize) -> Self {
        // SAFETY: the caller was compiled for these instructions.
        unsafe {
            let part = if half == 0 { _mm512_castsi512_si256(self) } else { _mm512_extracti64x4_epi64::<1>(self) };
            _mm512_castpd_si512(_mm512_cvtps_pd(_mm256_castsi256_ps(part)))
        }
    }
}

impl Vector for __m256i {
    const BYTES: usize = 32;

    #[inline(always)]
    unsafe fn splat(x: i32) -> Self {
        // SAFETY: the caller was compiled for this instruction.
        unsafe { _mm256_set1_epi32(x) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller was compiled for this instruction, and vouches for the memory.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    by_width! {
        add _mm256_add_epi16 _mm256_add_epi32;
        max_signed _mm256_max_epi16 _mm256_max_epi32;
        max _mm256_max_epu16 _mm256_max_epu32;
        min _mm256_min_epu16 _mm256_min_epu32;
    }

    instructions! {
        sub(x, other) = _mm256_sub_epi32(x, other);
        and(x, other) = _mm256_and_si256(x, other);
        shl_1(x) = _mm256_slli_epi32::<1>(x);
        shl_16(x) = _mm256_slli_epi32::<16>(x);
        shr_10(x) = _mm256_srli_epi32::<10>(x);
        shr_24(x) = _mm256_srli_epi32::<24>(x);
        shr_26(x) = _mm256_srli_epi32::<26>(x);
        bit(x) = _mm256_sllv_epi32(_mm256_set1_epi32(1), x);
        bit_modulo(x) = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_and_si256(x, _mm256_set1_epi32(31)));
        add_f32(x, other) = _mm256_castps_si256(_mm256_add_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(other)));
        add_square_f32(x, other) = {
            let other = _mm256_castsi256_ps(other);
            _mm256_castps_si256(_mm256_fmadd_ps(other, other, _mm256_castsi256_ps(x)))
        };
        add_f64(x, other) = _mm256_castpd_si256(_mm256_add_pd(_mm256_castsi256_pd(x), _mm256_castsi256_pd(other)));
        add_square_f64(x, other) = {
            let other = _mm256_castsi256_pd(other);
            _mm256_castpd_si256(_mm256_fmadd_pd(other, other, _mm256_castsi256_pd(x)))
        };
    }

    #[inline(always)]
    unsafe fn full_add(self, b: Self, c: Self) -> (Self, Self) {
        // SAFETY: the caller was compiled for these instructions.
        unsafe {
            let odd = _mm256_xor_si256(self, b);
            let carry = _mm256_or_si256(_mm256_and_si256(self, b), _mm256_and_si256(odd, c));
            (_mm256_xor_si256(odd, c), carry)
        }
    }

    #[inline(always)]
    unsafe fn widen_f16(self, half: usize) -> Self {
        // SAFETY: the caller was compiled for these instructions.
        unsafe {
            let part = if half == 0 { _mm256_castsi256_si128(self) } else { _mm256_extracti128_si256::<1>(self) };
            _mm256_castps_si256(_mm256_cvtph_ps(part))
        }
    }

    #[inline(always)]
    unsafe fn widen_f32(self, half: usize) -> Self {
        // SAFETY: the caller was compiled for these instructions.
        unsafe {
            let part = if half == 0 { _mm256_castsi256_si128(self) } else { _mm256_extracti128_si256::<1>(self) };
            _mm256_castpd_si256(_mm256_cvtps_pd(_mm_castsi128_ps(part)))
        }
    }
}
