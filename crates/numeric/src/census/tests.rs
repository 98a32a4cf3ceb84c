use half::{bf16, f16};
use proptest::prelude::*;

use super::*;
use crate::dtype::Dtype;
use crate::format::exponent_of;

fn of_f32(numbers: &[f32]) -> Census {
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
    census(&View::of_bytes(&bytes, Dtype::Float32))
}

/// The census by its field descriptions, one decoded number at a time.
fn expected(dtype: Dtype, bytes: &[u8]) -> Census {
    let numbers: Vec<f64> = bytes.chunks_exact(dtype.part().size()).map(|number| dtype.decode(number)).collect();
    let numbers = &numbers[..numbers.len() / dtype.parts() * dtype.parts()];
    let finite: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
    let nonzero = || finite.iter().map(|x| x.abs()).filter(|x| *x > 0.0);
    let count = |test: &dyn Fn(f64) -> bool| numbers.iter().filter(|x| test(**x)).count() as u64;
    let min_normal = dtype.format().map_or(0.0, |format| format.min_normal);
    let mut exponents = std::collections::BTreeMap::new();
    nonzero().for_each(|x| *exponents.entry(exponent_of(x)).or_insert(0) += 1);
    Census {
        n: numbers.len() as u64,
        nan: count(&f64::is_nan),
        posinf: count(&|x| x == f64::INFINITY),
        neginf: count(&|x| x == f64::NEG_INFINITY),
        zero: count(&|x| x == 0.0),
        subnormal: count(&|x| x != 0.0 && x.abs() < min_normal),
        min: finite.iter().copied().reduce(f64::min),
        max: finite.iter().copied().reduce(f64::max),
        max_abs: finite.iter().map(|x| x.abs()).reduce(f64::max),
        min_abs_nonzero: nonzero().reduce(f64::min),
        sum: Some(finite.iter().sum()).filter(|x: &f64| x.is_finite()),
        sum_squares: Some(finite.iter().map(|x| x * x).sum()).filter(|x: &f64| x.is_finite()),
        first_bad: numbers.iter().position(|x| !x.is_finite()).map(|at| (at / dtype.parts()) as u64),
        exponents: exponents.into_iter().collect(),
    }
}

/// Equal but for the rounding of sums taken in another order, or in part in float32.
fn check(dtype: Dtype, got: Census, expected: Census) -> Result<(), TestCaseError> {
    let error = if dtype.part().size() == 2 { 2e-6 } else { 1e-12 };
    let scale = expected.sum_squares.unwrap_or(f64::INFINITY).sqrt() * (1.0 + expected.n as f64);
    if let (Some(a), Some(b)) = (got.sum, expected.sum) {
        prop_assert!((a - b).abs() <= error * scale, "sum: got {a}, expected {b}");
    }
    if let (Some(a), Some(b)) = (got.sum_squares, expected.sum_squares) {
        prop_assert!((a - b).abs() <= error * b, "sum of squares: got {a}, expected {b}");
    }
    let without_sums = |census: Census| Census { sum: None, sum_squares: None, ..census };
    prop_assert_eq!(without_sums(got), without_sums(expected));
    Ok(())
}

#[test]
fn an_empty_tensor_has_counts_of_0_and_no_extremes() {
    assert_eq!(of_f32(&[]), Census { sum: Some(0.0), sum_squares: Some(0.0), ..Census::default() });
}

#[test]
fn a_small_tensor_in_full() {
    let got = of_f32(&[1.0, -3.0, 0.0, -0.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::from_bits(3)]);
    let tiny = 3.0 * 2f64.powi(-149);
    let expected = Census {
        n: 8,
        nan: 1,
        posinf: 1,
        neginf: 1,
        zero: 2,
        subnormal: 1,
        min: Some(-3.0),
        max: Some(1.0),
        max_abs: Some(3.0),
        min_abs_nonzero: Some(tiny),
        sum: Some(-2.0 + tiny),
        sum_squares: Some(10.0),
        first_bad: Some(4),
        exponents: vec![(-148, 1), (0, 1), (1, 1)],
    };
    assert_eq!(got, expected);
}

#[test]
fn json_holds_no_special_number_and_reads_back() {
    let doubles: Vec<u8> = [f64::MAX, f64::MAX, f64::NAN, 5e-324].iter().flat_map(|x| x.to_ne_bytes()).collect();
    for census in [census(&View::of_bytes(&doubles, Dtype::Float64)), of_f32(&[f32::NAN]), Census::default()] {
        let text = serde_json::to_string(&census).unwrap();
        assert!(!text.contains("null"), "{text}");
        assert_eq!(serde_json::from_str::<Census>(&text).unwrap(), census);
    }
    assert_eq!(serde_json::from_str::<Census>("{}").unwrap(), Census::default());
}

#[test]
fn an_expanded_tensor_counts_each_element_as_often_as_it_is_seen() {
    let bytes: Vec<u8> = [1.5f32, f32::NAN].iter().flat_map(|x| x.to_ne_bytes()).collect();
    // SAFETY: only the two numbers are addressed.
    let got = census(&unsafe { View::new(bytes.as_ptr(), Dtype::Float32, &[1000, 2], &[0, 1]) });
    assert_eq!((got.n, got.nan, got.sum, got.first_bad), (2000, 1000, Some(1500.0), Some(1)));
    assert_eq!(got.exponents, [(0, 1000)]);
}

prop_compose! {
    /// Numbers as tensors hold them: of some range of exponents, some zeros, of one sign or both, and now and then one of the
    /// values that are counted apart.
    fn tensor()(
        numbers in prop::collection::vec((0.5f32..1.0, 0..64i32, any::<bool>(), 0..9u8), 500..5000),
        lowest in -150..120i32,
        (spread, signs, zeros) in (1..64i32, 0..3u8, any::<bool>()),
        special in prop::option::weighted(
            0.2, (any::<prop::sample::Index>(), prop::sample::select(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40][..])),
        ),
    ) -> Vec<f32> {
        let number = |&(m, e, negative, kind): &(f32, i32, bool, u8)| {
            let magnitude = if zeros && kind == 0 { 0.0 } else { m * 2f32.powi((lowest + e % spread).min(127)) };
            match signs { 0 => magnitude, 1 => -magnitude, _ if negative => -magnitude, _ => magnitude }
        };
        let mut numbers: Vec<f32> = numbers.iter().map(number).collect();
        if let Some((at, value)) = special {
            *at.get_mut(&mut numbers) = value;
        }
        numbers
    }
}

fn bytes_of(dtype: Dtype, numbers: &[f32]) -> Vec<u8> {
    let bytes = |x: &f32| match dtype {
        Dtype::Float32 => x.to_ne_bytes().to_vec(),
        Dtype::Float16 => f16::from_f32(*x).to_ne_bytes().to_vec(),
        Dtype::BFloat16 => bf16::from_f32(*x).to_ne_bytes().to_vec(),
        Dtype::Float64 => f64::from(*x).to_ne_bytes().to_vec(),
        _ => vec![(x.to_bits() >> 20) as u8],
    };
    numbers.iter().flat_map(bytes).collect()
}

const TYPES: &[Dtype] = &[
    Dtype::Float32,
    Dtype::Float16,
    Dtype::BFloat16,
    Dtype::Float64,
    Dtype::Float8E4M3Fn,
    Dtype::Float8E5M2,
    Dtype::Float8E8M0Fnu,
];

#[test]
fn every_float16_is_counted_as_the_definition_does() {
    // Two blocks of each exponent, the second with subnormals among them.
    for top in 0..31u16 {
        for low in [0x0400, 1] {
            let bits =
                (0..8192u16).map(|i| ((i % 2) << 15) | if i % 3 == 0 { low + i % 7 } else { (top << 10) | (i % 1024) });
            let bytes: Vec<u8> = bits.flat_map(u16::to_ne_bytes).collect();
            check(Dtype::Float16, census(&View::of_bytes(&bytes, Dtype::Float16)), expected(Dtype::Float16, &bytes))
                .unwrap();
        }
    }
}

proptest! {
    #[test]
    fn the_census_of_a_tensor_is_its_definition_on_any_number_of_threads(numbers in tensor(), threads in 1..4usize) {
        for &dtype in TYPES {
            let bytes = bytes_of(dtype, &numbers);
            check(dtype, census_on(&View::of_bytes(&bytes, dtype), threads), expected(dtype, &bytes))?;
        }
    }

    #[test]
    fn the_census_of_any_memory_is_its_definition(bytes in prop::collection::vec(any::<u8>(), 0..3000)) {
        for &dtype in Dtype::ALL {
            check(dtype, census(&View::of_bytes(&bytes, dtype)), expected(dtype, &bytes))?;
        }
    }

    #[test]
    fn a_transposed_census_finds_the_first_bad_element_in_logical_order(
        numbers in prop::collection::vec(prop_oneof![20 => Just(1f32), 1 => Just(f32::NAN)], 7 * 90),
    ) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        // SAFETY: 7 by 90 numbers, transposed.
        let view = unsafe { View::new(bytes.as_ptr(), Dtype::Float32, &[90, 7], &[1, 90]) };
        let first = (0..7 * 90).position(|i| numbers[i % 7 * 90 + i / 7].is_nan());
        prop_assert_eq!(census(&view).first_bad, first.map(|at| at as u64));
    }
}
