//! Number formats, the census of a tensor, and the scan kernels over raw memory.
//!
//! Invariants: no framework is known here; nothing is allocated while memory is scanned; the scalar code is the
//! definition, and every SIMD kernel must agree with it.

pub mod census;
mod digest;
pub mod drift;
pub mod dtype;
mod element;
pub mod format;
mod fp8;
mod imprint;
mod layout;
pub mod scan;
pub mod spread;
mod tally;
pub mod view;

pub use census::{Census, census};
pub use digest::digest;
pub use drift::{Drift, drift};
pub use dtype::Dtype;
pub use format::Format;
pub use imprint::{Imprint, imprint};
pub use scan::{Counts, Pass, all_finite, counts, pass};
pub use spread::{Spread, spread};
pub use view::View;
