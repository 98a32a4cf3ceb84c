//! What belongs to nanscope and what belongs to the script.

use nanscope_cli::{Check, Checks, Color, Lang, OnTrip, Parsed, RunOptions, Said, Task, parse};

fn parsed(argv: &[&str]) -> Parsed {
    parse([&["/usr/bin/__main__.py"], argv].concat())
}

fn run(argv: &[&str]) -> RunOptions {
    match parsed(argv) {
        Parsed::Run(options) => options,
        other => panic!("{argv:?}: {other:?}"),
    }
}

fn wrong(argv: &[&str]) -> String {
    match parsed(argv) {
        Parsed::Task(Task::Say(Said::Clap(error))) => {
            assert_eq!(error.exit_code(), 2, "{argv:?}");
            error.to_string()
        }
        Parsed::Task(Task::Say(Said::Wrong(text))) => text,
        parsed => panic!("{argv:?}: {parsed:?}"),
    }
}

#[test]
fn a_script_keeps_its_own_arguments() {
    let options = run(&["run", "train.py", "--epochs", "3", "--color", "red", "-m", "--", "--help", "-"]);
    assert_eq!(options.script.as_deref(), Some("train.py"));
    assert_eq!(options.module, None);
    assert_eq!(options.args, ["--epochs", "3", "--color", "red", "-m", "--", "--help", "-"]);
    assert_eq!((options.on_trip, options.diagnose_first, options.color), (OnTrip::Stop, 1, Color::Auto));
    assert_eq!((options.json, options.out), (None, None));
}

#[test]
fn a_module_keeps_its_own_arguments() {
    let options = run(&["run", "-m", "pkg.train", "--json", "x", "-h"]);
    assert_eq!(options.module.as_deref(), Some("pkg.train"));
    assert_eq!((options.script, options.json), (None, None));
    assert_eq!(options.args, ["--json", "x", "-h"]);
}

#[test]
fn what_is_compared_and_how_often() {
    let check = |text: &str| run(&["run", &format!("--check={text}"), "t.py"]).check;
    assert_eq!(run(&["run", "t.py"]).check, Checks { recompute: Check::Once, attention: None, ranks: Some(0) });
    assert_eq!(
        ["once", "none", "recompute", "recompute=50"].map(check).map(|checks| checks.recompute.every()),
        [Some(0), None, Some(1), Some(50)]
    );
    assert_eq!(check("attention"), Checks { recompute: Check::Once, attention: Some(1), ranks: Some(0) });
    assert_eq!(check("none,attention=20"), Checks { recompute: Check::Never, attention: Some(20), ranks: None });
    assert_eq!(
        check("recompute=3,attention=5"),
        Checks { recompute: Check::Every(3), attention: Some(5), ranks: Some(0) }
    );
    assert_eq!((check("none,ranks=3").ranks, check("ranks=7").recompute), (Some(3), Check::Once));
    for text in ["attention=0", "attention=x", "none=3", "", "recompute,"] {
        assert!(wrong(&["run", &format!("--check={text}"), "t.py"]).contains("expected once"), "{text}");
    }
}

#[test]
fn options_come_before_the_script() {
    let argv =
        ["--color", "never", "run", "--on-trip", "skip", "--json", "-", "--out=here", "--diagnose-first", "3", "t.py"];
    let options = run(&argv);
    assert_eq!((options.on_trip, options.diagnose_first, options.color), (OnTrip::Skip, 3, Color::Never));
    assert_eq!((options.json.as_deref(), options.out.as_deref()), (Some("-"), Some("here")));
    assert_eq!(run(&["run", "--color", "always", "t.py"]).color, Color::Always);
    assert_eq!(run(&["run", "--lang", "ko", "t.py", "--lang", "en"]).lang, Lang::Ko);
    assert_eq!(run(&["--lang", "en", "run", "t.py"]).lang, Lang::En);
    assert_eq!(run(&["run", "--", "-odd.py", "-x"]).script.as_deref(), Some("-odd.py"));
}

#[test]
fn what_is_wrong_is_said() {
    let expected =
        "nanscope run: no script given; expected: nanscope run SCRIPT [ARGS]... or nanscope run -m MODULE [ARGS]...";
    for argv in [&["run"][..], &["run", "-m"], &["run", "--on-trip", "skip"], &["run", ""]] {
        assert_eq!(wrong(argv), expected, "{argv:?}");
    }
    assert!(wrong(&["run", "--ontrip", "skip", "t.py"]).contains("--on-trip"));
    assert!(
        wrong(&["run", "--check", "recompute=0", "t.py"]).contains("attention=N, ranks=N or none, got recompute=0")
    );
    assert!(wrong(&["run", "--on-trip", "explode", "t.py"]).contains("stop, skip, continue"));
    assert!(wrong(&["explain", "x", "--format", "html"]).contains("text, json, markdown"));
    assert!(wrong(&["rules", "--lang", "de"]).contains("en, ko"));
    assert!(wrong(&["train.py"]).contains("unrecognized subcommand"));
    assert!(wrong(&[]).contains("Usage: nanscope"));
}
