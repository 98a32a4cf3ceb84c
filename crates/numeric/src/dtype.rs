//! Every element type of torch that can be read.

use crate::element::{self, Element};
use crate::format::Format;

macro_rules! dtypes {
    ($($variant:ident $name:literal $size:literal),* $(,)?) => {
        /// An element type of torch. Sub-byte and quantised types are not among them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "each is documented by its torch name")]
        pub enum Dtype {
            $(#[doc = concat!("`torch.", $name, "`")] $variant,)*
        }

        impl Dtype {
            /// Every element type.
            pub const ALL: &'static [Dtype] = &[$(Dtype::$variant),*];

            /// torch's name, without the `torch.` prefix.
            pub const fn name(self) -> &'static str {
                match self { $(Dtype::$variant => $name),* }
            }

            /// Bytes per element.
            pub const fn size(self) -> usize {
                match self { $(Dtype::$variant => $size),* }
            }
        }
    };
}

dtypes! {
    Float64 "float64" 8,
    Float32 "float32" 4,
    Float16 "float16" 2,
    BFloat16 "bfloat16" 2,
    Float8E4M3Fn "float8_e4m3fn" 1,
    Float8E4M3Fnuz "float8_e4m3fnuz" 1,
    Float8E5M2 "float8_e5m2" 1,
    Float8E5M2Fnuz "float8_e5m2fnuz" 1,
    Float8E8M0Fnu "float8_e8m0fnu" 1,
    Complex32 "complex32" 4,
    Complex64 "complex64" 8,
    Complex128 "complex128" 16,
    Int8 "int8" 1,
    Int16 "int16" 2,
    Int32 "int32" 4,
    Int64 "int64" 8,
    UInt8 "uint8" 1,
    UInt16 "uint16" 2,
    UInt32 "uint32" 4,
    UInt64 "uint64" 8,
    Bool "bool" 1,
}

impl Dtype {
    /// The type `str(tensor.dtype)` names, with or without `torch.`; `None` for a type that cannot be read.
    pub fn from_torch_name(name: &str) -> Option<Dtype> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        Dtype::ALL.iter().copied().find(|dtype| dtype.name() == name)
    }

    /// Whether this is a real floating-point type, as `tensor.is_floating_point()` says.
    pub const fn is_floating(self) -> bool {
        use Dtype::*;
        matches!(self.part(), Float64 | Float32 | Float16 | BFloat16) && !self.is_complex() || self.is_float8()
    }

    /// Whether an element is two floating-point numbers.
    pub const fn is_complex(self) -> bool {
        matches!(self, Dtype::Complex32 | Dtype::Complex64 | Dtype::Complex128)
    }

    const fn is_float8(self) -> bool {
        use Dtype::*;
        matches!(self, Float8E4M3Fn | Float8E4M3Fnuz | Float8E5M2 | Float8E5M2Fnuz | Float8E8M0Fnu)
    }

    /// The type of one number: a complex type's real and imaginary part, any other type itself.
    pub const fn part(self) -> Dtype {
        match self {
            Dtype::Complex32 => Dtype::Float16,
            Dtype::Complex64 => Dtype::Float32,
            Dtype::Complex128 => Dtype::Float64,
            real => real,
        }
    }

    /// Numbers per element: 2 for a complex type, else 1.
    pub const fn parts(self) -> usize {
        if self.is_complex() { 2 } else { 1 }
    }

    /// The row of the format table for one number; `None` for integers, bool and e8m0fnu (powers of two alone).
    pub fn format(self) -> Option<&'static Format> {
        Format::named(self.part().name())
    }

    /// The number in native-endian `bytes`: the scalar definition. Exact but for 64-bit integers, which are rounded.
    ///
    /// # Panics
    /// When `bytes` is not as long as one number (`self.part().size()`).
    pub fn decode(self, bytes: &[u8]) -> f64 {
        assert_eq!(bytes.len(), self.part().size(), "bytes of one {}", self.part().name());
        fn read<T: Element>(bytes: &[u8]) -> f64 {
            // SAFETY: the length was compared with the size of the type above, and every bit pattern is an `Element`.
            unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }.to_f64()
        }
        element::with_element!(self.part(), T => read::<T>(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a bit pattern by arithmetic on the fields, from the format table alone.
    fn by_arithmetic(format: &Format, bits: u32) -> f64 {
        let fraction = f64::from(bits & ((1 << format.mantissa_bits) - 1));
        let field = bits >> format.mantissa_bits & ((1 << format.exponent_bits) - 1);
        let negative = bits >> (format.bits - 1) == 1;
        let scale = 2f64.powi(-(format.mantissa_bits as i32));
        let magnitude = match field {
            0 => fraction * scale * 2f64.powi(1 - format.bias),
            _ => (1.0 + fraction * scale) * 2f64.powi(field as i32 - format.bias),
        };
        let value = if negative { -magnitude } else { magnitude };
        if magnitude > format.max_finite {
            let is_infinity = format.has_infinity && fraction == 0.0;
            return if is_infinity { f64::INFINITY.copysign(value) } else { f64::NAN };
        }
        if value == 0.0 && negative && !format.has_negative_zero { f64::NAN } else { value }
    }

    fn same(a: f64, b: f64) -> bool {
        a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
    }

    #[test]
    fn every_8_and_16_bit_pattern_decodes_as_the_table_says() {
        for &dtype in Dtype::ALL.iter().filter(|dtype| dtype.is_floating() && dtype.size() <= 2) {
            let Some(format) = dtype.format() else { continue };
            for bits in 0..1u32 << format.bits {
                let (got, expected) = (dtype.decode(&bits.to_ne_bytes()[..dtype.size()]), by_arithmetic(format, bits));
                assert!(same(got, expected), "{} {bits:#x}: got {got}, expected {expected}", format.name);
                assert!(same(format.round(got), got), "{} {bits:#x}: {got} does not round to itself", format.name);
            }
        }
    }

    #[test]
    fn e8m0_is_a_power_of_two_or_nan() {
        let decode = |byte: u8| Dtype::Float8E8M0Fnu.decode(&[byte]);
        assert_eq!((decode(0), decode(127), decode(254)), (2f64.powi(-127), 1.0, 2f64.powi(127)));
        assert!(decode(255).is_nan());
    }

    #[test]
    fn names_are_unique_and_read_back() {
        for &dtype in Dtype::ALL {
            assert_eq!(Dtype::from_torch_name(dtype.name()), Some(dtype));
            assert_eq!(Dtype::from_torch_name(&format!("torch.{}", dtype.name())), Some(dtype));
            assert_eq!(dtype.size(), dtype.part().size() * dtype.parts());
        }
        assert_eq!(Dtype::from_torch_name("torch.qint8"), None);
    }

    #[test]
    fn subnormal_and_large_float32_and_integers() {
        assert_eq!(Dtype::Float32.decode(&1u32.to_ne_bytes()), 2f64.powi(-149));
        assert_eq!(Dtype::Float32.decode(&f32::MAX.to_ne_bytes()), f64::from(f32::MAX));
        assert_eq!(Dtype::Float32.decode(&(-0f32).to_ne_bytes()).to_bits(), (-0f64).to_bits());
        assert_eq!(Dtype::Int64.decode(&i64::MIN.to_ne_bytes()), -(2f64.powi(63)));
        assert_eq!(Dtype::Bool.decode(&[1]), 1.0);
    }
}
