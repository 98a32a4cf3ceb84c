//! Every scan beside a plain read of the same memory: `cargo bench -p nanscope-numeric`, or one type and size of it with
//! `cargo bench -p nanscope-numeric -- float32/64MiB`.
#![allow(missing_docs, reason = "the functions that criterion makes have none")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use nanscope_numeric::{
    Dtype, View, all_finite, census, census_on, counts, digest, first_not_finite, pass, passes, plain_read,
};

const SIZES: &[(&str, usize)] = &[("4KiB", 1 << 12), ("256KiB", 1 << 18), ("64MiB", 1 << 26), ("1GiB", 1 << 30)];

const DTYPES: &[Dtype] = &[Dtype::Float32, Dtype::Float16, Dtype::BFloat16, Dtype::Float64, Dtype::Float8E4M3Fn];

/// Numbers of a normal distribution, or near one, in the type.
fn memory(dtype: Dtype, bytes: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    let numbers: Vec<f32> = (0..65536).map(|_| (0..12).map(|_| uniform()).sum::<f32>() - 6.0).collect();
    let one: Vec<u8> = match dtype {
        Dtype::Float64 => numbers.iter().flat_map(|x| f64::from(*x).to_ne_bytes()).collect(),
        Dtype::Float32 => numbers.iter().flat_map(|x| x.to_ne_bytes()).collect(),
        Dtype::Float16 => numbers.iter().flat_map(|x| half::f16::from_f32(*x).to_ne_bytes()).collect(),
        Dtype::BFloat16 => numbers.iter().flat_map(|x| half::bf16::from_f32(*x).to_ne_bytes()).collect(),
        // Any code but those of NaN.
        _ => numbers.iter().map(|x| x.to_bits() as u8 & 0xbf).collect(),
    };
    one.into_iter().cycle().take(bytes).collect()
}

/// Uses a result, so that it is computed.
fn keep<T>(result: T) {
    black_box(result);
}

fn scans(criterion: &mut Criterion) {
    for &dtype in DTYPES {
        for &(size, bytes) in SIZES {
            let memory = memory(dtype, bytes);
            let view = View::of_bytes(&memory, dtype);
            let views = [view];
            let mut group = criterion.benchmark_group(format!("{}/{size}", dtype.name()));
            group.throughput(Throughput::Bytes(bytes as u64)).sample_size(10);
            let mut one = |name: &str, threads: usize, scan: &dyn Fn()| {
                group.bench_function(BenchmarkId::new(name, threads), |bencher| bencher.iter(scan));
            };
            one("read", 1, &|| keep(plain_read(black_box(&view), 1)));
            one("all_finite", 1, &|| keep(all_finite(black_box(&view))));
            one("pass", 1, &|| keep(pass(black_box(&view))));
            one("counts", 1, &|| keep(counts(black_box(&view))));
            one("census", 1, &|| keep(census(black_box(&view))));
            one("digest", 1, &|| keep(digest(black_box(&view))));
            if bytes > 1 << 22 {
                one("read", 2, &|| keep(plain_read(black_box(&view), 2)));
                one("all_finite", 2, &|| keep(first_not_finite(black_box(&views), 2)));
                one("pass", 2, &|| keep(passes(black_box(&views), 2)));
                one("census", 2, &|| keep(census_on(black_box(&view), 2)));
            }
            group.finish();
        }
    }
}

criterion_group!(benches, scans);
criterion_main!(benches);
