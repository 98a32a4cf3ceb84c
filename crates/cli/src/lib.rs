//! The command line of nanscope: arguments to calls.
//!
//! The wheel's console script and the native binary parse with the same code. `run` and `checkpoint` need Python, so [`parse`] hands
//! them back; every other command is executed here, without Python and without torch. Nothing is computed here: `explain`
//! reads with `nanscope-trace`, diagnoses with `nanscope-diagnose` and renders with `nanscope-report`.

mod args;
mod check;
mod checkpoint;
mod color;
mod completions;
mod doctor;
mod explain;
mod fix;
mod knowledge;
mod locale;
mod logs;
mod nearest;
mod output;
mod parse;
mod patch;
mod recorded;
mod rules;
mod run;
mod trend;

pub use args::DataFormat;
pub use check::Checks;
pub use checkpoint::CheckpointOptions;
pub use color::Color;
pub use explain::{OfRank, merged, rank};
pub use fix::{choose, read};
pub use locale::locale;
pub use nanscope_lang::Lang;
pub use parse::{Parsed, ProveOptions, Said, Task, parse};
pub use patch::{Patched, patched};
pub use run::{OnTrip, RunOptions};

/// Executes a command that needs no Python, and returns the exit status. Data goes to stdout, talk to stderr.
pub fn execute(task: Task) -> i32 {
    let done = match task {
        Task::Explain { run, format, color, lang } => explain::explain(&run, format, color, lang).map(|()| 0),
        Task::Fix { run, number, write, color, lang } => fix::fix(&run, number, write, color, lang).map(|()| 0),
        Task::Doctor { format, python, lang } => doctor::doctor(format, python, lang),
        Task::Logs { files, format, unknown, lang } => logs::logs(&files, format, unknown, lang),
        Task::Rules { id, lang } => rules::rules(id.as_deref(), lang).map(|()| 0),
        Task::Completions { shell } => completions::completions(shell).map(|()| 0),
        Task::Say(said) => return output::say(&said),
    };
    output::status(done)
}
