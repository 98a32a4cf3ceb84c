//! Every sample in every form, as a person would see it.

mod samples;

use nanscope_lang::Lang;
use nanscope_report::{Options, json, markdown, terminal};

#[test]
fn text() {
    for (name, report) in samples::all() {
        let options = Options { width: Some(100), folder: Some("nanscope-runs/1".into()), ..Options::default() };
        insta::assert_snapshot!(format!("{name}.text"), terminal::render(&report, &options, Lang::En));
    }
}

#[test]
fn as_markdown() {
    for (name, report) in samples::all() {
        insta::assert_snapshot!(format!("{name}.md"), markdown::render(&report, Lang::En));
    }
}

#[test]
fn in_korean() {
    let report = samples::korean::half_overflow();
    let options = Options { width: Some(100), folder: Some("nanscope-runs/1".into()), ..Options::default() };
    insta::assert_snapshot!("korean.text", terminal::render(&report, &options, Lang::Ko));
    insta::assert_snapshot!("korean.md", markdown::render(&report, Lang::Ko));
}

#[test]
fn json_comes_back_as_it_went() {
    for (name, report) in samples::all() {
        let text = json::render(&report);
        assert!(text.ends_with("}\n"), "{name}");
        assert_eq!(json::parse(&text).unwrap(), report, "{name}");
    }
}
