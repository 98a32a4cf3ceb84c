//! Origins of hand-made ledgers: each is the shortest one that has the trait its name says.

use nanscope_diagnose::{Birth, locate};
use nanscope_trace::schema::{Ledger, Trip};
use serde_json::{Value, json};

/// One tensor: counts of nan, +inf, -inf, and the entry that wrote it or the name of what it is.
fn arg(bad: [u64; 3], from: Value) -> Value {
    let mut arg = json!({
        "name": "self", "dtype": "float32", "shape": [4], "device": "cpu",
        "counts": {"nan": bad[0], "posinf": bad[1], "neginf": bad[2], "max_abs": 1.0},
    });
    match from {
        Value::Number(_) => arg["from"] = from,
        Value::String(name) => arg["source"] = json!({"kind": "data", "name": name, "event": 0}),
        Value::Object(_) => arg["source"] = from,
        _ => {}
    }
    arg
}

const GOOD: [u64; 3] = [0, 0, 0];
const NAN: [u64; 3] = [1, 0, 0];
const INF: [u64; 3] = [0, 1, 0];
const NEGINF: [u64; 3] = [0, 0, 1];

struct Builder(Vec<Value>);

impl Builder {
    fn new() -> Self {
        Builder(vec![])
    }

    fn push(mut self, op: &str, inputs: Vec<Value>, out: [u64; 3], more: Value) -> Self {
        let mut entry = json!({
            "index": self.0.len(), "event": 1, "phase": "forward", "op": format!("aten.{op}.default"),
            "inputs": inputs, "outputs": [arg(out, Value::Null)],
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            entry[key] = value.clone();
        }
        self.0.push(entry);
        self
    }

    /// Locates from the last entry.
    fn origin(self) -> Option<Birth> {
        let last = self.0.len() - 1;
        let ledger = json!({
            "entries": self.0, "events": 1, "operators": last + 1, "faithful": true, "method": "tape", "seconds": 0.0,
        });
        let ledger: Ledger = serde_json::from_value(ledger).unwrap();
        let trip = json!({"step": 0, "rank": 0, "where": "loss", "kind": "nan", "entry": last});
        let trip: Trip = serde_json::from_value(trip).unwrap();
        locate(&ledger, &trip).map(|located| located.birth)
    }
}

fn backward(node: &str, forward: usize) -> Value {
    json!({"phase": "backward", "node": node, "forward": forward})
}

#[test]
fn the_first_of_two_births_is_the_origin() {
    let origin = Builder::new()
        .push("log", vec![arg(GOOD, json!("x"))], NEGINF, Value::Null)
        .push("sqrt", vec![arg(GOOD, json!("x"))], NAN, Value::Null)
        .push("mm", vec![arg(NEGINF, json!(0)), arg(NAN, json!(1))], NAN, Value::Null)
        .origin();
    assert_eq!(origin, Some(Birth::Entry { entry: 0 }));
}

#[test]
fn a_birth_that_does_not_reach_the_trip_is_not_the_origin() {
    let origin = Builder::new()
        .push("log", vec![arg(GOOD, json!("x"))], NAN, Value::Null)
        .push("nan_to_num", vec![arg(NAN, json!(0))], GOOD, Value::Null)
        .push("sqrt", vec![arg(GOOD, json!(1))], NAN, Value::Null)
        .origin();
    assert_eq!(origin, Some(Birth::Entry { entry: 2 }));
}

#[test]
fn a_mask_is_not_to_blame_for_a_row_that_is_all_masked() {
    let origin = Builder::new()
        .push("masked_fill", vec![arg(GOOD, json!("x"))], NEGINF, json!({"scalars": {"value": "-inf"}}))
        .push("_softmax", vec![arg(NEGINF, json!(0))], NAN, Value::Null)
        .origin();
    assert_eq!(origin, Some(Birth::Entry { entry: 1 }));
}

#[test]
fn an_overflow_to_minus_infinity_is_not_a_mask() {
    let origin = Builder::new()
        .push("add", vec![arg(GOOD, json!("scores")), arg(GOOD, json!("mask"))], NEGINF, Value::Null)
        .push("_softmax", vec![arg(NEGINF, json!(0))], NAN, Value::Null)
        .origin();
    assert_eq!(origin, Some(Birth::Entry { entry: 0 }));
}

#[test]
fn minus_infinity_in_the_batch_is_bad_where_it_meets_other_numbers() {
    let origin = Builder::new().push("mm", vec![arg(NEGINF, json!("x"))], NAN, Value::Null).origin();
    assert_eq!(origin, Some(Birth::Outside { entry: 0, input: 0 }));
}

#[test]
fn a_bad_weight_comes_from_outside() {
    let weight = json!({"kind": "param", "name": "fc.weight"});
    let origin = Builder::new()
        .push("addmm", vec![arg(GOOD, json!("x")), arg(NAN, weight)], NAN, Value::Null)
        .push("mean", vec![arg(NAN, json!(0))], NAN, Value::Null)
        .origin();
    assert_eq!(origin, Some(Birth::Outside { entry: 0, input: 1 }));
}

#[test]
fn a_value_healed_in_forward_is_the_origin_of_its_bad_derivative() {
    let origin = Builder::new()
        .push("log", vec![arg(GOOD, json!("x"))], NEGINF, Value::Null)
        .push("where", vec![arg(NEGINF, json!(0))], GOOD, Value::Null)
        .push("div", vec![arg(GOOD, json!("grad"))], NAN, backward("LogBackward0", 0))
        .origin();
    assert_eq!(origin, Some(Birth::Entry { entry: 0 }));
}

#[test]
fn a_finite_value_with_an_infinite_derivative_is_born_in_backward() {
    let origin = Builder::new()
        .push("sqrt", vec![arg(GOOD, json!("x"))], GOOD, Value::Null)
        .push("div", vec![arg(GOOD, json!("grad"))], INF, backward("SqrtBackward0", 0))
        .push("mul", vec![arg(INF, json!(1))], NAN, backward("MulBackward0", 0))
        .origin();
    assert_eq!(origin, Some(Birth::Entry { entry: 1 }));
}

#[test]
fn where_every_infinity_was_meant_the_last_of_them_is_the_answer() {
    let origin = Builder::new()
        .push("masked_fill", vec![arg(GOOD, json!("x"))], NEGINF, json!({"scalars": {"value": "-inf"}}))
        .push("_log_softmax", vec![arg(NEGINF, json!(0))], NEGINF, Value::Null)
        .push("sum", vec![arg(NEGINF, json!(1))], NEGINF, Value::Null)
        .origin();
    assert_eq!(origin, Some(Birth::Entry { entry: 2 }));
}

#[test]
fn a_ledger_without_a_bad_value_has_no_origin() {
    assert_eq!(Builder::new().push("mm", vec![arg(GOOD, json!("x"))], GOOD, Value::Null).origin(), None);
}

#[test]
fn an_index_out_of_range_is_no_panic() {
    let origin = Builder::new().push("mm", vec![arg(NAN, json!(99))], NAN, backward("MmBackward0", 77)).origin();
    assert_eq!(origin, Some(Birth::Entry { entry: 0 }));
}
