//! Three integers over the bits of a tensor, read at memory bandwidth, that tell two tensors apart and, where a single
//! element differs, which one.

use std::ops::ControlFlow;

use crate::layout::Order;
use crate::view::View;

/// Numbers whose position is counted from the start of their block: so small that a 32-bit number times it needs no more
/// than 64 bits, and large enough that the work between blocks does not count.
const BLOCK: usize = 1024;

/// Tensors of one type and shape that hold the same bits have the same imprint; others share one by chance only. All sums
/// wrap at 2^64, so that no value drops out of them, as a NaN drops out of a maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imprint {
    /// Exclusive or of all numbers, each as the integer that its bits are.
    pub xor: u64,
    /// Sum of them.
    pub sum: u64,
    /// Sum of them, each times its row-major position counted from 1.
    pub weighted: u64,
}

/// The imprint of a tensor; the parts of a complex element are two numbers.
pub fn imprint(view: &View) -> Imprint {
    match view.dtype().part().size() {
        1 => fold::<u8>(view),
        2 => fold::<u16>(view),
        4 => fold::<u32>(view),
        _ => fold::<u64>(view),
    }
}

fn fold<T: Copy + Into<u64>>(view: &View) -> Imprint {
    let mut found = Imprint::default();
    let mut before = 0u64;
    view.blocks::<T>(Order::Logical, |numbers| {
        for block in numbers.chunks(BLOCK) {
            let one = of_block(block);
            found.xor ^= one.xor;
            found.sum = found.sum.wrapping_add(one.sum);
            found.weighted = found.weighted.wrapping_add(one.weighted).wrapping_add(one.sum.wrapping_mul(before));
            before += block.len() as u64;
        }
        ControlFlow::Continue(())
    });
    found
}

/// The imprint of one block.
fn of_block<T: Copy + Into<u64>>(block: &[T]) -> Imprint {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just seen.
        return unsafe { of_block_avx2(block) };
    }
    plain_block(block)
}

/// The same code, for the compiler to vectorize with wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn of_block_avx2<T: Copy + Into<u64>>(block: &[T]) -> Imprint {
    plain_block(block)
}

#[inline(always)]
fn plain_block<T: Copy + Into<u64>>(block: &[T]) -> Imprint {
    let mut found = Imprint::default();
    for (position, &bits) in (1u64..).zip(block) {
        let bits: u64 = bits.into();
        found.xor ^= bits;
        found.sum = found.sum.wrapping_add(bits);
        found.weighted = found.weighted.wrapping_add(bits.wrapping_mul(position));
    }
    found
}

impl Imprint {
    /// The position (row-major, from 0) and the bits in which two tensors of `len` numbers differ, if a single number
    /// differs. Tensors that differ in more look like that by chance `len` times in 2^64.
    pub fn single(self, other: Imprint, len: u64) -> Option<(u64, u64)> {
        let by = self.sum.wrapping_sub(other.sum);
        let (bits, shift) = (self.xor ^ other.xor, by.trailing_zeros());
        if by == 0 || bits.trailing_zeros() != shift {
            return None; // the lowest bit that differs is the lowest bit of the difference
        }
        let weighted = self.weighted.wrapping_sub(other.weighted);
        // weighted = position * by modulo 2^64, and `by` without its powers of two can be inverted.
        let position = (weighted >> shift).wrapping_mul(inverse(by >> shift)) & (u64::MAX >> shift);
        let fits = (1..=len).contains(&position) && position.wrapping_mul(by) == weighted;
        fits.then(|| (position - 1, bits))
    }
}

/// The number whose product with `odd` is 1 modulo 2^64, by Newton's iteration: each round doubles the bits that are right.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd.wrapping_mul(3) ^ 2, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    fn of(data: &[f32]) -> Imprint {
        // SAFETY: as long as `data`.
        imprint(&unsafe { View::contiguous(data.as_ptr().cast(), Dtype::Float32, data.len()) })
    }

    fn plain(words: &[u32]) -> Imprint {
        let each = || words.iter().map(|&word| u64::from(word));
        Imprint {
            xor: each().fold(0, |a, b| a ^ b),
            sum: each().fold(0, u64::wrapping_add),
            weighted: (1..).zip(each()).fold(0, |a: u64, (i, b)| a.wrapping_add(b.wrapping_mul(i))),
        }
    }

    #[test]
    fn blocks_make_no_difference() {
        let data: Vec<f32> = (0..5000u16).map(|i| f32::from(i).sin()).collect();
        let words: Vec<u32> = data.iter().map(|x| x.to_bits()).collect();
        for len in [0, 1, 1023, 1024, 1025, 5000] {
            assert_eq!(of(&data[..len]), plain(&words[..len]), "{len}");
        }
    }

    #[test]
    fn a_single_element_is_found_with_its_bits() {
        let data: Vec<f32> = (0..3000u16).map(|i| f32::from(i).cos()).collect();
        for (index, bit) in [(0usize, 31u32), (1, 0), (1500, 30), (2999, 23)] {
            let mut other = data.clone();
            other[index] = f32::from_bits(data[index].to_bits() ^ 1 << bit);
            assert_eq!(of(&other).single(of(&data), 3000), Some((index as u64, 1 << bit)));
            assert_eq!(of(&data).single(of(&other), 3000), Some((index as u64, 1 << bit)));
            other[index] = 17.25;
            let bits = u64::from(17.25f32.to_bits() ^ data[index].to_bits());
            assert_eq!(of(&data).single(of(&other), 3000), Some((index as u64, bits)));
        }
        assert_eq!(of(&data).single(of(&data), 3000), None);
    }

    #[test]
    fn doubles_wrap_and_are_found_all_the_same() {
        let data = [1.5f64, -2.25, 3e300, 4e-300];
        // SAFETY: as long as the array.
        let of = |x: &[f64; 4]| imprint(&unsafe { View::contiguous(x.as_ptr().cast(), Dtype::Float64, 4) });
        let other = [1.5, -2.25, f64::NAN, 4e-300];
        assert_eq!(of(&data).single(of(&other), 4), Some((2, f64::NAN.to_bits() ^ 3e300f64.to_bits())));
    }

    #[test]
    fn two_elements_are_not_one() {
        let data: Vec<f32> = (0..3000u16).map(|i| f32::from(i).cos()).collect();
        let mut other = data.clone();
        other[7] += 0.5;
        other[900] -= 0.25;
        assert_eq!(of(&data).single(of(&other), 3000), None);
        other.swap(1, 2);
        assert_ne!(of(&data), of(&other));
    }
}
