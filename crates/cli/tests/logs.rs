//! `nanscope logs` on files, whole and broken.

use std::{fs, process::Command};

fn logs(locale: &str, args: &[&str]) -> (i32, String, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_nanscope")).arg("logs").args(args).env("LC_ALL", locale).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

const RANK_0: &str = "step 1\nn:7:9 [0] NCCL INFO NCCL version 2.18.1+cuda12.1\n";
const RANK_1: &str = "n:8:9 [1] NCCL INFO NCCL version 2.20.5+cuda12.4\n";

#[test]
fn the_exit_status_tells_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (one, other, gone) = (path("rank-0.out"), path("rank-1.out"), path("rank-2.out"));
    fs::write(&one, RANK_0).unwrap();
    fs::write(&other, RANK_1).unwrap();
    let (status, text, talk) = logs("C", &[&one]);
    assert_eq!((status, talk.as_str()), (0, ""));
    assert!(text.ends_with("nothing found\n") && !text.contains("step 1"), "{text}");
    let (status, text, _) = logs("C", &["--unknown", &one, &other]);
    assert_eq!(status, 1);
    assert!(text.contains("fault[version-mismatch]") && text.contains("  | step 1\n"), "{text}");
    let (status, text, talk) = logs("ko_KR.UTF-8", &[&one, &other, &gone]);
    assert_eq!(status, 2);
    assert!(text.contains("결함[version-mismatch]") && talk.contains("rank-2.out"), "{text}\n{talk}");
    let (status, text, _) = logs("C", &[&one, &other, "--format", "json"]);
    assert_eq!(status, 1);
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&found["schema"], &found["findings"][0]["id"]),
        (&"nanscope.logs/1".into(), &"version-mismatch".into())
    );
    assert_eq!(found["unknown"][0], "step 1");
    assert_eq!(logs("C", &[]).0, 2);
}
