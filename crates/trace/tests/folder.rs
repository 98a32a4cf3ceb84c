//! Run folders on the disk.
#![allow(missing_docs)]

mod support;

use std::fs;

use nanscope_trace::*;
use support::{end, info, step, trip};

#[test]
fn a_folder_of_two_ranks_is_merged() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("a/b");
    for rank in [10, 2] {
        let mut writer = Writer::create(&dir, &RunInfo { rank, world_size: 2, ..info() }).unwrap();
        writer.step(&step(0)).unwrap();
        writer.trip(&Trip { rank, step: 12 - u64::from(rank), ..trip() }).unwrap();
        writer.end(&end()).unwrap();
        writer.close().unwrap();
    }
    fs::write(dir.join("rank-x.log"), "not ours").unwrap();
    let run = Run::open(&dir).unwrap();
    assert_eq!(run.logs.iter().map(|log| log.info.as_ref().unwrap().rank).collect::<Vec<_>>(), [2, 10]);
    assert_eq!(run.trips().iter().map(|trip| trip.rank).collect::<Vec<_>>(), [10, 2]);
    assert_eq!((run.info().unwrap().rank, run.report.is_none(), run.problems()), (2, true, vec![]));
}

#[test]
fn records_are_in_the_file_before_it_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), &info()).unwrap();
    writer.step(&step(0)).unwrap();
    writer.note("a record that is no step brings the steps before it along").unwrap();
    // As after a kill: the writer is neither closed nor dropped.
    assert_eq!(Run::open(dir.path()).unwrap().logs[0].steps, [step(0)]);
    assert_eq!(fs::metadata(writer.path()).unwrap().len(), writer.bytes());
}

#[test]
fn a_log_that_was_closed_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), &info()).unwrap();
    writer.end(&end()).unwrap();
    writer.close().unwrap();
    let mut again = Writer::<fs::File>::resume(writer.path()).unwrap();
    again.append_json(Kind::Outcomes, r#"{"step": 7}"#).unwrap();
    again.close().unwrap();
    let log = Run::open(dir.path()).unwrap().logs.remove(0);
    assert_eq!((log.outcomes.len(), log.outcomes[0].step, log.end.is_some(), log.torn), (1, 7, true, None));
    assert_eq!(fs::metadata(writer.path()).unwrap().len(), again.bytes());
    assert!(Writer::<fs::File>::resume(&dir.path().join("none")).is_err());
}

#[test]
fn a_folder_that_was_used_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Writer::create(dir.path(), &info()).unwrap());
    let error = Writer::create(dir.path(), &info()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot write the run folder {}: expected no log of rank 0 in it, got one; choose another with --out DIR",
            dir.path().display()
        )
    );
    assert_eq!(error.io_kind(), Some(std::io::ErrorKind::AlreadyExists));
}

#[test]
fn errors_name_the_folder_and_what_was_expected() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let shown = dir.path().display();
    let open = |path| Run::open(path).unwrap_err().to_string();
    let expected = "is not a run folder: expected a file rank-0.log in it, got";
    assert_eq!(open(dir.path()), format!("{shown} {expected} a folder without one"));
    assert_eq!(open(&file), format!("{shown}/file {expected} a file"));
    assert_eq!(open(&dir.path().join("none")), format!("{shown}/none {expected} no such folder"));
    let error = Writer::create(&file.join("run"), &info()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot write the run folder {shown}/file/run: ")), "{error}");
    assert!(error.ends_with("; choose another with --out DIR"), "{error}");
}

#[test]
fn what_is_damaged_is_named_and_the_rest_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), &info()).unwrap();
    writer.step(&step(0)).unwrap();
    writer.step(&step(1)).unwrap();
    writer.close().unwrap();
    let whole = writer.bytes();
    fs::OpenOptions::new().write(true).open(writer.path()).unwrap().set_len(whole - 1).unwrap();
    fs::write(dir.path().join("rank-1.log"), "something else").unwrap();
    fs::write(dir.path().join(REPORT_FILE), "{").unwrap();
    let run = Run::open(dir.path()).unwrap();
    assert_eq!((run.logs.len(), run.logs[0].steps.len(), run.report.is_none()), (1, 1, true));
    let problems = run.problems().join("\n");
    for part in
        ["rank-1.log is not a log", "report.json: expected a report", "the frame is cut: expected 80 bytes, got 79"]
    {
        assert!(problems.contains(part), "{part} in {problems}");
    }
}

#[test]
fn a_report_is_replaced_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(REPORT_FILE);
    write_atomically(&path, b"first").unwrap();
    write_atomically(&path, b"second").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert!(matches!(write_report(dir.path(), "{}"), Err(Error::Json { expected: "a report", .. })));
    assert!(matches!(write_atomically(&dir.path().join("none/x"), b""), Err(Error::Write { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"second");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file stays");
}
