//! What follows the frame. Each is a heading and its lines, or None when there is nothing to say.

use nanscope_trace::schema::{Fix, Report, Safety};

use super::{
    Options,
    paint::Paint,
    safe::safe,
    table::{clip, table},
};
use crate::content::{self, Row};

fn section(paint: Paint, heading: &str, lines: Vec<String>) -> Option<String> {
    (!lines.is_empty()).then(|| format!("{}\n{}", paint.heading(heading), lines.join("\n")))
}

/// Causes after the first.
pub(super) fn others(report: &Report, paint: Paint) -> Option<String> {
    let mut lines = Vec::new();
    for cause in report.causes.iter().skip(1) {
        let sure = content::confidence(cause.confidence);
        lines.push(safe(&format!("  {}: {} ({sure})", cause.id, cause.title)));
        lines.extend(cause.evidence.iter().map(|evidence| safe(&format!("    {evidence}"))));
    }
    section(paint, "it may also be", lines)
}

/// From the origin to the trip.
pub(super) fn chain(report: &Report, paint: Paint, columns: usize) -> Option<String> {
    let rows = content::chain(report);
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
        Row::Skipped(n) => format!("  {:>digits$}  {n} more in between", "..."),
        Row::Trip(text) => safe(&format!("  {:>digits$}  {text}", "=>")),
    });
    section(paint, "how it got there", lines.collect())
}

/// The experiments as a table, and the island they led to.
pub(super) fn experiments(report: &Report, paint: Paint) -> Option<String> {
    let mut lines: Vec<String> = table(&content::experiments(report)).iter().map(|line| format!("  {line}")).collect();
    lines.extend(report.island.as_ref().map(|island| safe(&format!("  {}", content::island(island)))));
    section(paint, "what was tried", lines)
}

/// Ranked fixes, with diff and proof.
pub(super) fn fixes(report: &Report, paint: Paint) -> Option<String> {
    let lines = report.fixes.iter().enumerate().flat_map(|(at, fix)| self::fix(at + 1, fix, paint)).collect();
    section(paint, "what to try", lines)
}

fn fix(number: usize, fix: &Fix, paint: Paint) -> Vec<String> {
    let mut lines = vec![safe(&format!("  {number}. {}", fix.summary))];
    if fix.safety != Safety::Advice {
        lines.push(format!("     {}", content::safety(fix.safety)));
    }
    if let Some(proof) = &fix.proof {
        lines.push(safe(&format!("     {}", content::proof(proof))));
    }
    for line in fix.diff.iter().flat_map(|diff| diff.lines()) {
        let text = match line.as_bytes().first() {
            Some(b'+') => paint.added(line),
            Some(b'-') => paint.removed(line),
            _ => safe(line),
        };
        lines.push(format!("       {text}"));
    }
    lines
}

/// Without a cause: what would tell more.
pub(super) fn more(report: &Report, paint: Paint) -> Option<String> {
    let lines = content::tells_more(report).iter().map(|way| format!("  - {way}")).collect();
    section(paint, "what would tell more", lines)
}

/// What was dropped, what could not be told.
pub(super) fn warnings(report: &Report, paint: Paint) -> Option<String> {
    let lines: Vec<String> =
        report.warnings.iter().map(|text| format!("{} {}", paint.warning("warning:"), safe(text))).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Where to read on.
pub(super) fn footer(report: &Report, options: &Options) -> Option<String> {
    let page = report.causes.first().map(|cause| format!("`{}` explains this cause", cause.docs));
    let folder = options.folder.as_ref().filter(|_| page.is_some() || report.origin.is_some());
    let again = folder.map(|folder| format!("`nanscope explain {folder}` shows this again"));
    let parts: Vec<String> = page.into_iter().chain(again).collect();
    (!parts.is_empty()).then(|| safe(&parts.join("; ")))
}
