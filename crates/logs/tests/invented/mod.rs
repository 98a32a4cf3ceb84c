//! Logs of a job that never was, in the formats that NCCL 2.4, 2.10, 2.18 and 2.27 have in public issues.

// Every test that includes this file uses another part of it.
#![allow(dead_code)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A generation of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    V2_4,
    V2_10,
    V2_18,
    V2_27,
}

/// Every generation.
pub(crate) const ALL: [Generation; 4] = [Generation::V2_4, Generation::V2_10, Generation::V2_18, Generation::V2_27];

impl Generation {
    pub(crate) fn version(self) -> &'static str {
        match self {
            Generation::V2_4 => "2.4.8+cuda10.1",
            Generation::V2_10 => "2.10.3+cuda11.3",
            Generation::V2_18 => "2.18.1+cuda12.1",
            Generation::V2_27 => "2.27.3+cuda12.9",
        }
    }
}

/// What begins every line of a rank: 8 ranks a machine.
pub(crate) fn by(rank: u32) -> String {
    format!("node-{}:{}:{} [{}] NCCL INFO ", rank / 8, 4100 + rank, 4200 + rank, rank % 8)
}

fn comm(rank: u32) -> u64 {
    0x55ca_0000_1000 + u64::from(rank) * 0x1_0000
}

/// The initialisation of one rank.
pub(crate) fn init(generation: Generation, rank: u32, nranks: u32) -> String {
    let by = by(rank);
    let (next, gpu) = ((rank + 1) % nranks, rank % 8);
    let (bus, next_bus) = (0x1000 * (gpu + 1), 0x1000 * (next % 8 + 1));
    let remote = rank / 8 != next / 8;
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap();
    if generation == Generation::V2_4 {
        line(format!("{by}Bootstrap : Using [0]ens5:10.0.0.{rank}<0>"));
        line(format!("{by}NET/Plugin : No plugin found (libnccl-net.so)."));
    } else {
        line(format!("{by}Bootstrap : Using eth0:10.0.0.{rank}<0>"));
    }
    line(format!("{by}NET/IB : Using [0]mlx5_0:1/IB ; OOB eth0:10.0.0.{rank}<0>"));
    match generation {
        Generation::V2_4 | Generation::V2_10 if rank == 0 => line(format!("NCCL version {}", generation.version())),
        Generation::V2_4 | Generation::V2_10 => {}
        Generation::V2_18 => {
            line(format!("{by}cudaDriverVersion 12010"));
            line(format!("{by}NCCL version {}", generation.version()));
        }
        Generation::V2_27 => {
            line(format!("[rank{rank}]:{by}cudaDriverVersion 12090"));
            line(format!("[rank{rank}]:{by}NCCL version {}", generation.version()));
        }
    }
    let id = format!("commId 0x{:x}", 0xfa2b_0001_u64);
    if generation != Generation::V2_4 {
        line(format!("{by}Using network IB"));
    }
    match generation {
        Generation::V2_18 => line(format!(
            "{by}comm 0x{:x} rank {rank} nranks {nranks} cudaDev {gpu} nvmlDev {gpu} busId {bus:x} {id} - Init START",
            comm(rank)
        )),
        Generation::V2_27 => line(format!(
            "{by}ncclCommInitRankConfig comm 0x{:x} rank {rank} nranks {nranks} cudaDev {gpu} nvmlDev {gpu} busId {bus:x} {id} - Init START",
            comm(rank)
        )),
        _ => {}
    }
    let (channel, via) = match (generation, remote) {
        (Generation::V2_4, true) => (format!("Ring 00 : {rank} -> {next} [send]"), "NET/IB/0/GDRDMA"),
        (Generation::V2_4, false) => (format!("Ring 00 : {rank}[{gpu}] -> {next}[{}]", next % 8), "P2P/IPC"),
        (Generation::V2_10, true) => {
            (format!("Channel 00 : {rank}[{bus:x}] -> {next}[{next_bus:x}] [send]"), "NET/IB/0/GDRDMA")
        }
        (Generation::V2_10, false) => (format!("Channel 00 : {rank}[{bus:x}] -> {next}[{next_bus:x}]"), "P2P/IPC"),
        (_, true) => (format!("Channel 00/0 : {rank}[{gpu}] -> {next}[{}] [send]", next % 8), "NET/IB/0/GDRDMA"),
        (_, false) => (format!("Channel 00/0 : {rank}[{gpu}] -> {next}[{}]", next % 8), "P2P/CUMEM/read"),
    };
    line(format!("{by}Channel 00/02 :    0   1   2   3"));
    line(format!("{by}{channel} via {via}"));
    line(match generation {
        Generation::V2_4 => {
            format!(
                "{by}comm 0x{:x} rank {rank} nranks {nranks} cudaDev {gpu} nvmlDev {gpu} - Init COMPLETE",
                comm(rank)
            )
        }
        Generation::V2_10 => {
            format!(
                "{by}comm 0x{:x} rank {rank} nranks {nranks} cudaDev {gpu} busId {bus:x} - Init COMPLETE",
                comm(rank)
            )
        }
        Generation::V2_18 => format!(
            "{by}comm 0x{:x} rank {rank} nranks {nranks} cudaDev {gpu} nvmlDev {gpu} busId {bus:x} {id} - Init COMPLETE",
            comm(rank)
        ),
        Generation::V2_27 => format!(
            "{by}ncclCommInitRankConfig comm 0x{:x} rank {rank} nranks {nranks} cudaDev {gpu} nvmlDev {gpu} busId {bus:x} {id} - Init COMPLETE",
            comm(rank)
        ),
    });
    out
}

/// A collective of one rank.
pub(crate) fn collective(rank: u32, nranks: u32, count: u64, op: &str, elements: u64) -> String {
    format!(
        "{}{op}: opCount {count:x} sendbuff 0x7f50{count:08x} recvbuff 0x7f51{count:08x} count {elements} datatype 7 op 0 root 0 comm 0x{:x} [nranks={nranks}] stream 0x55f1de7279a0\n",
        by(rank),
        comm(rank)
    )
}

/// Logs of 16 ranks, about `bytes` in all, one file a rank; half of the lines are the program's own. Rank 5 leaves out one
/// collective, three quarters through.
pub(crate) fn write(folder: &Path, bytes: u64) -> io::Result<Vec<PathBuf>> {
    const RANKS: u32 = 16;
    fs::create_dir_all(folder)?;
    let size = 2 * collective(0, RANKS, 7, "AllReduce", 1).len() as u64;
    let rounds = (bytes / u64::from(RANKS)).div_ceil(size).max(8);
    (0..RANKS)
        .map(|rank| {
            let path = folder.join(format!("rank-{rank}.out"));
            let mut file = BufWriter::new(File::create(&path)?);
            file.write_all(init(Generation::V2_27, rank, RANKS).as_bytes())?;
            for round in 0..rounds {
                let count = round + u64::from(rank == 5 && round >= rounds * 3 / 4);
                let (op, elements) = if count % 8 == 7 { ("AllGather", 4096) } else { ("AllReduce", 1 << (10 + count % 8)) };
                file.write_all(collective(rank, RANKS, round, op, elements).as_bytes())?;
                writeln!(
                    file,
                    "[rank{rank}]: iteration {round:>9} | loss 2.71828 | lr 3.00e-4 | grad norm 1.414 | elapsed {:>12} ms | tokens per second 123456.7 | memory 61.2 GB | step time 512.3 ms | data time 1.2 ms",
                    round * 512
                )?;
            }
            file.flush()?;
            Ok(path)
        })
        .collect()
}
