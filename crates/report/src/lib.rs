//! A [`Report`](nanscope_trace::schema::Report) as text: for a terminal, for an issue tracker, for a machine.
//!
//! Renderers only read. What is said is decided once, in `content`; a renderer gives it a form. Nothing here does
//! IO, reads the clock or looks at the environment: whether there is colour and how wide the terminal is, the caller
//! says.

mod content;
mod format;
pub mod json;
pub mod markdown;
pub mod terminal;

pub use content::number;
pub use format::{Format, UnknownFormat, render};
pub use terminal::{Options, about, diff, table};
