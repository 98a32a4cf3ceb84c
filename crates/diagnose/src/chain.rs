//! The path from the origin to the trip, one link a line of the program.

use nanscope_trace::schema::{Entry, Ledger, Link, Phase, Trip, Where};

use crate::locate::{Birth, Located};
use crate::text;

/// Links from the origin to the trip. Operators that follow each other on one line in one phase are one link.
pub(crate) fn links(ledger: &Ledger, trip: &Trip, located: &Located) -> Vec<Link> {
    let mut links: Vec<Link> = vec![];
    if let Birth::Outside { entry, input } = located.birth {
        let arg = &ledger.entries[entry].inputs[input];
        if let Some(source) = &arg.source {
            let text = format!("{}: {}", text::source(source), text::bad_of(arg));
            let phase = match source {
                nanscope_trace::schema::Source::Data { .. } => Phase::Data,
                _ => Phase::Param,
            };
            links.push(Link { phase, op: None, node: None, file: None, line: None, module: None, text });
        }
    }
    for &index in &located.path {
        let entry = &ledger.entries[index];
        let link = link(entry, Some(index) == located.surfaced);
        match links.last_mut() {
            Some(last) if same_line(last, &link) => {
                // The first operator names the link; the last says what came out of it.
                last.text = link.text;
            }
            _ => links.push(link),
        }
    }
    links.push(end(ledger, trip, located));
    links
}

fn same_line(a: &Link, b: &Link) -> bool {
    a.op.is_some() && a.phase == b.phase && a.file == b.file && a.line == b.line && a.node == b.node
}

fn link(entry: &Entry, surfaced: bool) -> Link {
    let bad = entry.outputs.iter().find(|arg| crate::meant::is_bad(arg));
    let mut text = bad.map_or_else(|| "finite".to_owned(), text::bad_of);
    if surfaced {
        text.push_str(": the value was thrown away in forward, its derivative was not");
    }
    let place = entry.place.as_ref();
    Link {
        phase: entry.phase,
        op: Some(entry.op.clone()),
        node: entry.node.clone(),
        file: place.map(|p| p.file.clone()),
        line: place.map(|p| p.line),
        module: entry.module.clone(),
        text,
    }
}

fn end(ledger: &Ledger, trip: &Trip, located: &Located) -> Link {
    let phase = located.path.last().map_or(Phase::Forward, |&i| ledger.entries[i].phase);
    let what = match trip.where_ {
        Where::Loss => "the loss".to_owned(),
        Where::Gradient => format!("the gradient of {}", trip.name.as_deref().unwrap_or("a parameter")),
        Where::Parameter => format!("the parameter {}", trip.name.as_deref().unwrap_or("without a name")),
        Where::Buffer => format!("the buffer {}", trip.name.as_deref().unwrap_or("without a name")),
        Where::State => format!("the optimizer's {}", trip.name.as_deref().unwrap_or("state")),
        Where::Output => format!("the output of {}", trip.name.as_deref().unwrap_or("the last call")),
        _ => "the trip".to_owned(),
    };
    let text = format!("{what} is {} at step {}", trip.kind, trip.step);
    Link { phase, op: None, node: None, file: None, line: None, module: None, text }
}
