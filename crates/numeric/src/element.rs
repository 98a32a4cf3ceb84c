//! One number in memory, read exactly: the definition that every kernel must agree with.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::format::pow2;

/// Numbers widened at a time.
pub(crate) const CHUNK: usize = 512;

/// A storage type of which every bit pattern is valid.
pub(crate) trait Element: Copy {
    /// Whether no bit pattern is an infinity or NaN.
    const ALWAYS_FINITE: bool = false;

    /// The number; exact, subnormals and the sign of zero included, but for 64-bit integers, which are rounded.
    fn to_f64(self) -> f64;

    /// [`to_f64`](Element::to_f64) of at most [`CHUNK`] numbers into as many places.
    fn widen(chunk: &[Self], wide: &mut [f64]) {
        for (wide, x) in wide.iter_mut().zip(chunk) {
            *wide = x.to_f64();
        }
    }
}

impl Element for f64 {
    #[inline]
    fn to_f64(self) -> f64 {
        self
    }
}

impl Element for f32 {
    /// By integers for subnormals: under `torch.set_flush_denormal(True)` the conversion instruction reads them as 0.
    #[inline]
    fn to_f64(self) -> f64 {
        let magnitude = self.to_bits() & 0x7fff_ffff;
        if magnitude < 0x0080_0000 {
            return (f64::from(magnitude) * pow2(-149)).copysign(if self.is_sign_negative() { -1.0 } else { 1.0 });
        }
        f64::from(self)
    }

    fn widen(chunk: &[f32], wide: &mut [f64]) {
        let is_subnormal = |x: &f32| (x.to_bits() & 0x7fff_ffff).wrapping_sub(1) < 0x007f_ffff;
        // Without a branch per number the compiler makes vectors of both loops.
        if chunk.iter().fold(false, |any, x| any | is_subnormal(x)) {
            return wide.iter_mut().zip(chunk).for_each(|(wide, x)| *wide = x.to_f64());
        }
        wide.iter_mut().zip(chunk).for_each(|(wide, x)| *wide = f64::from(*x));
    }
}

impl Element for f16 {
    #[inline]
    fn to_f64(self) -> f64 {
        self.to_f64_const()
    }

    fn widen(chunk: &[f16], wide: &mut [f64]) {
        // No float16 is a subnormal float32.
        let mut single = [0.0; CHUNK];
        let single = &mut single[..chunk.len()];
        chunk.convert_to_f32_slice(single);
        wide.iter_mut().zip(single).for_each(|(wide, x)| *wide = f64::from(*x));
    }
}

impl Element for bf16 {
    #[inline]
    fn to_f64(self) -> f64 {
        f32::from_bits(u32::from(self.to_bits()) << 16).to_f64()
    }

    fn widen(chunk: &[bf16], wide: &mut [f64]) {
        let mut single = [0.0; CHUNK];
        let single = &mut single[..chunk.len()];
        single.iter_mut().zip(chunk).for_each(|(single, x)| *single = f32::from_bits(u32::from(x.to_bits()) << 16));
        f32::widen(single, wide);
    }
}

macro_rules! integers {
    ($($int:ty)*) => {$(
        impl Element for $int {
            const ALWAYS_FINITE: bool = true;

            #[inline]
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

/// Evaluates `$body` with `$T` naming the storage type of a real [`Dtype`](crate::Dtype).
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use $crate::dtype::Dtype;
        macro_rules! arm {
            ($type:ty) => {{
                type $T = $type;
                $body
            }};
        }
        match $dtype {
            Dtype::Float64 => arm!(f64),
            Dtype::Float32 => arm!(f32),
            Dtype::Float16 => arm!(half::f16),
            Dtype::BFloat16 => arm!(half::bf16),
            Dtype::Float8E4M3Fn => arm!($crate::fp8::E4M3Fn),
            Dtype::Float8E4M3Fnuz => arm!($crate::fp8::E4M3Fnuz),
            Dtype::Float8E5M2 => arm!($crate::fp8::E5M2),
            Dtype::Float8E5M2Fnuz => arm!($crate::fp8::E5M2Fnuz),
            Dtype::Float8E8M0Fnu => arm!($crate::fp8::E8M0Fnu),
            Dtype::Int8 => arm!(i8),
            Dtype::Int16 => arm!(i16),
            Dtype::Int32 => arm!(i32),
            Dtype::Int64 => arm!(i64),
            Dtype::UInt8 | Dtype::Bool => arm!(u8),
            Dtype::UInt16 => arm!(u16),
            Dtype::UInt32 => arm!(u32),
            Dtype::UInt64 => arm!(u64),
            Dtype::Complex32 | Dtype::Complex64 | Dtype::Complex128 => unreachable!("a part is real"),
        }
    }};
}
pub(crate) use with_element;
