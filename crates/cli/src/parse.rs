use std::{ffi::OsString, path::PathBuf};

use clap::Parser;
use clap_complete::Shell;
use nanscope_lang::Lang;
use nanscope_report::Format;

use crate::{
    CheckpointOptions, Color, OnTrip, RunOptions,
    args::{Args, CheckpointArgs, Command, DataFormat, RunArgs},
    locale,
};

/// A command line, understood.
#[derive(Debug)]
pub enum Parsed {
    /// For Python.
    Run(RunOptions),
    /// For Python.
    Checkpoint(CheckpointOptions),
    /// For Python.
    Prove(ProveOptions),
    /// For [`execute`](crate::execute).
    Task(Task),
}

/// A fix to be proved once more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProveOptions {
    /// The run folder.
    pub run: PathBuf,
    /// Number of the fix, from 1.
    pub number: usize,
    /// Language of what is said.
    pub lang: Lang,
}

/// A command that needs no Python.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum Task {
    Explain {
        run: Vec<PathBuf>,
        format: Format,
        color: Color,
        lang: Lang,
    },
    Fix {
        run: PathBuf,
        number: usize,
        write: bool,
        color: Color,
        lang: Lang,
    },
    Doctor {
        format: DataFormat,
        /// The Python that trains; by default the one that `PYTHON` names, or `python3`.
        python: Option<PathBuf>,
        lang: Lang,
    },
    Logs {
        files: Vec<PathBuf>,
        format: DataFormat,
        unknown: usize,
        lang: Lang,
    },
    Rules {
        id: Option<String>,
        lang: Lang,
    },
    Completions {
        shell: Shell,
    },
    /// Help, version, or what is wrong with the arguments.
    Say(Said),
}

/// What there is to say instead of executing anything.
#[derive(Debug)]
pub enum Said {
    /// By clap, with its own exit status.
    Clap(clap::Error),
    /// A wrong use that clap cannot see; exit status 2.
    Wrong(String),
}

/// Understands a command line; its first item is the program's name, as in `sys.argv`. Where it names no language, the
/// environment does.
pub fn parse(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Parsed {
    // Not the name as given: help would speak of `__main__.py` under `python -m nanscope`.
    let argv = argv.into_iter().skip(1).map(Into::into);
    let args = match Args::try_parse_from(std::iter::once(OsString::from("nanscope")).chain(argv)) {
        Ok(args) => args,
        Err(error) => return Parsed::Task(Task::Say(Said::Clap(error))),
    };
    let color = args.color;
    let lang = args.lang.map_or_else(locale, |name| name.parse().expect("clap lets only the names of languages pass"));
    match args.command {
        Command::Run(run) => match options(run, color, lang) {
            Some(options) => Parsed::Run(options),
            None => Parsed::Task(Task::Say(Said::Wrong(no_script("run")))),
        },
        Command::Checkpoint(args) => match tuning(args, color, lang) {
            Some(options) => Parsed::Checkpoint(options),
            None => Parsed::Task(Task::Say(Said::Wrong(no_script("checkpoint")))),
        },
        Command::Explain { run, format } => {
            let format = format.parse().expect("clap lets only the names of formats pass");
            Parsed::Task(Task::Explain { run, format, color, lang })
        }
        Command::Fix { run, number, prove: true, .. } => Parsed::Prove(ProveOptions { run, number, lang }),
        Command::Fix { run, number, write, .. } => Parsed::Task(Task::Fix { run, number, write, color, lang }),
        Command::Doctor { format } => Parsed::Task(Task::Doctor { format, python: None, lang }),
        Command::Logs { files, format, unknown } => Parsed::Task(Task::Logs { files, format, unknown, lang }),
        Command::Rules { id } => Parsed::Task(Task::Rules { id, lang }),
        Command::Completions { shell } => Parsed::Task(Task::Completions { shell }),
    }
}

fn no_script(command: &str) -> String {
    format!(
        "nanscope {command}: no script given; expected: nanscope {command} SCRIPT [ARGS]... or nanscope {command} -m MODULE [ARGS]..."
    )
}

/// Script, module, and the arguments of either; None when neither was given.
fn target(command: Vec<String>, module: bool) -> Option<(Option<String>, Option<String>, Vec<String>)> {
    let mut command = command.into_iter();
    let target = command.next().filter(|name| !name.is_empty())?;
    let (script, module) = if module { (None, Some(target)) } else { (Some(target), None) };
    Some((script, module, command.collect()))
}

/// None when neither a script nor a module was given.
fn tuning(args: CheckpointArgs, color: Color, lang: Lang) -> Option<CheckpointOptions> {
    let CheckpointArgs { limit, step, every, setting, format, out, budget, module, command } = args;
    let (script, module, args) = target(command, module)?;
    Some(CheckpointOptions { script, module, args, limit, step, every, setting, format, out, budget, color, lang })
}

/// None when neither a script nor a module was given.
fn options(run: RunArgs, color: Color, lang: Lang) -> Option<RunOptions> {
    let RunArgs { on_trip, heal, json, out, diagnose_first, check, budget, nproc_per_node, module, command } = run;
    let (script, module, args) = target(command, module)?;
    let on_trip = if heal { OnTrip::Heal } else { on_trip };
    Some(RunOptions {
        script,
        module,
        args,
        on_trip,
        json,
        out,
        diagnose_first,
        check,
        budget,
        nproc_per_node,
        color,
        lang,
    })
}
