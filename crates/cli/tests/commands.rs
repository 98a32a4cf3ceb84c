//! The native binary on run folders, whole and broken.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Output},
};

use nanscope_report::json;
use nanscope_trace::{Writer, log_file, schema::*};

fn nanscope_under(locale: &str, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanscope"));
    command.args(args).env_remove("COLUMNS").env("LC_ALL", locale).env("PYTHON", "/nowhere/python").output().unwrap()
}

fn nanscope(args: &[&str]) -> Output {
    nanscope_under("C", args)
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

fn trip(entry: Option<usize>) -> Trip {
    let (where_, kind) = (Where::Loss, "nan".to_owned());
    Trip {
        step: 5,
        rank: 0,
        where_,
        name: None,
        kind,
        loss: None,
        entry,
        also: vec![],
        alarm: None,
        place: None,
        apart: None,
    }
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
    killed(&folder).trip(&trip(None)).unwrap();
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
fn a_run_is_diagnosed_again_in_the_language_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run");
    let mut writer = killed(&folder);
    let data = Source::Data { name: "argument x of Net.forward".into(), event: 0 };
    let nan = Arg { name: "self".into(), shape: vec![4], ..Arg::default() };
    let nan = Arg { counts: Some(Counts { nan: 1, ..Counts::default() }), source: Some(data), ..nan };
    let entry = Entry {
        index: 0,
        event: 0,
        phase: Phase::Forward,
        op: "aten.mm.default".into(),
        node: None,
        forward: None,
        place: None,
        module: None,
        call: None,
        autocast: None,
        inputs: vec![nan.clone()],
        outputs: vec![Arg { source: None, ..nan }],
        scalars: BTreeMap::new(),
        reference: None,
        drift: None,
        comm: None,
    };
    writer.trip(&trip(Some(0))).unwrap();
    writer.ledger(&Ledger { entries: vec![entry], faithful: true, ..Ledger::default() }).unwrap();
    writer.close().unwrap();
    let explain = ["explain", folder.to_str().unwrap()];
    assert!(stdout(&explain).contains("error[bad-input]: a value was already bad when it came in with the data"));
    let korean = stdout(&[&explain[..], &["--lang", "ko"]].concat());
    assert!(korean.contains("오류[bad-input]: 데이터가 들어올 때 값이 이미 비정상이었음 (증명됨)"), "{korean}");
    assert!(korean.contains("Net.forward의 인자 x, 들어올 때 이미: 값 4개 중 nan 1개"), "{korean}");
    assert!(korean.contains("스텝 5에서 손실이 nan"), "{korean}");
}

#[test]
fn the_locale_chooses_where_the_arguments_do_not() {
    let first = |locale, args: &[&str]| {
        let output = nanscope_under(locale, args);
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap().lines().next().unwrap().to_owned()
    };
    let (english, korean) = ("# log-of-zero: the logarithm of exactly zero", "# log-of-zero: 정확히 0인 값의 로그");
    assert_eq!(first("C", &["rules", "log-of-zero"]), english);
    assert_eq!(first("C", &["rules", "log-of-zero", "--lang", "ko"]), korean);
    assert_eq!(first("ko_KR.UTF-8", &["rules", "log-of-zero"]), korean);
    assert_eq!(first("ko_KR.UTF-8", &["--lang", "en", "rules", "log-of-zero"]), english);
    assert_eq!(first("C", &["rules", "--lang=ko"]).split_once("  ").unwrap().0, "bad-input");
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("run");
    killed(&folder).close().unwrap();
    let told = first("ko_KR.UTF-8", &["explain", folder.to_str().unwrap()]);
    assert_eq!(told, "기록된 범위에서는 유한함: 5개 스텝 이후 로그가 끊김");
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
