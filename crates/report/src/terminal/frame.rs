use annotate_snippets::{AnnotationKind, Group, Level, Origin as At, Renderer, Snippet};
use nanscope_lang::{Lang, safe};
use nanscope_trace::schema::Report;

use unicode_width::UnicodeWidthStr;

use super::{Options, source::source, wrap::wrap};
use crate::content::{self, Spot};

/// Headline, source line and facts, as rustc would draw them.
pub(super) fn frame(report: &Report, options: &Options, lang: Lang) -> String {
    let headline = content::headline(report, lang);
    let mut title = Level::ERROR.with_name(lang.pick("error", "오류")).primary_title(safe(&headline.text));
    if let Some(id) = headline.id {
        title = title.id(safe(id));
    }
    let mut group = Group::with_title(title);
    let found = lang.pick("found", "발견");
    let columns = options.columns();
    let spot = content::spot(report, lang);
    let line_number = spot.as_ref().and_then(|spot| spot.place).map_or(0, |place| place.line.max(1));
    // `12 | ` before a source line, `   = ` before a note.
    let gutter = if line_number == 0 { 0 } else { line_number.to_string().len() + " | ".len() };
    let note = |about: &str, text: &str| {
        let lead = gutter + about.width() + ": ".len();
        Level::NOTE.with_name(safe(about)).message(wrap(text, columns.saturating_sub(lead)).join("\n"))
    };
    if let Some(Spot { place, label }) = spot {
        let label = safe(&label);
        match place.map(|place| (place, source(place))) {
            Some((place, Some((line, span)))) => {
                let fits = gutter + line[..span.end].width() + 1 + label.width() <= columns;
                let mut annotation = AnnotationKind::Primary.span(span);
                if fits {
                    annotation = annotation.label(label.clone());
                }
                let snippet = Snippet::source(line).line_start(place.line.max(1) as usize).path(safe(&place.file));
                group = group.element(snippet.annotation(annotation));
                if !fits {
                    group = group.element(note(found, &label));
                }
            }
            Some((place, None)) => {
                group = group.element(At::path(safe(&place.file)).line(place.line.max(1) as usize));
                group = group.element(note(found, &label));
            }
            None => group = group.element(note(found, &label)),
        }
    }
    for fact in content::notes(report, lang) {
        group = group.element(note(&fact.about, &safe(&fact.text)));
    }
    let renderer = if options.colour { Renderer::styled().hyperlink(false) } else { Renderer::plain() };
    renderer.term_width(columns).render(&[group])
}
