//! Writes logs of 16 ranks on two machines in the formats of several NCCL generations, about so many bytes of them in all:
//!
//! `cargo run --release -p nanscope-logs --example write_logs -- FOLDER BYTES`
//!
//! Values are invented. Rank 5 of the newest job leaves out one collective near the end.

#[path = "../tests/invented/mod.rs"]
mod invented;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(folder), Some(bytes)) = (args.next(), args.next()) else {
        return Err("expected a folder and a number of bytes".into());
    };
    let files = invented::write(std::path::Path::new(&folder), bytes.parse()?)?;
    eprintln!("{} files", files.len());
    Ok(())
}
