//! Gradient checkpointing, tuned: what every choice of blocks would cost in memory and time, and the cheapest below a limit.
//!
//! Pure arithmetic over the [`Trace`] of one step that was run without checkpointing. Nothing here does IO, reads a clock or knows
//! a framework: [`plan`] predicts, Python measures, [`text`] and [`plot`] show both.

mod plan;
mod plot;
mod search;
mod simulate;
mod text;
mod trace;
mod tuned;

pub use plan::plan;
pub use plot::plot;
pub use search::{Best, NODES_MAX, best, least};
pub use simulate::{Mode, Peak, Simulation};
pub use text::{bytes, text};
pub use trace::{Block, Holder, Region, Storage, Trace};
pub use tuned::{Cost, Parity, Planned, Point, Setting, Tuned};
