use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use nanscope_lang::safe;

/// Rows as lines with aligned columns, two spaces between them; columns that are empty throughout are left out.
pub fn table<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| safe(cell))).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).filter(|(_, width)| *width > 0);
        let padded: Vec<String> =
            cells.map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width()))).collect();
        padded.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// At most `width` columns, the cut shown as `...`.
pub(super) fn clip(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut left = width.saturating_sub("...".len());
    let fits = |c: &char| {
        let columns = c.width().unwrap_or(0);
        let fits = columns <= left;
        left = left.saturating_sub(columns);
        fits
    };
    let kept: String = line.chars().take_while(fits).collect();
    format!("{}...", kept.trim_end())
}
