//! A number that stands for the bytes of a tensor.

use std::ops::ControlFlow;

use xxhash_rust::xxh3::Xxh3Default;

use crate::layout::Order;
use crate::prefetch::prefetch;
use crate::view::View;

/// Bytes hashed between two looks ahead.
const STEP_BYTES: usize = 1024;

/// How far ahead memory is asked for: so far that it has come when its turn is, and the hash never waits.
const AHEAD_BYTES: usize = 4096;

/// 64 bits that two tensors of one type and shape share when they hold the same bytes in row-major order, however each
/// lies in memory: XXH3 of these bytes. Different bytes share them by chance once in 2^64. The shape is not part of it;
/// -0 is not 0, and a NaN is its payload.
pub fn digest(view: &View) -> u64 {
    match view.dtype().part().size() {
        1 => fold::<u8>(view),
        2 => fold::<u16>(view),
        4 => fold::<u32>(view),
        _ => fold::<u64>(view),
    }
}

fn fold<T: Copy>(view: &View) -> u64 {
    let mut state = Xxh3Default::new();
    let repeat = view.blocks::<T>(Order::Logical, |block| {
        // SAFETY: a slice of numbers, which have no padding, is so many bytes.
        let bytes: &[u8] = unsafe { std::slice::from_raw_parts(block.as_ptr().cast(), size_of_val(block)) };
        for step in bytes.chunks(STEP_BYTES) {
            prefetch(step.as_ptr().wrapping_add(AHEAD_BYTES), STEP_BYTES);
            state.update(step);
        }
        ControlFlow::Continue(())
    });
    debug_assert_eq!(repeat, 1, "logical order visits every element");
    state.digest()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    fn of(data: &[f32], shape: &[usize], strides: &[usize]) -> u64 {
        // SAFETY: each caller stays inside `data`.
        digest(&unsafe { View::new(data.as_ptr().cast(), Dtype::Float32, shape, strides) })
    }

    #[test]
    fn a_transposed_tensor_is_read_in_the_order_of_its_indices() {
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0], &[2, 2], &[1, 2]), of(&[1.0, 3.0, 2.0, 4.0], &[2, 2], &[2, 1]));
        assert_eq!(of(&[1.0, 2.0], &[2, 2], &[0, 1]), of(&[1.0, 2.0, 1.0, 2.0], &[4], &[1]));
    }

    #[test]
    fn one_bit_anywhere_changes_it() {
        let data = [0.5f32; 1000];
        let plain = of(&data, &[1000], &[1]);
        for index in [0, 1, 499, 999] {
            let mut other = data;
            other[index] = f32::from_bits(0.5f32.to_bits() ^ 1);
            assert_ne!(of(&other, &[1000], &[1]), plain, "{index}");
        }
        assert_ne!(of(&data[..999], &[999], &[1]), plain);
    }

    #[test]
    fn order_and_signs_of_zero_count() {
        assert_ne!(of(&[1.0, 2.0], &[2], &[1]), of(&[2.0, 1.0], &[2], &[1]));
        assert_ne!(of(&[0.0], &[1], &[1]), of(&[-0.0], &[1], &[1]));
        assert_eq!(of(&[], &[0], &[1]), of(&[], &[3, 0], &[1, 1]));
    }

    #[test]
    fn every_size_is_read() {
        let mut bytes: Vec<u8> = (0..48).collect();
        for dtype in [Dtype::Bool, Dtype::Float16, Dtype::Float32, Dtype::Int64, Dtype::Complex128] {
            let whole = digest(&View::of_bytes(&bytes, dtype));
            bytes[47] ^= 1;
            assert_ne!(digest(&View::of_bytes(&bytes, dtype)), whole, "{}", dtype.name());
            bytes[47] ^= 1;
        }
    }
}
