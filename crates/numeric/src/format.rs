//! The table of floating-point formats, and rounding into any of them.

use std::cmp::Ordering;

/// One binary floating-point format. Values are exact in float64.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    /// torch's name without the `torch.` prefix; `tf32` is not a torch dtype.
    pub name: &'static str,
    /// Significant width in bits: sign, exponent and fraction (19 for tf32, which is stored in 32).
    pub bits: u32,
    /// Width of the exponent field.
    pub exponent_bits: u32,
    /// Width of the stored fraction.
    pub mantissa_bits: u32,
    /// What is subtracted from the exponent field.
    pub bias: i32,
    /// Largest finite value.
    pub max_finite: f64,
    /// Smallest positive value with full precision.
    pub min_normal: f64,
    /// Smallest positive value.
    pub min_subnormal: f64,
    /// Whether +inf and -inf exist.
    pub has_infinity: bool,
    /// Whether NaN exists.
    pub has_nan: bool,
    /// Whether -0 exists.
    pub has_negative_zero: bool,
    /// Whether torch's conversion clamps what is too large, infinity included, to `max_finite`. Otherwise it becomes
    /// an infinity, or NaN where there is none.
    pub saturates: bool,
    /// Distance from 1 to the next larger value.
    pub epsilon: f64,
}

/// What a format does with the code points an IEEE format keeps for infinities and NaN.
#[derive(Clone, Copy, PartialEq)]
enum Flavour {
    /// The top exponent holds infinities and NaN.
    Ieee,
    /// `fn`: finite but for one NaN per sign, the all-ones pattern.
    Finite,
    /// `fnuz`: finite, unsigned zero; the only NaN is the pattern of -0.
    FiniteUnsignedZero,
}

/// Every format.
///
/// The 8-bit ones: Micikevicius et al., "FP8 formats for deep learning", 2022 (e4m3fn, e5m2); Noune et al., "8-bit
/// numerical formats for deep neural networks", 2022 (fnuz).
pub const TABLE: &[Format] = &[
    Format::new("float64", 11, 52, 1023, Flavour::Ieee),
    Format::new("float32", 8, 23, 127, Flavour::Ieee),
    Format::new("tf32", 8, 10, 127, Flavour::Ieee),
    Format::new("bfloat16", 8, 7, 127, Flavour::Ieee),
    Format::new("float16", 5, 10, 15, Flavour::Ieee),
    Format::new("float8_e4m3fn", 4, 3, 7, Flavour::Finite),
    Format::new("float8_e4m3fnuz", 4, 3, 8, Flavour::FiniteUnsignedZero),
    Format::new("float8_e5m2", 5, 2, 15, Flavour::Ieee),
    Format::new("float8_e5m2fnuz", 5, 2, 16, Flavour::FiniteUnsignedZero),
];

impl Format {
    const fn new(name: &'static str, exponent_bits: u32, mantissa_bits: u32, bias: i32, flavour: Flavour) -> Format {
        let top_field = (1 << exponent_bits) - 1;
        let epsilon = pow2(-(mantissa_bits as i32));
        let (max_exponent, max_significand) = match flavour {
            Flavour::Ieee => (top_field - 1 - bias, 2.0 - epsilon),
            Flavour::Finite => (top_field - bias, 2.0 - 2.0 * epsilon),
            Flavour::FiniteUnsignedZero => (top_field - bias, 2.0 - epsilon),
        };
        Format {
            name,
            bits: 1 + exponent_bits + mantissa_bits,
            exponent_bits,
            mantissa_bits,
            bias,
            max_finite: pow2(max_exponent) * max_significand,
            min_normal: pow2(1 - bias),
            min_subnormal: pow2(1 - bias - mantissa_bits as i32),
            has_infinity: matches!(flavour, Flavour::Ieee),
            has_nan: true,
            has_negative_zero: !matches!(flavour, Flavour::FiniteUnsignedZero),
            saturates: matches!(flavour, Flavour::Finite),
            epsilon,
        }
    }

    /// The format of that name; `None` when the table has no such row.
    pub fn named(name: &str) -> Option<&'static Format> {
        TABLE.iter().find(|format| format.name == name)
    }

    /// Exponent of `min_normal`.
    pub const fn min_exponent(&self) -> i32 {
        1 - self.bias
    }

    /// The value of `x` after conversion to this format: nearest, ties to even, subnormals kept.
    pub fn round(&self, x: f64) -> f64 {
        if x.is_nan() {
            return x;
        }
        let magnitude = self.nearest(x.abs());
        let rounded = match magnitude.partial_cmp(&self.max_finite) {
            Some(Ordering::Greater) if self.saturates => self.max_finite,
            Some(Ordering::Greater) if self.has_infinity => f64::INFINITY,
            Some(Ordering::Greater) => return f64::NAN,
            _ => magnitude,
        };
        if rounded == 0.0 && !self.has_negative_zero { 0.0 } else { rounded.copysign(x) }
    }

    /// Whether a nonzero `x` becomes zero in this format. False for zero and NaN.
    pub fn rounds_to_zero(&self, x: f64) -> bool {
        x != 0.0 && self.round(x) == 0.0
    }

    /// Whether `x` is larger in magnitude than `max_finite` once rounded: it becomes an infinity, NaN, or is clamped.
    /// True for infinities, false for NaN.
    pub fn overflows(&self, x: f64) -> bool {
        self.nearest(x.abs()) > self.max_finite
    }

    /// Rounds a magnitude to this precision as if the exponent had no upper end.
    fn nearest(&self, magnitude: f64) -> f64 {
        // float64 is what the argument already is; its smallest quantum would leave the range of `pow2`'s inverse.
        if self.mantissa_bits == 52 || magnitude.is_infinite() || magnitude == 0.0 {
            return magnitude;
        }
        let exponent = exponent_of(magnitude).max(self.min_exponent());
        // Beyond this the value is far above any narrower format's range, and the quantum would be of no use.
        if exponent > 200 {
            return magnitude;
        }
        let quantum = pow2(exponent - self.mantissa_bits as i32);
        (magnitude / quantum).round_ties_even() * quantum
    }
}

/// 2 to the power `exponent`, exact for -1074..=1023.
pub(crate) const fn pow2(exponent: i32) -> f64 {
    if exponent >= -1022 {
        f64::from_bits(((exponent + 1023) as u64) << 52)
    } else {
        f64::from_bits(1 << (exponent + 1074))
    }
}

/// floor(log2(magnitude)) of a finite nonzero number, right for subnormals too (-1074..=1023).
pub(crate) const fn exponent_of(x: f64) -> i32 {
    let magnitude = x.to_bits() & (u64::MAX >> 1);
    match (magnitude >> 52) as i32 {
        0 => 63 - magnitude.leading_zeros() as i32 - 1074,
        field => field - 1023,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;

    fn named(name: &str) -> &'static Format {
        Format::named(name).unwrap()
    }

    #[test]
    fn limits_are_those_of_the_language_and_of_half() {
        let float64 = named("float64");
        assert_eq!((float64.max_finite, float64.min_normal), (f64::MAX, f64::MIN_POSITIVE));
        assert_eq!((float64.epsilon, float64.min_subnormal), (f64::EPSILON, f64::from_bits(1)));
        let float32 = named("float32");
        assert_eq!((float32.max_finite, float32.min_normal), (f64::from(f32::MAX), f64::from(f32::MIN_POSITIVE)));
        assert_eq!(float32.min_subnormal, f64::from(f32::from_bits(1)));
        assert_eq!((named("float16").max_finite, named("float16").min_normal), (65504.0, f16::MIN_POSITIVE.to_f64()));
        assert_eq!(named("bfloat16").max_finite, bf16::MAX.to_f64());
    }

    /// `torch.finfo` of torch 2.13, but for the epsilon of e5m2fnuz, which torch gives as 0.125.
    #[test]
    fn limits_of_the_8_bit_formats_are_those_of_torch() {
        let limits = |name| {
            let f = named(name);
            (f.bits, f.max_finite, f.min_normal, f.epsilon)
        };
        assert_eq!(limits("float8_e4m3fn"), (8, 448.0, 0.015625, 0.125));
        assert_eq!(limits("float8_e4m3fnuz"), (8, 240.0, 0.0078125, 0.125));
        assert_eq!(limits("float8_e5m2"), (8, 57344.0, 2f64.powi(-14), 0.25));
        assert_eq!(limits("float8_e5m2fnuz"), (8, 57344.0, 2f64.powi(-15), 0.25));
    }

    /// What torch 2.13 on the CPU gives for the same conversions.
    #[test]
    fn overflow_ends_as_it_does_in_torch() {
        assert_eq!(named("float8_e4m3fn").round(1000.0), 448.0);
        assert_eq!(named("float8_e4m3fn").round(f64::NEG_INFINITY), -448.0);
        assert!(named("float8_e4m3fnuz").round(1000.0).is_nan());
        assert!(named("float8_e5m2fnuz").round(1e6).is_nan());
        assert_eq!(named("float8_e5m2").round(61439.0), 57344.0);
        assert_eq!(named("float8_e5m2").round(61440.0), f64::INFINITY);
        assert!(named("float8_e4m3fn").overflows(465.0) && !named("float8_e4m3fn").overflows(463.0));
    }

    #[test]
    fn the_edges_of_float16() {
        let float16 = named("float16");
        assert!(!float16.overflows(65519.9) && float16.overflows(65520.0));
        assert!(float16.rounds_to_zero(2f64.powi(-25)) && !float16.rounds_to_zero(2f64.powi(-25) * 1.001));
        assert!(!float16.rounds_to_zero(0.0) && !float16.rounds_to_zero(f64::NAN) && !float16.overflows(f64::NAN));
        assert_eq!(named("float8_e4m3fnuz").round(-0.0).to_bits(), 0);
        assert_eq!(named("tf32").round(1.0 + 2f64.powi(-11)), 1.0);
        assert!(named("float32").overflows(1e300) && named("float32").rounds_to_zero(1e-300));
    }

    proptest! {
        #[test]
        fn rounding_equals_the_conversions_of_the_language_and_of_half(bits: u64, single: u32) {
            for x in [f64::from_bits(bits), f32::from_bits(single).into()] {
                prop_assume!(!x.is_nan());
                prop_assert_eq!(named("float64").round(x).to_bits(), x.to_bits());
                prop_assert_eq!(named("float32").round(x).to_bits(), f64::from(x as f32).to_bits());
            }
            // half narrows a float64 through a truncated one: a float32 with few bits is exact on either way.
            let x = f32::from_bits(single & !0xff);
            prop_assume!(!x.is_nan());
            prop_assert_eq!(named("float16").round(x.into()).to_bits(), f16::from_f32(x).to_f64().to_bits());
            prop_assert_eq!(named("bfloat16").round(x.into()).to_bits(), bf16::from_f32(x).to_f64().to_bits());
        }
    }
}
