//! What follows the frame. Each is a heading and its lines, or None when there is nothing to say.

use nanscope_lang::{Lang, safe};
use nanscope_trace::schema::{Fix, Report, Safety};
use unicode_width::UnicodeWidthStr;

use super::{
    Options,
    paint::Paint,
    table::{clip, table},
    wrap::hang,
};
use crate::content::{self, Heading, Row};

fn section(paint: Paint, heading: &str, lines: Vec<String>) -> Option<String> {
    (!lines.is_empty()).then(|| format!("{}\n{}", paint.heading(heading), lines.join("\n")))
}

/// Causes after the first.
pub(super) fn others(report: &Report, paint: Paint, columns: usize, lang: Lang) -> Option<String> {
    let mut lines = Vec::new();
    for cause in report.causes.iter().skip(1) {
        let sure = content::confidence(cause.confidence, lang);
        lines.push(safe(&format!("  {}: {} ({sure})", cause.id, cause.title)));
        lines.extend(cause.evidence.iter().flat_map(|text| hang("    ", &safe(text), columns)));
        let lead = format!("    {}: ", content::to_be_sure(lang));
        lines.extend(cause.distinguish.iter().flat_map(|text| hang(&lead, &safe(text), columns)));
    }
    section(paint, Heading::Others.text(lang), lines)
}

/// From the origin to the trip.
pub(super) fn chain(report: &Report, paint: Paint, columns: usize, lang: Lang) -> Option<String> {
    let rows = content::chain(report, lang);
    let links: Vec<[String; 6]> =
        rows.iter().filter_map(|row| if let Row::Link(cells) = row { Some(cells.clone()) } else { None }).collect();
    let digits = links.iter().map(|cells| cells[0].len()).max().unwrap_or(0).max("=>".len());
    let aligned: Vec<[String; 6]> = links
        .into_iter()
        .map(|mut cells| {
            cells[0] = format!("{:>digits$}", cells[0]);
            cells
        })
        .collect();
    let mut drawn = table(&aligned).into_iter();
    let lines = rows.iter().map(|row| match row {
        Row::Link(_) => clip(&format!("  {}", drawn.next().unwrap_or_default()), columns),
        Row::Skipped(text) => format!("  {:>digits$}  {text}", "..."),
        Row::Trip(text) => safe(&format!("  {:>digits$}  {text}", "=>")),
    });
    section(paint, Heading::Chain.text(lang), lines.collect())
}

/// The experiments as a table, and the island they led to.
pub(super) fn experiments(report: &Report, paint: Paint, lang: Lang) -> Option<String> {
    let mut lines: Vec<String> =
        table(&content::experiments(report, lang)).iter().map(|line| format!("  {line}")).collect();
    lines.extend(report.island.as_ref().map(|island| safe(&format!("  {}", content::island(island, lang)))));
    section(paint, Heading::Experiments.text(lang), lines)
}

/// Ranked fixes, with diff and proof.
pub(super) fn fixes(report: &Report, paint: Paint, columns: usize, lang: Lang) -> Option<String> {
    let fixes = report.fixes.iter().enumerate();
    let lines = fixes.flat_map(|(at, fix)| self::fix(at + 1, fix, paint, columns, lang)).collect();
    section(paint, Heading::Fixes.text(lang), lines)
}

fn fix(number: usize, fix: &Fix, paint: Paint, columns: usize, lang: Lang) -> Vec<String> {
    let mut lines = hang(&format!("  {number}. "), &safe(&fix.summary), columns);
    if fix.safety != Safety::Advice {
        lines.push(format!("     {}", content::safety(fix.safety, lang)));
    }
    if let Some(proof) = &fix.proof {
        lines.extend(hang("     ", &safe(&content::proof(proof, lang)), columns));
    }
    lines.extend(fix.note.iter().flat_map(|note| hang("     ", &safe(note), columns)));
    lines.extend(fix.diff.iter().flat_map(|diff| diff.lines()).map(|line| format!("       {}", paint.diff(line))));
    lines
}

/// Without a cause: what would tell more.
pub(super) fn more(report: &Report, paint: Paint, columns: usize, lang: Lang) -> Option<String> {
    let lines = content::tells_more(report, lang).iter().flat_map(|way| hang("  - ", way, columns)).collect();
    section(paint, Heading::More.text(lang), lines)
}

/// What was dropped, what could not be told.
pub(super) fn warnings(report: &Report, paint: Paint, lang: Lang) -> Option<String> {
    let word = paint.warning(lang.pick("warning:", "경고:"));
    let lines: Vec<String> = report.warnings.iter().map(|text| format!("{word} {}", safe(text))).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Where to read on: on one line where it fits.
pub(super) fn footer(report: &Report, options: &Options, lang: Lang) -> Option<String> {
    let parts: Vec<String> =
        content::footer(report, options.folder.as_deref(), lang).iter().map(|text| safe(text)).collect();
    let line = parts.join("; ");
    let text = if line.width() <= options.columns() { line } else { parts.join("\n") };
    (!text.is_empty()).then_some(text)
}
