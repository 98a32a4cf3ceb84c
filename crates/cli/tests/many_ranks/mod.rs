//! The run folder of a job that never was: many ranks, many steps, a fault planted on one of them.

use std::path::Path;

use nanscope_trace::{Kind, Writer, schema::*};
use serde_json::{Value, json};

/// The rank whose part is bad first.
pub(crate) fn culprit(ranks: u32) -> u32 {
    ranks * 2 / 3
}

/// Gradient buckets that are reduced over all ranks in a step.
const BUCKETS: u64 = 4;
/// Operators before the first of them.
const FORWARD: usize = 40;

/// Writes the folder: `ranks` logs of `steps` steps each. In the step after those, one rank takes the logarithm of a negative
/// number; every rank trips on its gradients, and all have run the step again together.
pub(crate) fn write(folder: &Path, ranks: u32, steps: u64) -> Result<(), nanscope_trace::Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    std::thread::scope(|scope| {
        let share = |first| {
            move || (first..ranks).step_by(threads as usize).try_for_each(|rank| log(folder, rank, ranks, steps))
        };
        let writers: Vec<_> = (0..threads).map(|first| scope.spawn(share(first))).collect();
        writers.into_iter().try_for_each(|writer| writer.join().expect("a writer does not panic"))
    })
}

fn log(folder: &Path, rank: u32, ranks: u32, steps: u64) -> Result<(), nanscope_trace::Error> {
    let info =
        RunInfo { script: "train.py".into(), cwd: "/home/user".into(), world_size: ranks, rank, ..RunInfo::default() };
    let mut writer = Writer::create(folder, &info)?;
    for step in 0..steps {
        let loss = 2.0 + 1.0 / (step + 1) as f64 + f64::from(rank) * 1e-4;
        writer.step(&StepRecord {
            step,
            nanos: 400_000_000 * (step + 1),
            watch_nanos: 150_000,
            loss: Some(loss),
            grad_norm: Some(0.7),
            grad_max: Some(0.05),
            lr: Some(3e-4),
            ..StepRecord::default()
        })?;
    }
    let entries = entries(rank, ranks);
    let ledger = json!({
        "entries": entries, "events": 3, "operators": entries.len(), "faithful": true, "method": "tape", "seconds": 0.5,
    });
    let trip = json!({"step": steps, "rank": rank, "where": "gradient", "kind": "nan", "entry": entries.len() - 1});
    writer.append_json(Kind::Trip, &trip.to_string())?;
    writer.append_json(Kind::Ledger, &ledger.to_string())?;
    let end =
        json!({"how": "stopped", "status": 1, "steps": steps, "seconds": 4000.0, "watch_seconds": 1.5, "warnings": []});
    writer.append_json(Kind::End, &end.to_string())?;
    writer.close()
}

fn entries(rank: u32, ranks: u32) -> Vec<Value> {
    let bad = culprit(ranks);
    let arg = |name: &str, nan: u64, from: Option<usize>| {
        let counts = json!({"nan": nan, "max_abs": 1.5});
        let mut arg = json!({"name": name, "dtype": "float32", "shape": [1024], "device": "cuda:0", "counts": counts});
        if let Some(from) = from {
            arg["from"] = from.into();
        }
        arg
    };
    let place =
        |line: usize| json!({"file": "train.py", "line": line, "function": "step", "code": "    y = torch.log(x)"});
    let mut entries: Vec<Value> = (0..FORWARD)
        .map(|at| {
            // From its last operator on, what the culprit computes is not finite.
            let born = u64::from(rank == bad && at + 1 == FORWARD);
            let op = if at + 1 == FORWARD { "aten.log.default" } else { "aten.mul.Tensor" };
            let from = at.checked_sub(1);
            let mut input = arg("self", 0, from);
            if born > 0 {
                input["value"] = json!(-0.5);
                input["index"] = json!([3]);
            }
            json!({"event": 0, "phase": "forward", "op": op, "module": "Net", "place": place(10 + at),
                "inputs": [input], "outputs": [arg("out", born, None)]})
        })
        .collect();
    for number in 0..BUCKETS {
        let parts: Vec<Value> =
            (0..ranks).map(|of| json!({"rank": of, "counts": {"nan": u64::from(of == bad), "max_abs": 1.5}})).collect();
        entries.push(json!({
            "event": 1, "phase": "comm", "op": "c10d.allreduce_.default",
            "inputs": [arg("part", u64::from(rank == bad), Some(FORWARD - 1))], "outputs": [arg("out", 1024, None)],
            "comm": {"kind": "allreduce", "reduction": "sum", "group": "0", "number": number, "world": ranks, "rank": rank,
                "live": true, "parts": parts},
        }));
    }
    for (index, entry) in entries.iter_mut().enumerate() {
        entry["index"] = index.into();
    }
    entries
}
