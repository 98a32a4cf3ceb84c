//! The hot part of capture: what happens at every event of every step, where each Python frame would count.
//!
//! Nothing here decides what an event means; that is Python's, in `nanscope.capture`.

mod backward;
mod encoded;
mod event;
mod events;
mod functions;
mod gate;
mod habits;
mod inputs;
mod made;
mod method;
mod modules;
mod place;
mod recording;
mod slot;
mod step;
mod torch;

pub(crate) use backward::Backward;
pub(crate) use event::{Event, Ref};
pub(crate) use events::Tape;
pub(crate) use functions::{Functions, Shortcut};
pub(crate) use gate::{Aside, Noted};
pub(crate) use habits::Habits;
pub(crate) use made::Made;
pub(crate) use modules::Modules;
pub(crate) use place::caller;
pub(crate) use recording::Recording;
