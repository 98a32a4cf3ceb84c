use clap::CommandFactory;
use clap_complete::Shell;

use crate::{args::Args, output};

/// Writes the completion script of a shell.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "nanscope", &mut script);
    output::write(&String::from_utf8_lossy(&script))
}
