use annotate_snippets::normalize_untrusted_str;

/// A text of somebody else's (a name, a line of source, a line of a log) on one line, its escapes, control characters and marks of
/// direction made visible: a terminal does what such characters say.
pub fn safe(text: &str) -> String {
    let joined = text.lines().collect::<Vec<_>>().join(" ");
    normalize_untrusted_str(&joined).replace(|c: char| c.is_control(), "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn nothing_reaches_the_terminal_as_a_command() {
        let shown = safe("a\u{1b}]0;title\u{7}b\u{202e}c\rd\ne");
        assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown:?}");
        assert!(["a", "b", "c", "d", "e"].iter().all(|part| shown.contains(part)), "{shown:?}");
    }
}
