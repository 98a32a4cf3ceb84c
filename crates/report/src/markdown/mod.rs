//! The same content as Markdown, for an issue tracker.

mod escape;

use nanscope_lang::Lang;
use nanscope_trace::schema::{Place, Report, Verdict};

use crate::content::{self, Heading, Row, Spot};
use escape::{block, code, text};

/// The report as Markdown, ended by a line end.
pub fn render(report: &Report, lang: Lang) -> String {
    let mut parts = Vec::new();
    if report.verdict == Verdict::Finite {
        parts.push(format!("**{}**", text(&content::finite(report, lang))));
    } else {
        parts.push(headline(report, lang));
        parts.extend(frame(report, lang));
        parts.extend(list(
            content::notes(report, lang).iter().map(|note| format!("**{}**: {}", text(&note.about), text(&note.text))),
        ));
        parts.extend(others(report, lang));
        parts.extend(chain(report, lang));
        parts.extend(experiments(report, lang));
        parts.extend(fixes(report, lang));
        parts.extend(titled(Heading::More, lang, list(content::tells_more(report, lang).iter().map(|way| text(way)))));
    }
    parts.extend(titled(Heading::Warnings, lang, list(report.warnings.iter().map(|warning| text(warning)))));
    parts.push(run(report));
    let mut out = parts.join("\n\n");
    out.push('\n');
    out
}

fn headline(report: &Report, lang: Lang) -> String {
    let headline = content::headline(report, lang);
    match headline.id {
        Some(id) => format!("## {}: {}", code(id), text(&headline.text)),
        None => format!("## {}", text(&headline.text)),
    }
}

fn frame(report: &Report, lang: Lang) -> Option<String> {
    let Spot { place, label } = content::spot(report, lang)?;
    let found = text(&label);
    let Some(place) = place else { return Some(found) };
    let Place { file, line, .. } = place;
    let at = code(&format!("{file}:{line}"));
    Some(match place.code.as_deref().map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => format!("{at}: {found}\n\n{}", block("python", line)),
        None => format!("{at}: {found}"),
    })
}

fn others(report: &Report, lang: Lang) -> Option<String> {
    let lines = report.causes.iter().skip(1).map(|cause| {
        let sure = content::confidence(cause.confidence, lang);
        let evidence: String = cause.evidence.iter().map(|evidence| format!("; {}", text(evidence))).collect();
        let apart = cause
            .distinguish
            .as_ref()
            .map(|apart| format!("; *{}: {}*", content::to_be_sure(lang), text(apart)))
            .unwrap_or_default();
        format!("{}: {} ({sure}){evidence}{apart}", code(&cause.id), text(&cause.title))
    });
    titled(Heading::Others, lang, list(lines))
}

fn chain(report: &Report, lang: Lang) -> Option<String> {
    let lines = content::chain(report, lang).into_iter().map(|row| match row {
        Row::Link([position, phase, place, what, operator, module]) => {
            let parts = [code(&place), text(&what), code(&operator), text(&module)];
            let known: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            format!("{position}. {phase}: {}", known.join(", "))
        }
        Row::Skipped(left_out) => format!("\n*{left_out}*\n"),
        Row::Trip(what) => format!("\n=> {}", text(&what)),
    });
    let lines: Vec<String> = lines.collect();
    titled(Heading::Chain, lang, (!lines.is_empty()).then(|| lines.join("\n")))
}

fn experiments(report: &Report, lang: Lang) -> Option<String> {
    let row = |cells: &[String]| format!("| {} |", cells.iter().map(|raw| text(raw)).collect::<Vec<_>>().join(" | "));
    let rows = content::experiments(report, lang);
    let mut lines: Vec<String> = rows.iter().map(|cells| row(cells)).collect();
    if let Some(header) = rows.first() {
        lines.insert(1, row(&vec!["---".to_owned(); header.len()]));
    }
    if let Some(island) = &report.island {
        lines.push(format!("\n{}", text(&content::island(island, lang))));
    }
    titled(Heading::Experiments, lang, (!lines.is_empty()).then(|| lines.join("\n")))
}

fn fixes(report: &Report, lang: Lang) -> Option<String> {
    let items = report.fixes.iter().map(|fix| {
        let mut item = format!("{} ({})", text(&fix.summary), content::safety(fix.safety, lang));
        if let Some(proof) = &fix.proof {
            item += &format!("; {}", text(&content::proof(proof, lang)));
        }
        if let Some(note) = &fix.note {
            item += &format!("; {}", text(note));
        }
        if let Some(diff) = &fix.diff {
            // Indented so that it stays inside the list item.
            item += &format!("\n\n  {}", block("diff", diff).replace('\n', "\n  "));
        }
        item
    });
    titled(Heading::Fixes, lang, list(items))
}

fn run(report: &Report) -> String {
    let run = &report.run;
    let named = |name: &str, value: &str| (!value.is_empty()).then(|| format!("{name} {}", text(value)));
    let versions = [named("nanscope", &run.nanscope), named("torch", &run.torch), named("Python", &run.python)];
    let command = std::iter::once(&run.script).chain(&run.argv).cloned().collect::<Vec<_>>().join(" ");
    let mut parts: Vec<String> = (!command.is_empty()).then(|| code(&command)).into_iter().collect();
    parts.extend(versions.into_iter().flatten());
    parts.extend(run.devices.iter().map(|device| text(device)));
    format!("---\n{}", parts.join(", "))
}

fn list(items: impl Iterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = items.map(|item| format!("- {item}")).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn titled(heading: Heading, lang: Lang, body: Option<String>) -> Option<String> {
    let mut rest = heading.text(lang).chars();
    let first = rest.next()?.to_uppercase();
    body.map(|body| format!("### {first}{}\n\n{body}", rest.as_str()))
}
