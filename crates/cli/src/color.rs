use anstream::{AutoStream, ColorChoice};

/// When to write colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Also into files and pipes.
    Always,
    /// Nowhere.
    Never,
}

impl Color {
    /// Name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Color::Auto => "auto",
            Color::Always => "always",
            Color::Never => "never",
        }
    }

    /// Whether stdout is to be coloured.
    pub(crate) fn on_stdout(self) -> bool {
        match self {
            Color::Auto => AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
            Color::Always => true,
            Color::Never => false,
        }
    }
}
