//! Writes the run folder of a job of many ranks with a fault planted on one of them, with the real writer:
//!
//! `cargo run --release -p nanscope-cli --example write_ranks -- FOLDER RANKS STEPS`

#[path = "../tests/many_ranks/mod.rs"]
mod many_ranks;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, ranks, steps] = args.as_slice() else { return Err("expected FOLDER RANKS STEPS".into()) };
    let (ranks, steps) = (ranks.parse()?, steps.parse()?);
    many_ranks::write(std::path::Path::new(folder), ranks, steps)?;
    eprintln!("{ranks} ranks, {steps} steps; the fault is on rank {}", many_ranks::culprit(ranks));
    Ok(())
}
