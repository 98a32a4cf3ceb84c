//! What the whole step in float64 adds to a diagnosis: hand-made ledgers, each the shortest with the trait its name says.

use nanscope_diagnose::report;
use nanscope_lang::Lang;
use nanscope_trace::schema::{Confidence, Ledger, Report, RunInfo, Trip};
use serde_json::{Value, json};

fn arg(bad: [u64; 3], more: Value) -> Value {
    let mut arg = json!({"name": "self", "dtype": "float32", "shape": [4], "device": "cpu",
        "counts": {"nan": bad[0], "posinf": bad[1], "neginf": bad[2], "max_abs": 1.0}});
    for (key, value) in more.as_object().into_iter().flatten() {
        arg[key] = value.clone();
    }
    arg
}

fn entry(op: &str, line: u32, inputs: Vec<Value>, bad: [u64; 3], drift: Value) -> Value {
    let place = json!({"file": "train.py", "line": line, "function": "f", "code": "y = a - b", "columns": [4, 9]});
    let mut entry = json!({"event": 1, "phase": "forward", "op": format!("aten.{op}.Tensor"), "place": place,
        "inputs": inputs, "outputs": [arg(bad, json!({"index": [2]}))]});
    if !drift.is_null() {
        entry["drift"] = drift;
    }
    entry
}

fn diagnosed(mut entries: Vec<Value>) -> Report {
    for (index, entry) in entries.iter_mut().enumerate() {
        entry["index"] = index.into();
    }
    let last = entries.len() - 1;
    let ledger = json!({"entries": entries, "events": 1, "operators": last + 1, "faithful": true, "method": "tape",
        "seconds": 0.5, "whole": {"finite": true, "operators": last + 1, "seconds": 0.1}});
    let ledger: Ledger = serde_json::from_value(ledger).unwrap();
    let trip = json!({"step": 0, "rank": 0, "where": "loss", "kind": "nan", "entry": last});
    let trip: Trip = serde_json::from_value(trip).unwrap();
    report(&RunInfo::default(), &[], &trip, &ledger, None, Lang::En)
}

const GOOD: [u64; 3] = [0, 0, 0];
const NAN: [u64; 3] = [1, 0, 0];

/// A difference, and the root of it: what the root is given in the run and in float64.
fn difference(operands: [[f64; 2]; 2], given: [f64; 2]) -> Report {
    let [a, b] = operands;
    let drift = json!({"relative": 0.9, "largest": 2.0, "index": [2], "value": given[0], "reference": given[1],
        "operands": [{"name": "self", "value": a[0], "reference": a[1]}, {"name": "other", "value": b[0], "reference": b[1]}]});
    let read = json!({"from": 0, "index": [2], "value": given[0], "reference": given[1]});
    diagnosed(vec![
        entry("sub", 3, vec![arg(GOOD, json!({})), arg(GOOD, json!({}))], GOOD, drift),
        entry("sqrt", 4, vec![arg(GOOD, read)], NAN, Value::Null),
    ])
}

fn first(report: &Report) -> (&str, Confidence) {
    (&report.causes[0].id, report.causes[0].confidence)
}

#[test]
fn a_sign_that_float64_does_not_share_is_a_cancellation() {
    let report = difference([[490_000.0, 490_000.015_001], [490_000.031_25, 490_000.015]], [-0.03125, 1e-6]);
    assert_eq!(first(&report), ("cancellation", Confidence::Proved));
    let evidence = &report.causes[0].evidence[0];
    assert_eq!(
        evidence,
        "aten.sub.Tensor: -0.0312 in float32, 1.00e-6 in float64; its operands 490000 and 490000.03 agree to 11 digits in float64"
    );
    assert_eq!(report.origin.unwrap().inputs[0].reference.unwrap().0, 1e-6);
}

#[test]
fn a_difference_that_is_negative_in_float64_too_is_none() {
    let report = difference([[1.0, 1.0], [3.0, 3.0]], [-2.0, -2.0]);
    assert_eq!(first(&report), ("negative-argument", Confidence::Proved));
}

#[test]
fn an_operand_from_outside_the_step_proves_nothing() {
    let report = difference([[0.33505017, 0.335_050_186_2], [0.33505017, 0.33505017]], [0.0, 1.62e-8]);
    assert!(report.causes.iter().all(|cause| cause.confidence < Confidence::Proved), "{:?}", report.causes);
}

#[test]
fn operands_that_were_wrong_before_are_none() {
    let report = difference([[1.0, 5.0], [3.0, 4.0]], [-2.0, 1.0]);
    assert!(report.causes.iter().all(|cause| cause.id != "cancellation"), "{:?}", report.causes);
}

#[test]
fn the_curve_says_where_digits_were_lost() {
    let drift = |relative: f64| json!({"relative": relative, "largest": relative});
    let from = |index: usize| vec![arg(GOOD, json!({"from": index}))];
    let mut entries = vec![
        entry("mul", 1, vec![arg(GOOD, json!({}))], GOOD, Value::Null),
        entry("sub", 2, from(0), GOOD, drift(1e-5)),
        entry("add", 3, from(1), GOOD, Value::Null),
        entry("sub", 4, from(2), GOOD, drift(0.1)),
    ];
    let mut read = from(3);
    read[0]["value"] = json!(-1.0);
    entries.push(entry("log", 5, read, NAN, Value::Null));
    let report = diagnosed(entries);
    let lines: Vec<u32> = report.digits.iter().filter_map(|point| point.line).collect();
    assert_eq!(lines, [2, 4]);
    let points: Vec<String> = report.digits.iter().map(|p| format!("{:.1} {:.1}", p.before, p.after)).collect();
    assert_eq!(points, ["7.2 5.0", "5.0 1.0"]);
    assert_eq!(report.digits[0].code.as_deref(), Some("a - b"));
    assert_eq!(report.replay.unwrap().whole.unwrap().finite, Some(true));
}

#[test]
fn a_curve_has_five_points_at_most_and_none_where_little_was_lost() {
    let chain = |errors: &[f64]| {
        let mut entries: Vec<Value> = vec![entry("mul", 1, vec![arg(GOOD, json!({}))], GOOD, Value::Null)];
        for (i, error) in errors.iter().enumerate() {
            let drift = json!({"relative": error, "largest": error});
            entries.push(entry("sub", i as u32 + 2, vec![arg(GOOD, json!({"from": i}))], GOOD, drift));
        }
        entries.push(entry("log", 99, vec![arg(GOOD, json!({"from": errors.len()}))], NAN, Value::Null));
        diagnosed(entries).digits
    };
    let digits = chain(&[1e-6, 1e-5, 2e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0]);
    assert_eq!(digits.iter().filter_map(|p| p.line).collect::<Vec<_>>().len(), 5);
    assert!(chain(&[5e-6]).is_empty());
}
