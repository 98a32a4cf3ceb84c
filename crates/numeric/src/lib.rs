//! Number formats, the census of a tensor, and the scan kernels over raw memory.
//!
//! Invariants: no framework is known here; nothing is allocated while memory is scanned (but the results of several threads);
//! the scalar code is the definition, and every SIMD kernel must agree with it.

pub mod census;
mod digest;
pub mod drift;
pub mod dtype;
mod element;
pub mod format;
mod fp8;
mod imprint;
mod layout;
mod plain;
mod prefetch;
pub mod scan;
pub mod spread;
mod tally;
mod threads;
pub mod view;

pub use census::{Census, census, census_on};
pub use digest::digest;
pub use drift::{Drift, drift};
pub use dtype::Dtype;
pub use format::Format;
pub use imprint::{Imprint, imprint};
pub use plain::plain_read;
pub use scan::{Counts, Pass, all_finite, counts, counts_on, first_not_finite, pass, passes};
pub use spread::{Spread, spread};
pub use view::View;
