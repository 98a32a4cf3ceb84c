use annotate_snippets::normalize_untrusted_str;

/// Text on one line, its escapes and control characters made visible: names and source lines are never trusted.
pub(super) fn safe(text: &str) -> String {
    let joined = text.lines().collect::<Vec<_>>().join(" ");
    normalize_untrusted_str(&joined).replace(|c: char| c.is_control(), "�")
}
