use anstyle::{AnsiColor, Effects, Style};

use nanscope_lang::safe;

/// Makes text safe for a terminal, and coloured where that is wanted.
#[derive(Clone, Copy)]
pub(super) struct Paint(pub(super) bool);

impl Paint {
    pub(super) fn heading(self, text: &str) -> String {
        self.with(Style::new().effects(Effects::BOLD), text)
    }
    pub(super) fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default().effects(Effects::BOLD), text)
    }
    pub(super) fn warning(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default().effects(Effects::BOLD), text)
    }
    /// A line of a diff.
    pub(super) fn diff(self, line: &str) -> String {
        match line.as_bytes().first() {
            Some(b'+') => self.with(AnsiColor::Green.on_default(), line),
            Some(b'-') => self.with(AnsiColor::Red.on_default(), line),
            _ => safe(line),
        }
    }

    fn with(self, style: Style, text: &str) -> String {
        let text = safe(text);
        if self.0 { format!("{style}{text}{style:#}") } else { text }
    }
}
