use half::{bf16, f16};
use proptest::prelude::*;

use super::*;
use crate::dtype::Dtype;

/// Where the special values of the four types with kernels lie, as the top 16 bits of each.
const SPECIAL_TOPS: &[u16] = &[0, 1, 0x8000, 0x8001, 0x7bff, 0x7c00, 0x7c01, 0xfc00, 0x7e00, 0x7f80, 0xff80, 0x7fc0];

/// The float32 kernel adds in float32 over short parts.
const SINGLE_ERROR: f64 = 2e-6;
const DOUBLE_ERROR: f64 = 1e-12;

fn close(a: f64, b: f64, error: f64) -> bool {
    a == b || (a - b).abs() <= error * a.abs().max(b.abs())
}

fn same(a: Pass, b: Pass, size: usize) -> bool {
    let error = if size == 4 { SINGLE_ERROR } else { DOUBLE_ERROR };
    a.finite == b.finite && a.max_abs == b.max_abs && close(a.sum_squares, b.sum_squares, error)
}

/// The definition of the public scans, from single decoded numbers.
fn expected(dtype: Dtype, bytes: &[u8]) -> (Pass, Counts, Option<u64>) {
    let numbers: Vec<f64> = bytes.chunks_exact(dtype.part().size()).map(|number| dtype.decode(number)).collect();
    let numbers = &numbers[..numbers.len() / dtype.parts() * dtype.parts()];
    let finite: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
    let max_abs = finite.iter().map(|x| x.abs()).reduce(f64::max);
    let count = |test: fn(&f64) -> bool| numbers.iter().filter(|x| test(x)).count() as u64;
    (
        Pass {
            finite: finite.len() == numbers.len(),
            max_abs: max_abs.unwrap_or(0.0),
            sum_squares: finite.iter().map(|x| x * x).sum(),
        },
        Counts {
            nan: count(|x| x.is_nan()),
            posinf: count(|x| *x == f64::INFINITY),
            neginf: count(|x| *x == f64::NEG_INFINITY),
            max_abs,
        },
        numbers.iter().position(|x| !x.is_finite()).map(|at| (at / dtype.parts()) as u64),
    )
}

fn agrees(dtype: Dtype, bytes: &[u8]) -> Result<(), TestCaseError> {
    let view = View::of_bytes(bytes, dtype);
    let (expected_pass, expected_counts, expected_first) = expected(dtype, bytes);
    let got = pass(&view);
    prop_assert!(
        same(got, expected_pass, dtype.part().size()),
        "{}: got {got:?}, expected {expected_pass:?}",
        dtype.name()
    );
    prop_assert_eq!(counts(&view), expected_counts, "{}", dtype.name());
    prop_assert_eq!(all_finite(&view), expected_pass.finite, "{}", dtype.name());
    prop_assert_eq!(first_bad(&view), expected_first, "{}", dtype.name());
    Ok(())
}

/// A kernel answers exactly when the definition finds everything finite, and then with the same numbers.
fn kernel_is_the_definition<T: Kernel>(block: &[T]) {
    let expected = scalar::pass(block);
    assert!(T::finite(block) == expected.finite || !simd_available());
    let Some(got) = T::pass(block) else {
        assert!(!expected.finite || !simd_available());
        return assert_eq!(T::max_abs(block), None);
    };
    assert!(same(got, expected, size_of::<T>()), "got {got:?}, expected {expected:?}");
    assert_eq!(T::max_abs(block), Some(expected.max_abs));
}

/// Both kernels of float32, whichever of them is in use here.
#[cfg(target_arch = "x86_64")]
fn every_width_is_the_definition(block: &[f32]) {
    let expected = scalar::pass(block);
    let mut found = vec![];
    if avx2::available() {
        // SAFETY: the processor has what the kernel was compiled for.
        found.push(unsafe { avx2::pass_f32(block) });
    }
    if avx512::available() {
        // SAFETY: as above.
        found.push(unsafe { avx512::pass_f32(block) });
    }
    for got in found {
        assert_eq!(got.is_some(), expected.finite);
        assert!(got.is_none_or(|got| same(got, expected, 4)), "got {got:?}, expected {expected:?}");
    }
}

fn simd_available() -> bool {
    f32::max_abs(&[]).is_some()
}

#[test]
fn every_16_bit_pattern_goes_through_the_kernels() {
    for bits in 0..=u16::MAX {
        // Alone in the padded tail, and in the last lane of a full round.
        let mut round = [0; 32];
        round[31] = bits;
        kernel_is_the_definition(&[f16::from_bits(bits)]);
        kernel_is_the_definition(&[bf16::from_bits(bits)]);
        kernel_is_the_definition(&round.map(f16::from_bits));
        kernel_is_the_definition(&round.map(bf16::from_bits));
    }
}

#[test]
fn every_lane_sees_a_bad_value_of_either_sign_and_any_payload() {
    for length in 1..70 {
        for at in 0..length {
            for bits in [0x7f80_0000u32, 0xff80_0000, 0x7f80_0001, 0xffff_ffff] {
                let mut numbers = vec![1.0f32; length];
                numbers[at] = f32::from_bits(bits);
                assert_eq!(f32::pass(&numbers), None);
                let doubles: Vec<f64> = numbers.iter().map(|&x| x.into()).collect();
                assert_eq!(f64::pass(&doubles), None);
                assert!(!f64::finite(&doubles));
            }
        }
    }
}

#[test]
fn an_empty_tensor_is_finite_and_all_its_counts_are_0() {
    for &dtype in Dtype::ALL {
        // SAFETY: no element is read.
        let view = unsafe { View::contiguous(std::ptr::null(), dtype, 0) };
        assert_eq!((pass(&view), counts(&view), first_bad(&view)), (Pass::default(), Counts::default(), None));
        assert!(all_finite(&view));
    }
}

#[test]
fn several_threads_find_what_one_does_in_a_list_of_tensors() {
    let mut large = vec![1f32; 1 << 20];
    large[700_000] = 3.0;
    let small = [0.5f32; 10];
    let views = |large: &[f32]| {
        // SAFETY: the numbers outlive the views, which do not leave the closure's caller.
        let view = |x: &[f32]| unsafe { View::contiguous(x.as_ptr().cast(), Dtype::Float32, x.len()) };
        [view(&small), view(large), view(&[]), view(&small)]
    };
    let one = passes(&views(&large), 1);
    assert_eq!(one[1], Pass { finite: true, max_abs: 3.0, sum_squares: 1048576.0 + 8.0 });
    assert_eq!(passes(&views(&large), 4), one);
    assert_eq!(first_not_finite(&views(&large), 4), None);
    large[900_000] = f32::NAN;
    for threads in 1..4 {
        assert_eq!(first_not_finite(&views(&large), threads), Some(1));
        assert!(!passes(&views(&large), threads)[1].finite);
    }
}

#[test]
fn subnormals_and_the_largest_numbers_are_kept() {
    let bytes = |x: f32| x.to_ne_bytes();
    assert_eq!(pass(&View::of_bytes(&bytes(f32::from_bits(1)), Dtype::Float32)).max_abs, 2f64.powi(-149));
    assert_eq!(pass(&View::of_bytes(&bytes(-f32::MAX), Dtype::Float32)).sum_squares, f64::from(f32::MAX).powi(2));
    let huge = pass(&View::of_bytes(&f64::MAX.to_ne_bytes(), Dtype::Float64));
    assert_eq!(huge, Pass { finite: true, max_abs: f64::MAX, sum_squares: f64::INFINITY });
}

prop_compose! {
    /// Bytes in which special values of every type are likely, at any alignment.
    fn memory()(
        tops in prop::collection::vec(prop_oneof![8 => 0x3000u16..0x4200, 1 => any::<u16>(), 1 => prop::sample::select(SPECIAL_TOPS)], 0..700),
        keep in 0..3u8,
        start in 0..8usize,
    ) -> (Vec<u8>, usize) {
        // Two of three tensors are finite in 16 bits, so that the kernels' own answers are tested as well.
        let bits = tops.iter().map(|top| if keep > 0 { top & 0xbbff } else { *top });
        let bytes: Vec<u8> = bits.flat_map(u16::to_ne_bytes).collect();
        let start = start.min(bytes.len());
        (bytes, start)
    }
}

proptest! {
    #[test]
    fn scans_of_any_memory_are_the_definition((bytes, start) in memory()) {
        for &dtype in Dtype::ALL {
            agrees(dtype, &bytes[start..])?;
        }
    }

    #[test]
    fn a_strided_view_is_its_materialised_copy(
        (bytes, _) in memory(),
        shape in prop::collection::vec(0..5usize, 0..5),
        strides in prop::collection::vec(0..9usize, 5),
    ) {
        let strides = &strides[..shape.len()];
        for &dtype in Dtype::ALL {
            let reach: usize = shape.iter().zip(strides).map(|(size, stride)| size.saturating_sub(1) * stride).sum();
            prop_assume!((reach + 1) * dtype.size() <= bytes.len());
            // SAFETY: the last element ends within the bytes.
            let view = unsafe { View::new(bytes.as_ptr(), dtype, &shape, strides) };
            let copy = materialised(&bytes, dtype, &shape, strides);
            let flat = View::of_bytes(&copy, dtype);
            prop_assert!(same(pass(&view), pass(&flat), view.dtype().part().size()), "{:?} {:?}", pass(&view), pass(&flat));
            prop_assert_eq!(counts(&view), counts(&flat));
            prop_assert_eq!(all_finite(&view), all_finite(&flat));
            prop_assert_eq!(first_bad(&view), first_bad(&flat));
            prop_assert_eq!(counts_on(&view, 3), counts(&flat));
            let parts = (0..3).map(|part| with_element!(dtype.part(), T => pass_of::<T>(&view, part, 3)));
            let mut total = Pass::default();
            parts.for_each(|part| total.merge(part));
            prop_assert!(same(total, pass(&flat), view.dtype().part().size()), "{:?} {:?}", total, pass(&flat));
        }
    }

    #[test]
    fn kernels_are_the_definition((bytes, _) in memory()) {
        fn of<T: Kernel, const N: usize>(bytes: &[u8], from: fn([u8; N]) -> T) {
            let numbers: Vec<T> = bytes.as_chunks().0.iter().map(|bytes| from(*bytes)).collect();
            kernel_is_the_definition(&numbers);
        }
        #[cfg(target_arch = "x86_64")]
        every_width_is_the_definition(&bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect::<Vec<_>>());
        of(&bytes, f32::from_ne_bytes);
        of(&bytes, f16::from_ne_bytes);
        of(&bytes, bf16::from_ne_bytes);
        // Squares within float64, else a kernel's sum and the definition's differ in where they overflow.
        of(&bytes, |bytes| f64::from_bits(f64::from_ne_bytes(bytes).to_bits() & !(1 << 61)));
    }
}

/// The elements of a strided view in row-major order.
pub(crate) fn materialised(bytes: &[u8], dtype: Dtype, shape: &[usize], strides: &[usize]) -> Vec<u8> {
    let Some((&size, inner_shape)) = shape.split_first() else {
        return bytes[..dtype.size()].to_vec();
    };
    let step = strides[0] * dtype.size();
    (0..size).flat_map(|i| materialised(&bytes[i * step..], dtype, inner_shape, &strides[1..])).collect()
}
