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
}

macro_rules! avx2 {
    ($($type:ty: $pass:ident $max_abs:ident;)*) => {$(
        impl Kernel for $type {
            fn pass(block: &[Self]) -> Option<Pass> {
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
    f64: pass_f64 max_abs_f64;
    f32: pass_f32 max_abs_f32;
    f16: pass_f16 max_abs_f16;
    bf16: pass_bf16 max_abs_bf16;
}

macro_rules! scalar {
    ($($type:ty)*) => {$(impl Kernel for $type {})*};
}

scalar!(i8 i16 i32 i64 u8 u16 u32 u64);
scalar!(fp8::E4M3Fn fp8::E4M3Fnuz fp8::E5M2 fp8::E5M2Fnuz fp8::E8M0Fnu);
