use annotate_snippets::{AnnotationKind, Group, Level, Origin as At, Renderer, Snippet};
use nanscope_lang::Lang;
use nanscope_trace::schema::Report;

use super::{Options, safe::safe, source::source};
use crate::content::{self, Spot};

/// Headline, source line and facts, as rustc would draw them.
pub(super) fn frame(report: &Report, options: &Options, lang: Lang) -> String {
    let headline = content::headline(report, lang);
    let mut title = Level::ERROR.with_name(lang.pick("error", "오류")).primary_title(safe(&headline.text));
    if let Some(id) = headline.id {
        title = title.id(safe(id));
    }
    let mut group = Group::with_title(title);
    if let Some(Spot { place, label }) = content::spot(report, lang) {
        let label = safe(&label);
        match place.map(|place| (place, source(place))) {
            Some((place, Some((line, span)))) => {
                let annotation = AnnotationKind::Primary.span(span).label(label);
                let snippet = Snippet::source(line).line_start(place.line.max(1) as usize).path(safe(&place.file));
                group = group.element(snippet.annotation(annotation));
            }
            Some((place, None)) => {
                group = group.element(At::path(safe(&place.file)).line(place.line.max(1) as usize));
                group = group.element(Level::NOTE.with_name(lang.pick("found", "발견")).message(label));
            }
            None => group = group.element(Level::NOTE.with_name(lang.pick("found", "발견")).message(label)),
        }
    }
    for note in content::notes(report, lang) {
        group = group.element(Level::NOTE.with_name(safe(&note.about)).message(safe(&note.text)));
    }
    let renderer = if options.colour { Renderer::styled().hyperlink(false) } else { Renderer::plain() };
    renderer.term_width(options.columns()).render(&[group])
}
