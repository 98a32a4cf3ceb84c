//! Writes and reads a log of a million steps, and says how long each took.
//!
//! `cargo run --release -p nanscope-trace --example time_a_million_steps`

use std::time::Instant;

use nanscope_trace::{Run, RunInfo, StepRecord, Writer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::temp_dir().join(format!("nanscope-steps-{}", std::process::id()));
    let mut writer = Writer::create(&dir, &RunInfo::default())?;
    let (steps, begun) = (1_000_000, Instant::now());
    for step in 0..steps {
        let x = Some(step as f64);
        writer.step(&StepRecord { step, loss: x, grad_norm: x, grad_max: x, lr: x, ..StepRecord::default() })?;
    }
    eprintln!("write: {:.2} us a step, {} bytes in all", begun.elapsed().as_secs_f64(), writer.bytes());
    let begun = Instant::now();
    let run = Run::open(&dir)?;
    eprintln!("read: {:.3} s for {} steps", begun.elapsed().as_secs_f64(), run.logs[0].steps.len());
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}
