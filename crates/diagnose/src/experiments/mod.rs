//! What is tried on the replay of a failing step: which changes, in what order, and the searches that need many replays.

mod answers;
mod guilty;
mod island;
mod loss_scale;
mod plan;

pub use guilty::{GuiltySearch, Kept, Samples, Shown};
pub use island::{Island, IslandSearch, Seen};
pub(crate) use loss_scale::fix as loss_scale_fix;
pub use plan::{Planned, Scouted, plan};

/// What a search wants next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<Q, F> {
    /// The outcome of this replay.
    Ask(Q),
    /// Nothing: it is over.
    Found(F),
}
