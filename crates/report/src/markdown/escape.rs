/// Text that Markdown shows as it is.
pub(super) fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '\\' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    out
}

/// A code span, or nothing for no text; backticks inside it are safe.
pub(super) fn code(raw: &str) -> String {
    if raw.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(raw) + 1);
    let pad = if raw.starts_with('`') || raw.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", raw.replace(['\n', '\r'], " "))
}

/// A fenced block of a language.
pub(super) fn block(language: &str, raw: &str) -> String {
    let fence = "`".repeat(longest_run(raw).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", raw.trim_end())
}

fn longest_run(raw: &str) -> usize {
    raw.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
