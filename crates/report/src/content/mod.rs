//! What is said about a report, whatever form it takes. Plain text, without colour, markup or line ends.

mod chain;
mod experiment;
mod fix;
mod footer;
mod heading;
mod headline;
mod label;
mod more;
mod notes;
mod number;
mod operand;
mod spot;
mod trip;

pub(crate) use chain::{Row, chain};
pub(crate) use experiment::{experiments, island};
pub(crate) use fix::{proof, safety};
pub(crate) use footer::footer;
pub(crate) use heading::Heading;
pub(crate) use headline::{confidence, finite, headline};
pub(crate) use more::tells_more;
pub(crate) use notes::{notes, to_be_sure};
pub use number::number;
pub(crate) use spot::{Spot, spot};
