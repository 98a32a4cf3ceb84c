use std::{fmt, str::FromStr};

use nanscope_lang::Lang;
use nanscope_trace::schema::Report;

use crate::{Options, json, markdown, terminal};

/// A form that a report can take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// For a person at a terminal.
    #[default]
    Text,
    /// The contract for machines.
    Json,
    /// For an issue tracker.
    Markdown,
}

impl Format {
    /// Names that [`Format::from_str`] takes.
    pub const NAMES: [&str; 3] = ["text", "json", "markdown"];
}

impl FromStr for Format {
    type Err = UnknownFormat;
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        match name {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            "markdown" => Ok(Format::Markdown),
            _ => Err(UnknownFormat(name.to_owned())),
        }
    }
}

/// A name that is no format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "unknown format: expected {}, got `{}`", Format::NAMES.join(", "), self.0)
    }
}

impl std::error::Error for UnknownFormat {}

/// The report in the form asked for, ended by a line end. Options only matter to text, the language to what is for a person.
pub fn render(report: &Report, format: Format, options: &Options, lang: Lang) -> String {
    match format {
        Format::Text => terminal::render(report, options, lang),
        Format::Json => json::render(report),
        Format::Markdown => markdown::render(report, lang),
    }
}
