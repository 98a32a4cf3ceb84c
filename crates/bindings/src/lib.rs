//! `nanscope._core`: the Rust side as Python sees it. Conversions and errors only; nothing is decided here.

mod calm;
mod cli;
mod clock;
mod diagnose;
mod dlpack;
mod experiments;
mod log;
mod look;
mod monitor;
mod scan;
mod tape;
mod tune;

use pyo3::prelude::*;

/// Kernels, the run folder, the diagnosis and the command line of nanscope.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::calm::Calm;
    #[pymodule_export]
    use super::cli::{Checks, Command, fixed, locale, main, parse};
    #[pymodule_export]
    use super::clock::Clock;
    #[pymodule_export]
    use super::diagnose::{diagnose, merged, rank, render, write_report};
    #[pymodule_export]
    use super::experiments::{GuiltySearch, IslandSearch, plan};
    #[pymodule_export]
    use super::log::{Log, append_outcomes, outcomes, steps};
    #[pymodule_export]
    const RATE_SANE: f64 = super::look::RATE_SANE;
    #[pymodule_export]
    const EPS_SANE: f64 = super::look::EPS_SANE;
    #[pymodule_export]
    use super::look::{Look, look};
    #[pymodule_export]
    use super::monitor::{Alarm, Monitor};
    #[pymodule_export]
    use super::scan::{Pass, all_finite, census, counts, digest, drift, imprints, plain_read, scan, single};
    #[pymodule_export]
    use super::tape::{
        Aside, Backward, Event, Functions, Habits, Made, Modules, Noted, Recording, Ref, Shortcut, Tape, caller,
    };
    #[pymodule_export]
    use super::tune::{checkpoint_plan, checkpoint_write, diff_told};
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "the name that Python expects")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
