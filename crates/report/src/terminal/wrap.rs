use unicode_width::UnicodeWidthStr;

/// Columns that are left to text even where its indent leaves none.
const LEAST: usize = 20;

/// Lines of at most `width` columns, broken at spaces; a word that is longer stays whole, so that it can be copied.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(LEAST);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("never empty");
        if line.is_empty() {
            line.push_str(word);
        } else if line.width() + 1 + word.width() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// `lead` and then the text, continued under its first word.
pub(super) fn hang(lead: &str, text: &str, columns: usize) -> Vec<String> {
    let indent = " ".repeat(lead.width());
    let lines = wrap(text, columns.saturating_sub(lead.width())).into_iter().enumerate();
    lines.map(|(at, line)| format!("{}{line}", if at == 0 { lead } else { &indent })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces_and_a_long_word_is_not() {
        assert_eq!(wrap("one two three four five six", 20), ["one two three four", "five six"]);
        assert_eq!(wrap("", 20), [""]);
        assert_eq!(wrap("in a_name_that_is_much_too_long here", 20), ["in", "a_name_that_is_much_too_long", "here"]);
        assert_eq!(wrap("역전파 도중 버퍼를 덮어쓴 연산", 20), ["역전파 도중 버퍼를", "덮어쓴 연산"]);
    }

    #[test]
    fn what_follows_hangs_under_the_first_word() {
        assert_eq!(hang("  1. ", "one two three four five", 25), ["  1. one two three four", "     five"]);
    }
}
