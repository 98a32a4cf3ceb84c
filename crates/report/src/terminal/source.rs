use std::ops::Range;

use nanscope_trace::schema::Place;

/// The source line and the bytes of it to underline. None when there is no text to show.
pub(super) fn source(place: &Place) -> Option<(&str, Range<usize>)> {
    let line = place.code.as_deref()?.lines().next().unwrap_or_default();
    let trimmed = line.trim();
    if trimmed.is_empty() {
        return None;
    }
    let start = line.len() - line.trim_start().len();
    let whole = start..start + trimmed.len();
    let span = place.columns.map(|(from, to)| byte(line, from)..byte(line, to));
    Some((line, span.filter(|span| !span.is_empty()).unwrap_or(whole)))
}

/// Byte offset of a column in characters; the line's end for a column beyond it.
fn byte(line: &str, column: u32) -> usize {
    line.char_indices().nth(column as usize).map_or(line.len(), |(offset, _)| offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn underlined(code: &str, columns: Option<(u32, u32)>) -> Option<String> {
        let place = Place { code: Some(code.to_owned()), columns, ..Place::default() };
        source(&place).map(|(line, span)| line[span].to_owned())
    }

    #[test]
    fn columns_count_characters_and_are_never_trusted() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(underlined("    y = x.log()", Some((8, 15))), some("x.log()"));
        assert_eq!(underlined("\t손실 = 값.log()", Some((6, 13))), some("값.log()"));
        assert_eq!(underlined("  y = x", None), some("y = x"));
        assert_eq!(underlined("y = x", Some((90, 99))), some("y = x"));
        assert_eq!(underlined("y = x", Some((4, 2))), some("y = x"));
        assert_eq!(underlined("y = x", Some((4, 99))), some("x"));
        assert_eq!(underlined("y = x\nz", None), some("y = x"));
        assert_eq!(underlined("", Some((0, 1))), None);
        assert_eq!(underlined(" \t ", None), None);
    }
}
