//! Reports that no diagnosis should make, and that must not break a renderer.

mod samples;

use nanscope_lang::Lang;
use nanscope_report::{Options, json, markdown, terminal};
use nanscope_trace::schema::*;

fn renders(report: &Report) -> String {
    for lang in Lang::ALL {
        for width in [None, Some(0), Some(40), Some(100_000)] {
            terminal::render(report, &Options { colour: true, width, folder: None }, lang);
            terminal::render(report, &Options { colour: false, width, folder: None }, lang);
        }
        markdown::render(report, lang);
    }
    json::render(report);
    terminal::render(report, &Options { width: Some(80), ..Options::default() }, Lang::En)
}

fn with_code(code: &str, columns: Option<(u32, u32)>) -> Report {
    let (_, mut report) = samples::all().swap_remove(0);
    let place = report.origin.as_mut().and_then(|origin| origin.place.as_mut()).unwrap();
    (place.code, place.columns) = (Some(code.into()), columns);
    report
}

#[test]
fn any_line_of_source_can_be_framed() {
    let long = format!("x = [{}].log()", "1.0, ".repeat(4000));
    let lines = ["", " ", "\t", "\n", "\r\n", "x", "\t\tx = 값.log()", "👩‍👩‍👧 = a\u{301}", "\u{0}\u{1b}[31m", &long];
    for code in lines {
        for columns in [None, Some((0, 0)), Some((0, 1)), Some((5, 3)), Some((2, 9)), Some((0, u32::MAX))] {
            let text = renders(&with_code(code, columns));
            assert!(text.lines().all(|line| line.chars().count() < 200), "{text}");
        }
    }
}

#[test]
fn a_frame_without_source_text_still_names_the_line() {
    let text = renders(&with_code("", None));
    assert!(text.contains("--> train.py:39"), "{text}");
    assert!(text.contains("48 of 1152 values are inf"), "{text}");
}

#[test]
fn no_escape_reaches_a_terminal_without_colour() {
    let evil = "\u{1b}[2J\u{1b}]0;title\u{7}\nnext";
    for (_, mut report) in samples::all() {
        report.warnings.push(evil.into());
        report.causes.push(samples::cause(evil, evil, Confidence::Possible, &[evil]));
        report.chain.push(samples::link(Phase::Forward, evil, 1, evil));
        report.fixes.push(Fix { diff: Some(evil.into()), ..samples::advice(evil, evil) });
        if let Some(origin) = &mut report.origin {
            origin.module = Some(evil.into());
            origin.tensor = Some(evil.into());
            origin.inputs.push(samples::operand(evil, evil, &[], Default::default()));
        }
        let text = renders(&report);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}

#[test]
fn what_is_absent_is_not_missed() {
    let bare = samples::origin(Phase::Optimizer, "", 0, 0);
    for verdict in [Verdict::Finite, Verdict::Nonfinite, Verdict::Diverging, Verdict::Mismatch, Verdict::Unhealthy] {
        let mut report = samples::report(verdict);
        renders(&report);
        report.origin = Some(Origin { dtype: None, first_index: Some(vec![]), ..bare.clone() });
        renders(&report);
        report.origin.as_mut().unwrap().place = Some(Place::default());
        renders(&report);
        report.run = RunSummary::default();
        renders(&report);
    }
}

#[test]
fn colour_changes_no_word() {
    let korean = ("korean", samples::korean::half_overflow(), Lang::Ko);
    let english = samples::all().into_iter().map(|(name, report)| (name, report, Lang::En));
    for (name, report, lang) in english.chain([korean]) {
        let plain = terminal::render(&report, &Options { width: Some(100), ..Options::default() }, lang);
        let coloured = terminal::render(&report, &Options { colour: true, width: Some(100), folder: None }, lang);
        assert!(coloured.contains('\u{1b}'), "{name}");
        assert_eq!(without_colour(&coloured), plain, "{name}");
    }
}

fn without_colour(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |out, part| out + part.split_once('m').map_or("", |(_, rest)| rest))
}
