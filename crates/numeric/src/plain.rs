//! Memory read with as little work as can be: what the scans are compared with.

use std::ops::ControlFlow;

use crate::layout::Order;
use crate::prefetch::prefetch;
use crate::threads;
use crate::view::View;

/// How far ahead memory is asked for, as the scans do.
const AHEAD_BYTES: usize = 2048;

/// Exclusive or of the 64-bit words of a tensor, read by up to `threads` threads: the least that can be done with all of it.
pub fn plain_read(view: &View, threads: usize) -> u64 {
    let parts: Vec<_> = threads::parts(std::slice::from_ref(view)).collect();
    let found = threads::each(parts.len(), threads, |job| {
        let mut found = 0;
        let (number, of) = (parts[job].number, parts[job].of);
        let mut add = |bytes: &[u8]| {
            found ^= words(bytes);
            ControlFlow::Continue(())
        };
        match view.dtype().part().size() {
            1 => view.blocks_of::<u8>(Order::Memory, number, of, |block| add(bytes_of(block))),
            2 => view.blocks_of::<u16>(Order::Memory, number, of, |block| add(bytes_of(block))),
            4 => view.blocks_of::<u32>(Order::Memory, number, of, |block| add(bytes_of(block))),
            _ => view.blocks_of::<u64>(Order::Memory, number, of, |block| add(bytes_of(block))),
        };
        found
    });
    found.into_iter().fold(0, |a, b| a ^ b)
}

/// The bytes of integers.
fn bytes_of<T: Copy + Into<u64>>(block: &[T]) -> &[u8] {
    // SAFETY: integers have no padding.
    unsafe { std::slice::from_raw_parts(block.as_ptr().cast(), size_of_val(block)) }
}

fn words(bytes: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as was just seen.
        return unsafe { words_avx2(bytes) };
    }
    words_portable(bytes)
}

/// The same code, for the compiler to vectorize with wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn words_avx2(bytes: &[u8]) -> u64 {
    words_portable(bytes)
}

#[inline(always)]
fn words_portable(bytes: &[u8]) -> u64 {
    const WORDS: usize = 16;
    let mut found = [0u64; WORDS];
    let (rounds, rest) = bytes.as_chunks::<{ 8 * WORDS }>();
    for round in rounds {
        prefetch(round.as_ptr().wrapping_add(AHEAD_BYTES), size_of_val(round));
        for (found, word) in found.iter_mut().zip(round.as_chunks::<8>().0) {
            *found ^= u64::from_ne_bytes(*word);
        }
    }
    let mut last = [0; 8 * WORDS];
    last[..rest.len()].copy_from_slice(rest);
    for (found, word) in found.iter_mut().zip(last.as_chunks::<8>().0) {
        *found ^= u64::from_ne_bytes(*word);
    }
    found.into_iter().fold(0, |a, b| a ^ b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dtype;

    #[test]
    fn every_byte_is_read_once_by_any_number_of_threads() {
        let mut bytes = vec![0u8; (3 << 20) + 24];
        let len = bytes.len();
        for at in [0, 5, 1 << 20, len - 1] {
            bytes[at] ^= 1;
            let one = plain_read(&View::of_bytes(&bytes, Dtype::Float32), 1);
            assert_eq!(one, 1 << (at % 8 * 8));
            assert_eq!(plain_read(&View::of_bytes(&bytes, Dtype::Float32), 2), one);
            bytes[at] ^= 1;
        }
    }
}
