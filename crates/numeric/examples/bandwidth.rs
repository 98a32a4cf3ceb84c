//! Prints what fraction of a plain read's bandwidth each scan reaches: `cargo run --release --example bandwidth`.
#![allow(clippy::print_stdout, reason = "a program that prints a table")]

use std::hint::black_box;
use std::time::Instant;

use nanscope_numeric::{Dtype, View, all_finite, census, counts, pass};

const ROUNDS: usize = 15;

/// Best of several rounds, in bytes per nanosecond.
fn gigabytes_per_second(bytes: usize, mut scan: impl FnMut()) -> f64 {
    let nanos = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        scan();
        start.elapsed().as_nanos()
    });
    bytes as f64 / nanos.min().unwrap_or(1) as f64
}

/// Adds 64-bit words: what reading the memory costs when hardly anything is done with it.
fn plain_read(bytes: &[u8]) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().fold(0, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)))
}

fn main() {
    println!(
        "{:>8} {:>16} {:>6} {:>6} {:>10} {:>6} {:>6}",
        "MiB", "dtype", "read", "pass", "all_finite", "counts", "census"
    );
    for mebibytes in [64.0, 0.25] {
        let len = (mebibytes * 1048576.0) as usize;
        // Finite numbers in every type: the top byte of each word keeps clear of the largest exponents.
        let bytes: Vec<u8> = (0..len).map(|i| if i % 2 == 1 { 0x3c } else { (i * 31 % 119) as u8 }).collect();
        for dtype in
            [Dtype::Float32, Dtype::Float16, Dtype::BFloat16, Dtype::Float64, Dtype::Float8E4M3Fn, Dtype::Int64]
        {
            let view = View::of_bytes(&bytes, dtype);
            println!(
                "{mebibytes:>8} {:>16} {:>6.2} {:>6.2} {:>10.2} {:>6.2} {:>6.2}",
                dtype.name(),
                gigabytes_per_second(len, || {
                    black_box(plain_read(black_box(&bytes)));
                }),
                gigabytes_per_second(len, || {
                    black_box(pass(black_box(&view)));
                }),
                gigabytes_per_second(len, || {
                    black_box(all_finite(black_box(&view)));
                }),
                gigabytes_per_second(len, || {
                    black_box(counts(black_box(&view)));
                }),
                gigabytes_per_second(len, || {
                    black_box(census(black_box(&view)));
                }),
            );
        }
    }
}
