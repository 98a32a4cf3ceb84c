//! The five 8-bit floating-point types as 256-entry tables.

use crate::element::Element;
use crate::format::pow2;

/// The code points that are not plain numbers.
#[derive(Clone, Copy, PartialEq)]
enum Special {
    /// Top exponent field: infinities and NaN.
    TopExponent,
    /// All ones: NaN.
    AllOnes,
    /// The pattern of -0: NaN.
    NegativeZero,
}

const fn table(mantissa_bits: u32, bias: i32, special: Special) -> [f64; 256] {
    let mut values = [0.0; 256];
    let mut code = 0;
    while code < 256 {
        let magnitude_code = code & 0x7f;
        let field = (magnitude_code >> mantissa_bits) as i32;
        let fraction = (magnitude_code & ((1 << mantissa_bits) - 1)) as i32;
        let top: i32 = 0x7f >> mantissa_bits;
        let quantum = pow2((if field == 0 { 1 } else { field }) - bias - mantissa_bits as i32);
        let magnitude = match special {
            Special::TopExponent if field == top && fraction == 0 => f64::INFINITY,
            Special::TopExponent if field == top => f64::NAN,
            Special::AllOnes if magnitude_code == 0x7f => f64::NAN,
            Special::NegativeZero if code == 0x80 => f64::NAN,
            _ if field == 0 => fraction as f64 * quantum,
            _ => (fraction + (1 << mantissa_bits)) as f64 * quantum,
        };
        values[code] = if code < 0x80 { magnitude } else { -magnitude };
        code += 1;
    }
    values
}

const fn powers_of_two() -> [f64; 256] {
    let mut values = [f64::NAN; 256];
    let mut code = 0;
    while code < 255 {
        values[code] = pow2(code as i32 - 127);
        code += 1;
    }
    values
}

macro_rules! fp8 {
    ($($name:ident $torch:literal $table:expr;)*) => {$(
        #[doc = concat!("One `torch.", $torch, "`.")]
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(crate) struct $name(u8);

        impl Element for $name {
            fn to_f64(self) -> f64 {
                static TABLE: [f64; 256] = $table;
                TABLE[self.0 as usize]
            }
        }
    )*};
}

fp8! {
    E4M3Fn "float8_e4m3fn" table(3, 7, Special::AllOnes);
    E4M3Fnuz "float8_e4m3fnuz" table(3, 8, Special::NegativeZero);
    E5M2 "float8_e5m2" table(2, 15, Special::TopExponent);
    E5M2Fnuz "float8_e5m2fnuz" table(2, 16, Special::NegativeZero);
    E8M0Fnu "float8_e8m0fnu" powers_of_two();
}
