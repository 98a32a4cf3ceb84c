//! The arguments as clap sees them. Doc comments here are the help text.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use clap_complete::Shell;

use crate::{Checks, Color, OnTrip};

/// Finds where a PyTorch training run turns NaN: the line, the numbers, the cause
#[derive(Debug, Parser)]
#[command(name = "nanscope", version)]
pub(crate) struct Args {
    /// When to write colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) color: Color,
    /// Language of what is read by a person [default: that of the locale]
    #[arg(long, global = true, value_name = "LANG", value_parser = nanscope_lang::Lang::NAMES)]
    pub(crate) lang: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A form for a person or for a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DataFormat {
    /// For a person.
    #[default]
    Text,
    /// For a machine.
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArgs),
    /// Show what was found in a run, from its run folder alone
    Explain {
        /// The run folder; of a run whose ranks wrote into several, all of them
        #[arg(required = true, value_name = "RUN")]
        run: Vec<PathBuf>,
        /// Form of the report
        #[arg(long, default_value = "text", value_parser = nanscope_report::Format::NAMES)]
        format: String,
    },
    /// Show a fix as a diff, make it, or run the program with it once more
    Fix {
        /// The run folder
        run: PathBuf,
        /// Which, as the report counts them
        #[arg(default_value_t = 1)]
        number: usize,
        /// Change the files; each is kept beside itself as it was
        #[arg(long, conflicts_with = "prove")]
        write: bool,
        /// Run the program with the fix, past the step that failed, and tell what came out
        #[arg(long)]
        prove: bool,
    },
    Checkpoint(CheckpointArgs),
    /// Read NCCL logs and flight-recorder dumps of many ranks: versions, transports, missing peers, timeouts, and the
    /// collective at which ranks parted
    ///
    /// Exit status: 0 where nothing was found, 1 where a fault was, 2 where a file could not be read.
    Logs {
        /// Logs written under NCCL_DEBUG=INFO, output of ranks, flight-recorder dumps (JSON or pickle, which is never unpickled)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Form of what is shown
        #[arg(long, value_enum, default_value_t)]
        format: DataFormat,
        /// Show so many of the lines that are in no known format
        #[arg(long, value_name = "N", default_value_t = 0, default_missing_value = "20", num_args = 0..=1, require_equals = true)]
        unknown: usize,
    },
    /// Examine this machine before a run: versions and known-bad combinations, variables, GPUs, clock, shared memory, limits
    ///
    /// Exit status: 0 where no problem was found, 1 where one was.
    Doctor {
        /// Form of what is shown
        #[arg(long, value_enum, default_value_t)]
        format: DataFormat,
    },
    /// List the causes that nanscope knows, or print the page of one
    Rules {
        /// Id of a cause, as half-overflow
        id: Option<String>,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// Run a script under watch, and diagnose the step in which it stops being finite
///
/// Options come before the script; whatever follows it belongs to the script.
#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "nanscope run [OPTIONS] SCRIPT [ARGS]...\n       nanscope run [OPTIONS] -m MODULE [ARGS]..."
)]
pub(crate) struct RunArgs {
    /// What to do when a value stops being finite
    #[arg(long, value_enum, default_value_t)]
    pub(crate) on_trip: OnTrip,
    /// Make the best fix that was proved in memory, leave the bad update out, and go on; end the script where there is none
    #[arg(long, conflicts_with = "on_trip")]
    pub(crate) heal: bool,
    /// Write the report as JSON here too; - is stdout
    #[arg(long, value_name = "PATH")]
    pub(crate) json: Option<String>,
    /// The run folder to make [default: a new one below nanscope-runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<String>,
    /// How many trips to diagnose with --on-trip skip or continue
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) diagnose_first: u32,
    /// Whether checkpointed blocks compute the same when they are run again: once in an early step (default), `recompute` in
    /// every step, `recompute=N` in every Nth, or `none`; `attention`, `attention=N`: whether kernels of attention give what
    /// their formula gives (default: never); `ranks=N`: whether ranks hold the same (default: in a few steps). Several are separated by commas
    #[arg(long, value_name = "WHAT", value_parser = Checks::parse, default_value = "once", hide_default_value = true)]
    pub(crate) check: Checks,
    /// Seconds that experiments, and fixes being proved by running the program with them, may take after a trip; 0 for none
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) budget: u32,
    /// Start so many ranks of the script on this machine, as torchrun does, and watch them all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nproc_per_node: Option<u32>,
    // A flag, not an option with a value: so that MODULE opens the verbatim part, as SCRIPT does.
    /// Run a module by name, as python -m does
    #[arg(short = 'm')]
    pub(crate) module: bool,
    /// The script, or the module after -m, and its own arguments
    #[arg(value_name = "SCRIPT", trailing_var_arg = true, hide = true)]
    pub(crate) command: Vec<String>,
}

/// What checkpointing which blocks would cost in memory and time, measured on one step of the script
///
/// The script runs under watch until that step; then the step is run again with every setting, and the script ends. Options come
/// before the script; whatever follows it belongs to the script.
#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "nanscope checkpoint [OPTIONS] SCRIPT [ARGS]...\n       nanscope checkpoint [OPTIONS] -m MODULE [ARGS]..."
)]
pub(crate) struct CheckpointArgs {
    /// Find the fastest choice of blocks whose peak is at most so large: 512MiB, 1.5GB, a number of bytes
    #[arg(long, value_name = "SIZE", value_parser = crate::checkpoint::size)]
    pub(crate) limit: Option<u64>,
    /// The step to look at, counted from 0; in the first ones the optimizer has no state yet
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) step: u32,
    /// Show settings with every Kth block checkpointed
    #[arg(long, value_name = "K,...", value_delimiter = ',', default_values_t = [2, 3, 4], value_parser = clap::value_parser!(u32).range(2..))]
    pub(crate) every: Vec<u32>,
    /// The setting whose diff to show: none, all, every-2, best and so on [default: best, where there is a limit]
    #[arg(long, value_name = "NAME")]
    pub(crate) setting: Option<String>,
    /// Form of what is told
    #[arg(long, default_value = "text", value_parser = ["text", "json"])]
    pub(crate) format: String,
    /// The run folder to make [default: a new one below nanscope-runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<String>,
    /// Seconds that running the program with the diff, to prove it, may take; 0 to leave that out
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub(crate) budget: u32,
    /// Run a module by name, as python -m does
    #[arg(short = 'm')]
    pub(crate) module: bool,
    /// The script, or the module after -m, and its own arguments
    #[arg(value_name = "SCRIPT", trailing_var_arg = true, hide = true)]
    pub(crate) command: Vec<String>,
}
