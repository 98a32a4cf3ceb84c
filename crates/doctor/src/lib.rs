//! The machine and its settings as they are before a run: versions, known-bad combinations of them, variables, allocator and
//! determinism, GPUs, clock, shared memory, limits.
//!
//! [`Facts`] are read, [`examine`] judges them, [`render`] shows them. Torch is asked in a process of its own, which may be
//! missing, crash or hang; nothing here imports it. Nothing is changed, and nothing leaves the machine.

mod ask;
mod examine;
mod gpu;
mod machine;
mod pairs;
mod text;
mod torch;
mod variables;
mod version;

pub use examine::{Examined, Finding, Severity, Variable, examine};
pub use gpu::Gpu;
pub use machine::{Facts, Limit, Shared};
pub use pairs::{PAIRS, Pair};
pub use text::render;
pub use torch::Torch;
pub use variables::{KNOWN, Known};
