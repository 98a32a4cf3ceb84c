//! The command line of nanscope: arguments to calls.
//!
//! The wheel's console script and the native binary parse with the same code. `run` needs Python, so [`parse`] hands it
//! back; every other command is executed here, without Python and without torch. Nothing is computed here: `explain`
//! reads with `nanscope-trace`, diagnoses with `nanscope-diagnose` and renders with `nanscope-report`.

mod args;
mod color;
mod completions;
mod explain;
mod fix;
mod knowledge;
mod locale;
mod nearest;
mod output;
mod parse;
mod patch;
mod recorded;
mod rules;
mod run;
mod trend;

pub use color::Color;
pub use explain::merged;
pub use fix::{choose, read};
pub use locale::locale;
pub use nanscope_lang::Lang;
pub use parse::{Parsed, ProveOptions, Said, Task, parse};
pub use patch::{Patched, patched};
pub use run::{Checks, OnTrip, RunOptions};

/// Executes a command that needs no Python, and returns the exit status. Data goes to stdout, talk to stderr.
pub fn execute(task: Task) -> i32 {
    let done = match task {
        Task::Explain { run, format, color, lang } => explain::explain(&run, format, color, lang),
        Task::Fix { run, number, write, color, lang } => fix::fix(&run, number, write, color, lang),
        Task::Rules { id, lang } => rules::rules(id.as_deref(), lang),
        Task::Completions { shell } => completions::completions(shell),
        Task::Say(said) => return output::say(&said),
    };
    output::status(done)
}
