//! `report.json`: the report itself, indented. `docs/report.md` describes its keys.

use nanscope_trace::schema::Report;

/// Pretty JSON, ended by a line end.
pub fn render(report: &Report) -> String {
    // Every key of a report is a string and every float that may be non-finite is a `Num`: this cannot fail.
    let mut text = serde_json::to_string_pretty(report).expect("a report is always representable as JSON");
    text.push('\n');
    text
}

/// A report read back from [`render`]'s text, or from that of an older version.
pub fn parse(text: &str) -> Result<Report, serde_json::Error> {
    serde_json::from_str(text)
}
