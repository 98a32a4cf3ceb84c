//! Faults that show over steps: what a person reads when the run trips on them, the step not run again or without a bad value.
#![allow(missing_docs)]

use nanscope_diagnose::monitor::trip;
use nanscope_diagnose::{Input, Monitor, Signals, report};
use nanscope_lang::Lang;
use nanscope_report::{Options, markdown, terminal};
use nanscope_trace::schema::*;

fn step(at: u64) -> Signals<'static> {
    Signals {
        step: at,
        loss: Some(0.7),
        grad_norm: Some(0.2),
        grad_max: Some(0.05),
        tensors: 6,
        lr: Some(0.1),
        ..Signals::default()
    }
}

/// Runs until an alarm; the trip and a ledger that holds the history alone.
fn tripped(signals: impl Fn(u64) -> Signals<'static>) -> (Trip, Ledger) {
    let mut monitor = Monitor::new();
    let alarm = (0..1000).find_map(|at| monitor.observe(&signals(at))).unwrap();
    let names = ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias", "fc3.weight", "fc3.bias"].map(str::to_owned);
    monitor.name_parameters(alarm.optimizer, &names);
    let history = monitor.history();
    let place = Place {
        file: "train.py".into(),
        line: 61,
        function: "main".into(),
        code: Some("        loss.backward()".into()),
        ..Place::default()
    };
    let trip = trip(&history.alarms[0], 0, Some(place));
    (trip, Ledger { history: Some(history), ..Ledger::default() })
}

fn told(trip: &Trip, ledger: &Ledger, lang: Lang) -> Report {
    report(&RunInfo::default(), &[], trip, ledger, None, lang)
}

fn shown(name: &str, (trip, ledger): (Trip, Ledger), verdict: Verdict, id: &str) {
    let english = told(&trip, &ledger, Lang::En);
    assert_eq!((english.verdict, &english.causes[0].id[..]), (verdict, id));
    let options = Options { width: Some(100), ..Options::default() };
    insta::assert_snapshot!(name, terminal::render(&english, &options, Lang::En));
    let korean = told(&trip, &ledger, Lang::Ko);
    insta::assert_snapshot!(format!("{name}_ko"), terminal::render(&korean, &options, Lang::Ko));
    // As the folder holds it, the ledger gives the same report.
    let kept = serde_json::from_str(&serde_json::to_string(&ledger).unwrap()).unwrap();
    let kept_trip = serde_json::from_str(&serde_json::to_string(&trip).unwrap()).unwrap();
    assert_eq!(told(&kept_trip, &kept, Lang::En), english);
}

#[test]
fn divergence() {
    let growing = |at: u64| Signals {
        loss: Some(0.7 * 3f64.powi(at.saturating_sub(9) as i32)),
        grad_norm: Some(0.2 * 4f64.powi(at.saturating_sub(9) as i32)),
        ..step(at)
    };
    shown("divergence", tripped(growing), Verdict::Diverging, "divergence");
}

#[test]
fn missing_zero_grad() {
    let piling = |at: u64| Signals { carried: at >= 1, grad_norm: Some(0.2 * (at + 1) as f64), ..step(at) };
    let found = tripped(piling);
    insta::assert_snapshot!(
        "missing_zero_grad_markdown",
        markdown::render(&told(&found.0, &found.1, Lang::En), Lang::En)
    );
    shown("missing_zero_grad", found, Verdict::Unhealthy, "missing-zero-grad");
}

#[test]
fn loss_scale_collapse() {
    let halving = |at: u64| Signals {
        scale: Some(65536.0 / 2f64.powi(at as i32)),
        grad_norm: Some(f64::INFINITY),
        skipped: true,
        ..step(at)
    };
    shown("loss_scale_collapse", tripped(halving), Verdict::Unhealthy, "loss-scale-collapse");
}

#[test]
fn zero_learning_rate() {
    let ended = |at: u64| Signals { lr: Some(if at < 80 { 0.1 } else { 0.0 }), ..step(at) };
    shown("zero_learning_rate", tripped(ended), Verdict::Unhealthy, "zero-learning-rate");
}

#[test]
fn dead_units() {
    let dying = |at: u64| Signals { zeros: if at < 12 { &[] } else { &[0, 1, 2] }, ..step(at) };
    shown("dead_units", tripped(dying), Verdict::Unhealthy, "dead-units");
}

fn silent(at: u64) -> Signals<'static> {
    let norm = Some(if at < 4 { 1e-7 } else { 0.0 });
    Signals { grad_norm: norm, grad_max: norm, ..step(at) }
}

/// An entry with one input and one output, of these largest magnitudes.
fn entry(op: &str, phase: Phase, dtype: &str, largest: [f64; 2]) -> Entry {
    let arg = |name: &str, largest| {
        serde_json::json!({"name": name, "dtype": dtype, "shape": [4], "device": "cpu",
            "counts": {"nan": 0, "posinf": 0, "neginf": 0, "max_abs": largest}})
    };
    let entry = serde_json::json!({
        "index": 0, "event": 0, "phase": phase, "op": op,
        "place": {"file": "net.py", "line": 7, "function": "Net.forward"},
        "inputs": [arg("self", largest[0])], "outputs": [arg("out", largest[1])],
    });
    serde_json::from_value(entry).unwrap()
}

#[test]
fn gradients_that_underflow() {
    let (trip, mut ledger) = tripped(silent);
    shown("silent_zero", (trip.clone(), ledger.clone()), Verdict::Unhealthy, "underflow");
    ledger.entries = vec![entry("aten.mul.Tensor", Phase::Backward, "float16", [3e-5, 0.0])];
    ledger.method = "tape".into();
    let found = told(&trip, &ledger, Lang::En);
    assert_eq!((&found.causes[0].id[..], found.causes[0].confidence), ("underflow", Confidence::Likely));
    assert!(found.replay.is_some());
}

#[test]
fn a_dead_layer_is_told_from_underflow() {
    let (trip, mut ledger) = tripped(silent);
    ledger.entries = vec![entry("aten.relu.default", Phase::Forward, "float32", [2.0, 0.0])];
    let found = told(&trip, &ledger, Lang::En);
    assert_eq!(found.causes.iter().map(|cause| &cause.id[..]).collect::<Vec<_>>(), ["dead-units"]);
    assert_eq!(found.causes[0].evidence[1], "aten.relu (net.py:7) gives only zeros");
    assert_eq!(found.causes[0].distinguish, None, "there is nothing to tell it from");
}

/// A value that leaves float32 in `exp`, at the end of a run whose gradient norm grew a thousandfold each step.
fn overflow_after_growth(argument: f64) -> Report {
    let mut monitor = Monitor::new();
    for at in 0..5 {
        let grown = 1e3f64.powi(at as i32);
        monitor.observe(&Signals { loss: Some(grown), grad_norm: Some(grown), ..step(at) });
    }
    let mut exp = entry("aten.exp.default", Phase::Forward, "float32", [argument, 0.0]);
    exp.outputs[0].counts = Some(Counts { posinf: 1, ..Counts::default() });
    exp.inputs[0].value = Some(Num(argument));
    let ledger = Ledger {
        entries: vec![exp],
        faithful: true,
        method: "tape".into(),
        history: Some(monitor.history()),
        ..Ledger::default()
    };
    let trip = serde_json::json!({"step": 5, "rank": 0, "where": "loss", "kind": "inf", "entry": 0});
    told(&serde_json::from_value(trip).unwrap(), &ledger, Lang::En)
}

#[test]
fn growth_comes_before_the_operator_only_where_its_inputs_have_grown_too() {
    let ids = |report: &Report| report.causes.iter().map(|cause| cause.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&overflow_after_growth(1e9)), ["divergence", "exp-overflow"]);
    let report = overflow_after_growth(95.0);
    assert_eq!(ids(&report), ["exp-overflow", "divergence"]);
    assert!(report.causes.iter().any(|cause| cause.distinguish.is_some()));
}

/// A batch of 4 samples with 2 features at each step; the last has an outlier in sample 2, and an operator that met it leaves
/// float32 at this row.
fn outlier(batches: u64, row: u64) -> (Trip, Ledger) {
    let mut monitor = Monitor::new();
    for at in 0..batches {
        let mut numbers: [f32; 8] = std::array::from_fn(|i| (i as f32 + at as f32).sin());
        if at + 1 == batches {
            numbers[2 * 2 + 1] = 8.2e12;
        }
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let view = nanscope_numeric::View::of_bytes(&bytes, nanscope_numeric::Dtype::Float32);
        monitor.inputs(at, &[Input { slot: 0, view, shape: &[4, 2] }]);
        if at + 1 < batches {
            monitor.observe(&step(at));
        }
    }
    monitor.name_inputs(vec!["argument x of Net.forward".into()]);
    let mut exp = entry("aten.exp.default", Phase::Forward, "float32", [95.0, 0.0]);
    exp.outputs[0].counts = Some(Counts { posinf: 1, ..Counts::default() });
    exp.outputs[0].index = Some(vec![row, 0]);
    exp.inputs[0].value = Some(Num(95.0));
    let ledger = Ledger {
        entries: vec![exp],
        faithful: true,
        method: "tape".into(),
        history: Some(monitor.history()),
        ..Ledger::default()
    };
    let trip = serde_json::json!({"step": batches - 1, "rank": 0, "where": "loss", "kind": "inf", "entry": 0});
    (serde_json::from_value(trip).unwrap(), ledger)
}

#[test]
fn outlier_input() {
    // exp could have been written to bear the number: its own cause comes first.
    shown("outlier_input", outlier(30, 2), Verdict::Nonfinite, "exp-overflow");
    let (trip, ledger) = outlier(3, 2);
    let report = told(&trip, &ledger, Lang::En);
    assert_eq!((&report.causes[1].id[..], report.causes[1].confidence), ("outlier-input", Confidence::Proved));
}

#[test]
fn an_outlier_in_another_sample_comes_after_the_operator() {
    let (trip, ledger) = outlier(30, 3);
    let ids: Vec<_> = told(&trip, &ledger, Lang::En).causes.into_iter().map(|cause| cause.id).collect();
    assert_eq!(ids, ["exp-overflow", "outlier-input"]);
}

#[test]
fn a_jump_after_healthy_steps_is_no_growth() {
    let mut monitor = Monitor::new();
    for at in 0..9 {
        let norm = if at == 8 { 1e9 } else { 0.2 + (at % 3) as f64 };
        monitor.observe(&Signals { grad_norm: Some(norm), ..step(at) });
    }
    let ledger = Ledger { history: Some(monitor.history()), ..Ledger::default() };
    let trip = serde_json::json!({"step": 9, "rank": 0, "where": "loss", "kind": "nan"});
    assert_eq!(told(&serde_json::from_value(trip).unwrap(), &ledger, Lang::En).causes, []);
}

#[test]
fn what_was_healed_in_the_step_is_not_what_a_trend_trips_on() {
    let (trip, mut ledger) = tripped(|at| Signals { carried: at >= 1, ..step(at) });
    let mut log = entry("aten.log.default", Phase::Forward, "float32", [0.0, 0.0]);
    log.outputs[0].counts = Some(Counts { neginf: 1, ..Counts::default() });
    ledger.entries = vec![log];
    ledger.method = "tape".into();
    let report = told(&trip, &ledger, Lang::En);
    assert_eq!((report.born().cloned(), &report.causes[0].id[..], report.causes.len()), (None, "missing-zero-grad", 1));
}

#[test]
fn an_old_folder_still_shows_its_divergence() {
    let mut ledger = Ledger { entries: vec![], ..Ledger::default() };
    let steps: Vec<_> =
        (0..5).map(|at| serde_json::json!({"step": at, "loss": 1.0, "grad_norm": 1e4f64.powi(at)})).collect();
    ledger.facts.insert("history".into(), steps.into());
    ledger.facts.insert("optimizer.lr".into(), 12.into());
    let trip = serde_json::json!({"step": 5, "rank": 0, "where": "loss", "kind": "inf"});
    let found = told(&serde_json::from_value(trip).unwrap(), &ledger, Lang::En);
    assert_eq!(found.causes[0].id, "divergence");
    assert_eq!(
        found.causes[0].evidence[0],
        "the gradient norm grew from 1 to 1.00e16 over 4 steps, by a factor of 10000 per step"
    );
    assert_eq!(found.causes[0].evidence[2], "the learning rate is 12");
}
