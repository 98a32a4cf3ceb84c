use std::path::{Path, PathBuf};

use nanscope_cli::{
    CheckpointOptions, Color, Lang, OnTrip, Parsed, ProveOptions, RunOptions, Task, choose, execute, patched, read,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A command line, understood.
///
/// `kind` is `"run"` when Python has a script to run: then exactly one of `script` and `module` is there, and `args` are
/// its own; `nproc_per_node` is the number of ranks to start, None for the script alone; `check` is the number of steps from one comparison of recomputation and forward to the next, 0 for one only,
/// None for none, `check_attention` that from one comparison of kernels of attention with their formula to the next, `check_ranks` that between two comparisons of ranks, 0 to leave it to what they cost. It is `"checkpoint"` when checkpointing of a script is to be tuned: `limit` in bytes, `step`, `every`, `setting`, `format`. It is `"prove"` when a fix is to be run once more: `out` is the run folder, `number` that of the fix. It is `"exit"` when the command was executed already: then `status` is the exit status.
#[pyclass(frozen, get_all, module = "nanscope._core")]
pub(crate) struct Command {
    kind: &'static str,
    status: Option<i32>,
    script: Option<String>,
    module: Option<String>,
    args: Vec<String>,
    on_trip: &'static str,
    json: Option<String>,
    out: Option<String>,
    diagnose_first: u32,
    check: Option<u32>,
    check_ranks: Option<u32>,
    check_attention: Option<u32>,
    budget: u32,
    number: usize,
    nproc_per_node: Option<u32>,
    limit: Option<u64>,
    step: u32,
    every: Vec<u32>,
    setting: Option<String>,
    format: String,
    color: &'static str,
    lang: &'static str,
}

impl Command {
    fn run(options: RunOptions) -> Self {
        let RunOptions {
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
        } = options;
        let (check, check_attention, check_ranks) = (check.recompute.every(), check.attention, check.ranks);
        let (on_trip, color, lang) = (on_trip.as_str(), color.as_str(), lang.as_str());
        Command {
            kind: "run",
            script,
            module,
            args,
            on_trip,
            json,
            out,
            diagnose_first,
            check,
            check_attention,
            check_ranks,
            budget,
            nproc_per_node,
            color,
            lang,
            ..Command::exit(0)
        }
    }

    fn checkpoint(options: CheckpointOptions) -> Self {
        let CheckpointOptions { script, module, args, limit, step, every, setting, format, out, budget, color, lang } =
            options;
        let (color, lang) = (color.as_str(), lang.as_str());
        Command {
            kind: "checkpoint",
            script,
            module,
            args,
            limit,
            step,
            every,
            setting,
            format,
            out,
            budget,
            color,
            lang,
            ..Command::exit(0)
        }
    }

    fn prove(options: ProveOptions) -> Self {
        let ProveOptions { run, number, lang } = options;
        Command { kind: "prove", out: Some(run.display().to_string()), number, lang: lang.as_str(), ..Command::exit(0) }
    }

    fn exit(status: i32) -> Self {
        Command {
            kind: "exit",
            status: Some(status),
            script: None,
            module: None,
            args: Vec::new(),
            on_trip: OnTrip::default().as_str(),
            json: None,
            out: None,
            diagnose_first: 1,
            check: None,
            check_ranks: None,
            check_attention: None,
            budget: 0,
            number: 0,
            nproc_per_node: None,
            limit: None,
            step: 0,
            every: Vec::new(),
            setting: None,
            format: String::new(),
            color: Color::default().as_str(),
            lang: Lang::default().as_str(),
        }
    }
}

/// Understands a command line, the program's name first as in `sys.argv`, and executes every command but `run` and
/// `checkpoint`.
///
/// Data goes to the process's stdout and talk to its stderr, past `sys.stdout` and `sys.stderr`.
#[pyfunction]
pub(crate) fn parse(py: Python<'_>, argv: Vec<String>) -> Command {
    // Asked about, by `doctor`, in a process of its own.
    let here = || py.import("sys")?.getattr("executable")?.extract::<PathBuf>();
    let here = here().ok().filter(|path| !path.as_os_str().is_empty());
    py.detach(|| match nanscope_cli::parse(argv) {
        Parsed::Run(options) => Command::run(options),
        Parsed::Checkpoint(options) => Command::checkpoint(options),
        Parsed::Prove(options) => Command::prove(options),
        Parsed::Task(Task::Doctor { format, python: None, lang }) => {
            Command::exit(execute(Task::Doctor { format, python: here, lang }))
        }
        Parsed::Task(task) => Command::exit(execute(task)),
    })
}

/// Executes any command but `run`, and returns the exit status.
///
/// Raises `ValueError` for `run`, which only Python can do: see `parse`.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, argv: Vec<String>) -> PyResult<i32> {
    let wrong = "expected a command that needs no Python, got `run`";
    parse(py, argv).status.ok_or_else(|| PyValueError::new_err(wrong))
}

/// Files with their new bytes, the report, the run.
type Fixed = (Vec<(String, Vec<u8>)>, String, String);

/// Fix `number` of the run folder `folder`, made in memory: the files as `(path, new bytes)`, the report as JSON, and what is known
/// of the run as JSON.
///
/// Raises `ValueError` when there is no such fix, when it has no diff, or when a file has changed since the run.
#[pyfunction]
pub(crate) fn fixed(folder: &str, number: usize, lang: &str) -> PyResult<Fixed> {
    let wrong = |error: anyhow::Error| PyValueError::new_err(format!("{error:#}"));
    let lang: Lang =
        lang.parse().map_err(|error: nanscope_lang::UnknownLang| PyValueError::new_err(error.to_string()))?;
    let (report, info) = read(Path::new(folder), lang).map_err(wrong)?;
    let fix = choose(&report, number, Path::new(folder), lang).map_err(wrong)?;
    let files = patched(fix, Path::new(&info.cwd)).map_err(wrong)?;
    let files = files.into_iter().map(|file| (file.path.display().to_string(), file.after)).collect();
    let info = serde_json::to_string(&info).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((files, nanscope_report::json::render(&report), info))
}

/// The language that the environment asks for: `"en"` or `"ko"`.
#[pyfunction]
pub(crate) fn locale() -> &'static str {
    nanscope_cli::locale().as_str()
}
