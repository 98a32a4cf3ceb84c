//! `nanscope explain` on the folder of a job of many ranks.

mod many_ranks;

use std::{fs, process::Command};

use serde_json::Value;

#[test]
fn the_rank_where_it_began_is_found_among_many() {
    let folder = tempfile::tempdir().unwrap();
    let (ranks, steps) = (64, 500);
    many_ranks::write(folder.path(), ranks, steps).unwrap();
    let explain = |form: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nanscope"));
        command.args(["explain", "--format", form]).arg(folder.path()).env("LC_ALL", "C");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let found: Value = serde_json::from_str(&explain("json")).unwrap();
    let bad = u64::from(many_ranks::culprit(ranks));
    assert_eq!((&found["verdict"], &found["run"]["steps"]), (&"nonfinite".into(), &steps.into()));
    assert_eq!((&found["origin"]["rank"], &found["origin"]["line"]), (&bad.into(), &49.into()));
    assert_eq!(found["causes"][0]["id"], "negative-argument");
    let roles = found["ranks"].as_array().unwrap();
    assert_eq!(roles.len(), ranks as usize);
    assert_eq!((&roles[0]["rank"], &roles[0]["role"]), (&bad.into(), &"origin".into()));
    assert!(roles[1..].iter().all(|rank| rank["role"] == "victim"));
    let text = explain("text");
    assert!(text.contains("rank 0-41, 43-63: its own part was finite"), "{text}");
    // A rank that was killed has a torn log, and is told apart.
    let log = folder.path().join("rank-7.log");
    let whole = fs::read(&log).unwrap();
    fs::write(&log, &whole[..80 * 100]).unwrap();
    let text = explain("text");
    assert!(text.contains("rank 42: it began here") && text.contains("rank 7: "), "{text}");
}
