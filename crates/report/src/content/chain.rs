use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Link, Report};

use super::{
    notes::{operator, phase},
    trip::trip,
};

/// Links shown at each end of a chain that is too long to show whole.
const ENDS: usize = 5;

/// One line of the chain.
pub(crate) enum Row {
    /// Position from 1, phase, `file:line`, text, operator, module; what is unknown is "".
    Link([String; 6]),
    /// How many links were left out in the middle.
    Skipped(String),
    /// Where the chain ends: the trip.
    Trip(String),
}

/// The chain from the origin to the trip, shortened in the middle.
pub(crate) fn chain(report: &Report, lang: Lang) -> Vec<Row> {
    let links = &report.chain;
    // Leaving out a single link would save nothing.
    let skipped = links.len().checked_sub(2 * ENDS).filter(|n| *n > 1).unwrap_or(0);
    let mut rows = Vec::new();
    for (position, link) in links.iter().enumerate() {
        if skipped == 0 || position < ENDS || position >= ENDS + skipped {
            rows.push(Row::Link(cells(position + 1, link, lang)));
        } else if position == ENDS {
            rows.push(Row::Skipped(say!(lang, "{skipped} more in between", "중간 {skipped}개 생략")));
        }
    }
    if let Some(summary) = report.trip.as_ref().filter(|_| !links.is_empty()) {
        rows.push(Row::Trip(trip(summary, report.run.world_size, lang)));
    }
    rows
}

fn cells(position: usize, link: &Link, lang: Lang) -> [String; 6] {
    let place = match (&link.file, link.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        (None, _) => String::new(),
    };
    let operator = link.node.as_deref().or(link.op.as_deref()).unwrap_or_default();
    [
        position.to_string(),
        phase(link.phase, lang).to_owned(),
        place,
        link.text.clone(),
        self::operator(operator).to_owned(),
        link.module.clone().unwrap_or_default(),
    ]
}
