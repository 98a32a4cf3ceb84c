//! The path from the origin to the trip, one link a line of the program.

use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Entry, Link, Phase, Source};

use crate::case::Case;
use crate::locate::Birth;
use crate::text;

/// Links from the origin to the last operator before the trip. Operators that follow each other on one line in one phase are one link.
pub(crate) fn links(case: &Case) -> Vec<Link> {
    let Case { ledger, located, lang, .. } = *case;
    let mut links: Vec<Link> = vec![];
    if let Birth::Outside { entry, input } = located.birth {
        let arg = &ledger.entries[entry].inputs[input];
        if let Some(source) = &arg.source {
            let text = format!("{}: {}", text::source(source, lang), text::bad_of(arg, lang));
            let phase = match source {
                Source::Data { .. } => Phase::Data,
                _ => Phase::Param,
            };
            links.push(Link { phase, op: None, node: None, file: None, line: None, module: None, text });
        }
    }
    for &index in &located.path {
        let entry = &ledger.entries[index];
        let link = link(entry, Some(index) == located.surfaced, lang);
        match links.last_mut() {
            Some(last) if same_line(last, &link) => {
                // The first operator names the link; the last says what came out of it.
                last.text = link.text;
            }
            _ => links.push(link),
        }
    }
    links
}

fn same_line(a: &Link, b: &Link) -> bool {
    a.op.is_some() && a.phase == b.phase && a.file == b.file && a.line == b.line && a.node == b.node
}

fn link(entry: &Entry, surfaced: bool, lang: Lang) -> Link {
    let bad = entry.outputs.iter().find(|arg| crate::meant::is_bad(arg));
    let mut text = bad.map_or_else(|| lang.pick("finite", "유한").to_owned(), |arg| text::bad_of(arg, lang));
    // Short: the chain is a table, and every row is as wide as this one.
    if surfaced {
        text = say!(lang, "{text}, back through the derivative", "{text}, 도함수를 통해 되돌아옴");
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
