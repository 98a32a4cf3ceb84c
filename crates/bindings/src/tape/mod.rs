//! The hot part of capture: what happens at every event of every step, where each Python frame would count.
//!
//! Nothing here decides what an event means; that is Python's, in `nanscope.capture`.

mod event;
mod made;
mod place;
mod recording;

pub(crate) use event::{Event, Ref};
pub(crate) use made::Made;
pub(crate) use place::caller;
pub(crate) use recording::Recording;
