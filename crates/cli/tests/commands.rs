//! The native binary on run folders, whole and broken.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use nanscope_report::json;
use nanscope_trace::{Writer, log_file, schema::*};

fn nanscope(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanscope"));
    command.args(args).env_remove("COLUMNS").env("LC_ALL", "C").env("PYTHON", "/nowhere/python").output().unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = nanscope(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(args: &[&str]) -> String {
    let output = nanscope(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A run that is killed after a few steps of growing loss, the last of them held by the writer still.
fn killed(folder: &Path) -> Writer {
    let info = RunInfo { script: "train.py".into(), world_size: 1, ..RunInfo::default() };
    let mut writer = Writer::create(folder, &info).unwrap();
    for step in 0..5 {
        let loss = Some(10f64.powi(step as i32));
        writer.step(&StepRecord { step, loss, grad_norm: Some(2.0), ..StepRecord::default() }).unwrap();
    }
    writer
}

#[test]
fn a_killed_run_tells_what_its_steps_tell() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run");
    killed(&folder).close().unwrap();
    let text = stdout(&["explain", folder.to_str().unwrap()]);
    assert!(text.starts_with("finite as far as recorded: 5 steps, then the log stops\n"), "{text}");
    assert!(text.contains("the log was cut short"), "{text}");
    assert!(text.contains("the loss grew 10000-fold over the last 5 steps"), "{text}");
    assert!(!text.contains("gradient norm grew"), "{text}");
}

#[test]
fn a_log_cut_at_any_byte_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run");
    let trip = Trip {
        step: 5,
        rank: 0,
        where_: Where::Loss,
        name: None,
        kind: "nan".into(),
        loss: None,
        entry: None,
        also: vec![],
        alarm: None,
        place: None,
    };
    killed(&folder).trip(&trip).unwrap();
    let log = folder.join(log_file(0));
    let bytes = fs::read(&log).unwrap();
    assert!(stdout(&["explain", folder.to_str().unwrap()]).contains("the loss was nan at step 5"));
    // Each of these starts a process: a prime stride visits all kinds of places.
    for length in (0..bytes.len()).step_by(37) {
        fs::write(&log, &bytes[..length]).unwrap();
        for format in ["text", "markdown", "json"] {
            stdout(&["explain", folder.to_str().unwrap(), "--format", format]);
        }
    }
}

#[test]
fn a_report_without_a_ledger_is_shown_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run");
    drop(killed(&folder));
    let shown = stdout(&["explain", folder.to_str().unwrap(), "--format", "json"]);
    let mut report = json::parse(&shown).unwrap();
    report.warnings = vec!["told before".into()];
    nanscope_trace::write_report(&folder, &json::render(&report)).unwrap();
    let again = stdout(&["explain", folder.to_str().unwrap(), "--format", "json"]);
    assert_eq!(json::parse(&again).unwrap(), report);
}

#[test]
fn what_is_no_run_folder_is_one_clear_error() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_str().unwrap(), "/nowhere", "Cargo.toml"] {
        let text = stderr(&["explain", path]);
        assert!(text.contains("is not a run folder"), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn every_rule_is_listed_and_has_a_page() {
    let table = stdout(&["rules"]);
    for line in table.lines() {
        let (id, title) = line.split_once("  ").unwrap();
        assert!(stdout(&["rules", id]).starts_with(&format!("# {id}: {}\n", title.trim())), "{id}");
    }
    let first = table.split_whitespace().next().unwrap();
    assert!(stderr(&["rules", &first[..first.len() - 1]]).contains(first));
    assert!(stderr(&["rules", "qqqq"]).contains("`nanscope rules` lists them"));
}

#[test]
fn the_rest_answers() {
    assert!(stdout(&["--version"]).starts_with("nanscope 0."));
    assert!(stdout(&["run", "--help"]).contains("nanscope run [OPTIONS] -m MODULE [ARGS]..."));
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(stdout(&["completions", shell]).contains("nanscope"), "{shell}");
    }
    assert!(stderr(&[]).contains("Usage: nanscope"));
    assert!(stderr(&["run"]).starts_with("nanscope run: no script given"));
    assert!(stderr(&["run", "train.py"]).contains("cannot start `/nowhere/python`"));
}
