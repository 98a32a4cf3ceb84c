//! Which SIMD kernel reads which type; types without one are read by the scalar definition.

use half::{bf16, f16};

use super::Pass;
use crate::element::Element;
use crate::fp8;

/// Answers for blocks that are finite throughout. `None`: something in the block is not finite, or this processor or
/// type has no kernel; the scalar definition then decides.
pub(crate) trait Kernel: Element {
    fn pass(_block: &[Self]) -> Option<Pass> {
        None
    }

    /// Largest magnitude.
    fn max_abs(_block: &[Self]) -> Option<f64> {
        None
    }

    /// Whether a kernel has found that all are finite.
    fn finite(block: &[Self]) -> bool {
        Self::max_abs(block).is_some()
    }
}

macro_rules! avx2 {
    ($($type:ty: $pass:ident $max_abs:ident $($finite:ident)? $(, wider $wider:ident)?;)*) => {$(
        impl Kernel for $type {
            $(
                fn finite(block: &[Self]) -> bool {
                    #[cfg(target_arch = "x86_64")]
                    if super::avx2::available() {
                        // SAFETY: the processor has what the kernel was compiled for.
                        return unsafe { super::avx2::$finite(block) };
                    }
                    Self::max_abs(block).is_some()
                }
            )?

            fn pass(block: &[Self]) -> Option<Pass> {
                $(
                    #[cfg(target_arch = "x86_64")]
                    if super::avx512::available() {
                        // SAFETY: the processor has what the kernel was compiled for.
                        return unsafe { super::avx512::$wider(block) };
                    }
                )?
                #[cfg(target_arch = "x86_64")]
                if super::avx2::available() {
                    // SAFETY: the processor has what the kernel was compiled for.
                    return unsafe { super::avx2::$pass(block) };
                }
                let _ = block;
                None
            }

            fn max_abs(block: &[Self]) -> Option<f64> {
                #[cfg(target_arch = "x86_64")]
                if super::avx2::available() {
                    // SAFETY: the processor has what the kernel was compiled for.
                    return unsafe { super::avx2::$max_abs(block) };
                }
                let _ = block;
                None
            }
        }
    )*};
}

avx2! {
    f64: pass_f64 max_abs_f64 finite_f64;
    f32: pass_f32 max_abs_f32, wider pass_f32;
    f16: pass_f16 max_abs_f16;
    bf16: pass_bf16 max_abs_bf16;
}

/// Types of 8 bits: `$largest` is the code of the largest magnitude of all codes in a block, `None` where one is not a number.
macro_rules! bytes {
    ($($type:ty: |$extremes:ident| $largest:expr;)*) => {$(
        impl Kernel for $type {
            fn max_abs(block: &[Self]) -> Option<f64> {
                #[cfg(target_arch = "x86_64")]
                if super::avx2::available() {
                    const { assert!(size_of::<$type>() == 1) };
                    // SAFETY: so many numbers of one byte.
                    let codes = unsafe { std::slice::from_raw_parts(block.as_ptr().cast::<u8>(), block.len()) };
                    // SAFETY: the processor has what the kernel was compiled for.
                    let $extremes = unsafe { super::avx2::extremes(codes) };
                    let code: Option<u8> = $largest;
                    // SAFETY: as long as one number, of which every bit pattern is valid.
                    return code.map(|code| unsafe { (&raw const code).cast::<$type>().read() }.to_f64().abs());
                }
                let _ = block;
                None
            }
        }
    )*};
}

bytes! {
    fp8::E4M3Fn: |x| (x.magnitude < 0x7f).then_some(x.magnitude);
    fp8::E4M3Fnuz: |x| (!x.has_negative_zero).then_some(x.magnitude);
    fp8::E5M2: |x| (x.magnitude < 0x7c).then_some(x.magnitude);
    fp8::E5M2Fnuz: |x| (!x.has_negative_zero).then_some(x.magnitude);
}

macro_rules! scalar {
    ($($type:ty)*) => {$(impl Kernel for $type {})*};
}

scalar!(i8 i16 i32 i64 u8 u16 u32 u64 fp8::E8M0Fnu);
