use anstyle::{AnsiColor, Effects, Style};

use super::safe::safe;

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
    pub(super) fn added(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }
    pub(super) fn removed(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default(), text)
    }

    fn with(self, style: Style, text: &str) -> String {
        let text = safe(text);
        if self.0 { format!("{style}{text}{style:#}") } else { text }
    }
}
