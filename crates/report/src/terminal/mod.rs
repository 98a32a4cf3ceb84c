//! In the manner of a compiler: the line first, then why in numbers, how it got there, what to do.

mod fix;
mod frame;
mod paint;
mod sections;
mod source;
mod table;
mod wrap;

use nanscope_lang::Lang;
use nanscope_trace::schema::{Report, Verdict};

use crate::content;
pub use fix::{about, diff};
use paint::Paint;
pub use table::table;

/// What the terminal can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// ANSI colours; without it not one escape is written.
    pub colour: bool,
    /// Columns; None when the output is no terminal.
    pub width: Option<usize>,
    /// The run folder, for the last line.
    pub folder: Option<String>,
}

impl Options {
    /// Columns to fit a frame and the chain into.
    fn columns(&self) -> usize {
        // Narrower than this a frame no longer shows code; wider than 140 the eye loses the line.
        self.width.unwrap_or(120).clamp(40, 140)
    }
}

/// The report as text, ended by a line end.
pub fn render(report: &Report, options: &Options, lang: Lang) -> String {
    let paint = Paint(options.colour);
    let columns = options.columns();
    let mut sections = Vec::new();
    if report.verdict == Verdict::Finite {
        sections.push(paint.good(&content::finite(report, lang)));
    } else {
        sections.push(frame::frame(report, options, lang));
        sections.extend(sections::others(report, paint, columns, lang));
        sections.extend(sections::chain(report, paint, columns, lang));
        sections.extend(sections::experiments(report, paint, lang));
        sections.extend(sections::fixes(report, paint, columns, lang));
        sections.extend(sections::more(report, paint, columns, lang));
    }
    sections.extend(sections::warnings(report, paint, lang));
    sections.extend(sections::footer(report, options, lang));
    let mut text = sections.join("\n\n");
    text.push('\n');
    text
}
