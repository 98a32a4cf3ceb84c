//! `nanscope` for cargo users. The wheel has the same command line; this binary only finds the Python that `run` needs.

use std::{env, ffi::OsString, process};

use nanscope_cli::{Parsed, execute, parse};

mod python;

fn main() {
    let argv: Vec<OsString> = env::args_os().collect();
    let status = match parse(argv.clone()) {
        // The arguments go on as they came: Python parses them with this very code.
        Parsed::Run(_) | Parsed::Checkpoint(_) | Parsed::Prove(_) => python::nanscope(&argv[1..]),
        Parsed::Task(task) => execute(task),
    };
    process::exit(status);
}
