use std::io::{self, ErrorKind, Write};

use anstream::eprintln;

use crate::parse::Said;

/// Writes data to stdout. A reader that went away (`| head`) is no error.
pub(crate) fn write(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Exit status of a command: its own, or 2 with the reason on stderr.
pub(crate) fn status(done: anyhow::Result<i32>) -> i32 {
    match done {
        Ok(status) => status,
        Err(error) => {
            eprintln!("nanscope: {error:#}");
            2
        }
    }
}

/// Says it, and returns the exit status that goes with it.
pub(crate) fn say(said: &Said) -> i32 {
    match said {
        Said::Clap(error) => {
            // Nobody is left to tell when neither stdout nor stderr takes it.
            let _ = error.print();
            error.exit_code()
        }
        Said::Wrong(text) => {
            eprintln!("{text}");
            2
        }
    }
}
