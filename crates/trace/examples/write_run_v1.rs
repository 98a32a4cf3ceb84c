//! Writes the run folder that `tests/data/run-v1` holds, into the folder given.
//!
//! `cargo run -p nanscope-trace --example write_run_v1 -- tests/data/run-v1`
//!
//! A later format gets an example and a folder of its own; this folder stays, to prove that it loads.

use std::path::Path;

use nanscope_trace::{Kind, RunInfo, StepRecord, Writer, write_report};

const INFO: &str = r#"{"schema": "nanscope.run/1", "script": "train.py", "argv": ["--epochs", "3"], "cwd": "/home/user/work",
 "python": "3.11.7", "torch": "2.13.0+cpu", "nanscope": "0.1.0", "devices": ["cpu"], "world_size": 1, "rank": 0, "pid": 4242,
 "started_unix_nanos": 1764547200000000000}"#;

const TRIP: &str = r#"{"step": 5, "rank": 0, "where": "loss", "kind": "nan", "loss": "nan", "entry": 1}"#;

const LEDGER: &str = r#"{"entries": [
 {"index": 0, "event": 0, "phase": "forward", "op": "aten.sub.Tensor", "module": "Net",
  "place": {"file": "train.py", "line": 11, "function": "Net.forward", "columns": [15, 20], "code": "        x = x - x.mean()"},
  "inputs": [{"name": "self", "dtype": "float32", "shape": [2, 2], "device": "cpu", "counts": {"max_abs": 1.0},
   "source": {"kind": "data", "name": "argument x of Net.forward", "event": 0}}],
  "outputs": [{"name": "out", "dtype": "float32", "shape": [2, 2], "device": "cpu", "counts": {"max_abs": 0.5}}],
  "scalars": {"alpha": 1}},
 {"index": 1, "event": 0, "phase": "forward", "op": "aten.log.default", "module": "Net",
  "place": {"file": "train.py", "line": 12, "function": "Net.forward"},
  "inputs": [{"name": "self", "dtype": "float32", "shape": [2, 2], "device": "cpu", "counts": {"max_abs": 0.5}, "from": 0}],
  "outputs": [{"name": "out", "dtype": "float32", "shape": [2, 2], "device": "cpu", "counts": {"nan": 1, "neginf": 1, "max_abs": 0.75},
   "census": {"n": 4, "nan": 1, "neginf": 1, "min": -0.75, "max": -0.25, "max_abs": 0.75, "min_abs_nonzero": 0.25, "sum": -1.0,
    "sum_squares": 0.625, "first_bad": 2, "exponents": [[-2, 1], [-1, 1]]}, "index": [1, 0], "value": "nan"}],
  "reference": {"dtype": "float64", "finite": false, "largest": 0.75}}],
 "events": 3, "operators": 2, "faithful": true, "method": "tape", "seconds": 0.125, "facts": {"optimizer.eps": 1e-8},
 "warnings": ["1 tensor could not be read"]}"#;

const END: &str =
    r#"{"how": "stopped", "status": 1, "steps": 5, "seconds": 2.5, "watch_seconds": 0.01, "warnings": []}"#;

const REPORT: &str = r#"{
  "schema": "nanscope.report/1",
  "verdict": "nonfinite",
  "run": {"script": "train.py", "argv": ["--epochs", "3"], "python": "3.11.7", "torch": "2.13.0+cpu", "nanscope": "0.1.0",
    "devices": ["cpu"], "world_size": 1, "steps": 5, "seconds": 2.5, "watch_seconds": 0.01},
  "trip": {"step": 5, "rank": 0, "where": "loss", "kind": "nan"},
  "replay": {"faithful": true, "method": "tape", "events": 3, "operators": 2, "seconds": 0.125},
  "origin": {"phase": "forward", "rank": 0, "step": 5, "op": "aten.log.default", "file": "train.py", "line": 12,
    "function": "Net.forward", "module": "Net", "dtype": "float32", "device": "cpu", "kind": "nan", "bad": 2, "of": 4,
    "first_index": [1, 0], "inputs": [{"name": "self", "dtype": "float32", "shape": [2, 2]}]},
  "causes": [{"id": "log-of-nonpositive", "title": "log of a number that is not positive", "confidence": "proved",
    "evidence": ["2 of 4 elements"], "docs": "nanscope rules log-of-nonpositive"}],
  "experiments": [{"id": "float64", "change": "the step in float64", "finite": false, "loss": "nan"}],
  "fixes": [{"id": "clamp", "summary": "clamp before the log", "safety": "changes-training"}]
}
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("expected the folder to write, got no argument")?;
    let dir = Path::new(&dir);
    let info: RunInfo = serde_json::from_str(INFO)?;
    let mut writer = Writer::create(dir, &info)?;
    for step in 0..5 {
        writer.step(&StepRecord {
            step,
            nanos: 100_000_000 * (step + 1),
            watch_nanos: 20_000,
            loss: Some(1.0 / (step + 1) as f64),
            grad_norm: (step != 3).then_some(0.5),
            grad_max: Some(if step == 3 { f64::INFINITY } else { 0.25 }),
            scale: None,
            lr: Some(1e-3),
            skipped: step == 3,
        })?;
    }
    writer.note("step 3 was skipped")?;
    for (kind, json) in [(Kind::Trip, TRIP), (Kind::Ledger, LEDGER), (Kind::End, END)] {
        writer.append_json(kind, json)?;
    }
    writer.close()?;
    write_report(dir, REPORT)?;
    Ok(())
}
