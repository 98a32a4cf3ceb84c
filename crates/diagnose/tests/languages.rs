//! A diagnosis is the same in every language: one hand-made ledger per rule, the shortest that lets it speak.

use nanscope_diagnose::{report, rules};
use nanscope_lang::Lang;
use nanscope_trace::schema::{Ledger, Report, RunInfo, Trip};
use serde_json::{Value, json};

const GOOD: [u64; 3] = [0, 0, 0];
const NAN: [u64; 3] = [1, 0, 0];
const INF: [u64; 3] = [0, 1, 0];
const NEGINF: [u64; 3] = [0, 0, 1];

/// `value` with the keys of `more` as well.
fn with(mut value: Value, more: Value) -> Value {
    for (key, more) in more.as_object().into_iter().flatten() {
        value[key] = more.clone();
    }
    value
}

/// A tensor of four numbers: counts of nan, +inf, -inf.
fn tensor(name: &str, [nan, posinf, neginf]: [u64; 3], more: Value) -> Value {
    let counts = json!({"nan": nan, "posinf": posinf, "neginf": neginf, "max_abs": 1.5});
    let plain = json!({"name": name, "dtype": "float32", "shape": [4], "device": "cpu", "counts": counts});
    with(plain, more)
}

/// A result, bad at index 2.
fn out(bad: [u64; 3]) -> Value {
    tensor("out", bad, json!({"index": [2]}))
}

/// An operator's element that met the bad one.
fn at(value: Value) -> Value {
    json!({"index": [2], "value": value})
}

fn entry(op: &str, inputs: Vec<Value>, output: Value, more: Value) -> Value {
    let place = json!({"file": "train.py", "line": 7, "function": "loss"});
    let plain = json!({
        "event": 1, "phase": "forward", "op": format!("aten.{op}.default"),
        "inputs": inputs, "outputs": [output], "place": place,
    });
    with(plain, more)
}

fn backward(node: &str, forward: Value) -> Value {
    json!({"phase": "backward", "node": node, "forward": forward})
}

/// The report of a run that tripped at the last of these entries; on `facts["alarm"]`, where there is one. `facts["history"]`
/// is that of a ledger if it is an object.
fn diagnosed(entries: &[Value], facts: &Value, lang: Lang) -> Report {
    let mut facts = facts.clone();
    let (alarm, history) = (facts["alarm"].take(), facts.get("history").filter(|history| history.is_object()).cloned());
    let (parity, apart, attention) = (facts["parity"].take(), facts["apart"].take(), facts["attention"].take());
    let attention = if attention.is_array() { attention } else { json!([]) };
    let numbered = entries.iter().enumerate().map(|(index, entry)| with(entry.clone(), json!({"index": index})));
    let ledger = json!({
        "entries": numbered.collect::<Vec<_>>(), "events": 1, "operators": entries.len(), "faithful": true,
        "method": "tape", "seconds": 0.0, "facts": facts, "history": history, "parity": parity, "attention": attention,
    });
    let mut trip = json!({"step": 0, "rank": 0, "where": "gradient", "kind": "nan", "loss": 0.5});
    match alarm {
        Value::Null if parity.is_object() => trip["where"] = "recompute".into(),
        Value::Null if apart.is_object() => (trip["where"], trip["apart"]) = ("rank".into(), apart),
        Value::Null if entries.is_empty() => trip["where"] = "kernel".into(),
        Value::Null => trip["entry"] = (entries.len() - 1).into(),
        alarm => trip["alarm"] = alarm,
    }
    let ledger: Ledger = serde_json::from_value(ledger).unwrap();
    let trip: Trip = serde_json::from_value(trip).unwrap();
    report(&RunInfo::default(), &[], &trip, &ledger, None, lang)
}

/// The facts of a step whose recomputation differs: `more` is what is known of the first operator.
fn mismatch(more: Value, twice: Value) -> Value {
    let first = json!({
        "op": "aten.mul.Tensor", "was": {"dtype": "float32", "shape": [4]}, "now": {"dtype": "float32", "shape": [4]},
        "of": 4, "differ": 3, "largest": 0.25, "scale": 1.5, "first_index": [1],
        "place": {"file": "train.py", "line": 7, "function": "loss"},
    });
    json!({"parity": {"blocks": 2, "pairs": 20, "differing": 5, "first": with(first, more), "twice": twice,
        "gradient_error": 0.125}})
}

/// The facts of a step with one call of attention, to which entry 0 belongs.
fn attention(more: Value) -> Value {
    let call = json!({
        "entry": 0, "members": [0], "kind": "fused", "op": "aten._scaled_dot_product_flash_attention.default",
        "dtype": "float16", "shape": [2, 2, 8, 8], "width": 64, "scale": 1.0,
        "place": {"file": "train.py", "line": 7, "function": "loss"}, "module": "blocks.2.attn",
        "mask": {"kind": "added", "dtype": "float16", "constant": "-inf"},
        "heads": [{"head": 0, "largest": 12.5, "masked": 0, "keyless": 0, "entropy": 1.0, "even": 2.0},
            {"head": 1, "largest": 71204, "masked": 0.5, "keyless": 3, "entropy": 0, "even": 2.0}],
        "past": [[10, 812], [20, 9000.5]],
    });
    json!({"attention": [with(call, more)]})
}

/// One result of a kernel that is farther off than its format allows.
fn gap(name: &str, more: Value) -> Value {
    let gap = json!({"name": name, "entry": 0, "dtype": "float16", "of": 64, "differ": 8, "ratio": 500, "error": 0.25,
        "allowed": 0.0005, "value": 1.25, "reference": 1.0, "index": [0, 1, 2, 3]});
    with(gap, more)
}

/// Rule, entries, facts.
fn cases() -> Vec<(&'static str, Vec<Value>, Value)> {
    let none = || json!({});
    let half = |value: Value| with(value, json!({"dtype": "float16"}));
    let source = |source: Value| json!({"source": source, "index": [1]});
    let x = || tensor("self", GOOD, none());
    let from = |writer: usize, bad: [u64; 3]| tensor("self", bad, json!({"from": writer}));
    let of = |name: &str, value: Value| tensor(name, GOOD, at(value));
    let place = json!({"file": "model.py", "line": 3, "function": "build"});
    let history: Vec<Value> = (0..6).map(|step| json!({"step": step, "grad_norm": 10f64.powi(2 * step)})).collect();
    let masked = || entry("masked_fill", vec![x()], out(NEGINF), json!({"scalars": {"value": "-inf"}}));
    let parts = json!([{"rank": 0, "counts": {"max_abs": 40000}}, {"rank": 1, "counts": {"max_abs": 41000}}]);
    let comm = json!({"kind": "allreduce", "reduction": "sum", "world": 2, "rank": 0, "live": true, "parts": parts});
    let sum = json!({"dtype": "float64", "finite": true, "largest": 81000.0});
    let apart = |kind: &str, more: Value| json!({"apart": with(json!({"kind": kind, "op": "c10d.allreduce_.default", "names": ["a", "b"], "count": 2, "of": 5}), more)});
    let single = json!({"name": "a.weight", "dtype": "float32", "index": [3, 1], "of": 400, "bits": 1 << 30, "was": "nan", "right": 1.5});
    let with_ranks =
        |more: Value| json!({"ranks": [with(json!({"rank": 0}), more.clone()), with(json!({"rank": 1}), more)]});
    vec![
        (
            "collective-overflow",
            vec![entry(
                "mul",
                vec![half(x())],
                half(out(INF)),
                json!({"phase": "comm", "comm": comm, "reference": sum}),
            )],
            none(),
        ),
        (
            "memory-corruption",
            vec![entry("allreduce_", vec![x()], out(INF), json!({"phase": "comm", "comm": comm, "reference": sum}))],
            none(),
        ),
        ("memory-corruption", vec![], apart("parameters", json!({"count": 1, "equal": 3, "odd": 1, "single": single}))),
        ("rank-divergence", vec![], apart("gradients", with_ranks(json!({"bypassed": true})))),
        ("rank-divergence", vec![], apart("gradients", with_ranks(json!({"unsynced": true})))),
        ("rank-divergence", vec![], apart("gradients", with_ranks(json!({"factor": 0.5})))),
        ("rank-divergence", vec![], apart("gradients", with_ranks(json!({"norm": 0.5})))),
        ("rank-divergence", vec![], apart("buffers", json!({"equal": 3}))),
        (
            "rank-divergence",
            vec![],
            apart("parameters", json!({"equal": 3, "ranks": [{"rank": 0, "lr": 0.1}, {"rank": 1, "lr": 0.2}]})),
        ),
        (
            "rank-divergence",
            vec![],
            apart(
                "parameters",
                json!({"equal": 3, "ranks": [{"rank": 0, "settings": "a"}, {"rank": 1, "settings": "b"}]}),
            ),
        ),
        (
            "rank-divergence",
            vec![],
            apart("parameters", json!({"equal": 3, "ranks": [{"rank": 0, "writes": 3}, {"rank": 1, "writes": 4}]})),
        ),
        (
            "rank-divergence",
            vec![],
            apart("parameters", json!({"equal": 3, "reason": "left-out", "ranks": [{"rank": 0, "skipped": true}]})),
        ),
        ("rank-divergence", vec![], apart("parameters", json!({"equal": 3}))),
        (
            "rank-divergence",
            vec![],
            apart("ended", json!({"ranks": [{"rank": 0, "steps": 3, "skipped": true}, {"rank": 1, "steps": 4}]})),
        ),
        ("rank-divergence", vec![], apart("unfinished", none())),
        ("rank-divergence", vec![], apart("parameters", none())),
        (
            "rank-divergence",
            vec![],
            apart(
                "skipped",
                json!({"ranks": [
                {"rank": 0, "skipped": true, "scale": 8192}, {"rank": 1, "skipped": false, "scale": 16384}]}),
            ),
        ),
        (
            "dead-units",
            vec![],
            json!({"alarm": {"kind": "dead-units", "step": 0, "seen": 100, "names": ["a.weight", "a.bias"],
                "facts": {"steps": 100, "dead": 3, "of": 8, "learned": 1}}}),
        ),
        (
            "loss-scale-collapse",
            vec![],
            json!({"alarm": {"kind": "loss-scale-collapse", "step": 0, "seen": 40,
                "facts": {"skipped": 25, "of": 32, "scale_from": 64, "scale_to": 0.25}}}),
        ),
        (
            "missing-zero-grad",
            vec![],
            json!({"alarm": {"kind": "pile-up", "step": 0, "seen": 2,
                "facts": {"steps": 3, "norm_from": 0.5, "norm_to": 1.5}}}),
        ),
        (
            "outlier-input",
            vec![entry("exp", vec![of("self", json!(90.0))], out(INF), none())],
            json!({"history": {"inputs": [{"slot": 1, "dtype": "float32", "shape": [4], "batches": 20, "median": 2.0, "mad": 0.1,
                "recent": [{"step": 0, "min": -1.0, "max": 9000.0}],
                "odd": [{"step": 0, "sample": 2, "feature": 3, "value": 9000.0, "low": -1.5, "high": 2.5}]}]}}),
        ),
        ("recompute-mismatch", vec![], mismatch(json!({"random": true}), json!([]))),
        ("recompute-mismatch", vec![], mismatch(json!({"now": {"dtype": "float32", "shape": [8]}}), json!([]))),
        ("recompute-mismatch", vec![], mismatch(json!({"now": {"dtype": "float64", "shape": [4]}}), json!([]))),
        ("recompute-mismatch", vec![], mismatch(json!({"extra": true}), json!([]))),
        (
            "recompute-mismatch",
            vec![],
            mismatch(json!({"was": {"dtype": "float32", "shape": [4], "autocast": "bfloat16"}}), json!([])),
        ),
        ("recompute-mismatch", vec![], mismatch(json!({"altered": [{"name": "self", "unwritten": true}]}), json!([]))),
        (
            "recompute-mismatch",
            vec![],
            mismatch(
                json!({"altered": [{"name": "self", "tensor": "u", "writer": "aten.add_.Tensor", "own": true}]}),
                json!([]),
            ),
        ),
        (
            "recompute-mismatch",
            vec![],
            mismatch(json!({"altered": [{"name": "self", "writer": "aten.add_.Tensor", "place": place}]}), json!([])),
        ),
        ("recompute-mismatch", vec![], mismatch(json!({"altered": [{"name": "self"}]}), json!([]))),
        ("recompute-mismatch", vec![], mismatch(json!({"arguments": [["approximate", "none", "tanh"]]}), json!([]))),
        ("recompute-mismatch", vec![], mismatch(none(), json!([]))),
        (
            "recompute-mismatch",
            vec![],
            mismatch(none(), json!([{"name": "bn.running_mean", "largest": 0.5}, {"name": "bn.running_var"}])),
        ),
        (
            "underflow",
            vec![],
            json!({"alarm": {"kind": "silent-zero", "step": 0, "seen": 19,
                "facts": {"steps": 20, "loss": 0.7, "scale": 1, "last_norm": 0.001, "last_norm_step": 4}}}),
        ),
        (
            "zero-learning-rate",
            vec![],
            json!({"alarm": {"kind": "zero-rate", "step": 0, "seen": 49, "facts": {"steps": 50, "lr_before": 0.1}}}),
        ),
        (
            "bad-input",
            vec![entry(
                "mm",
                vec![tensor(
                    "self",
                    NAN,
                    source(json!({"kind": "data", "name": "argument x of Net.forward", "event": 0})),
                )],
                out(NAN),
                none(),
            )],
            none(),
        ),
        ("bad-input", vec![entry("fill", vec![x()], out(NAN), json!({"scalars": {"value": "nan"}}))], none()),
        (
            "buffer-reused",
            vec![
                entry("fill_", vec![x()], out(NAN), backward("UnpackBackward0", Value::Null)),
                entry("mm", vec![from(0, NAN)], out(NAN), backward("MmBackward0", Value::Null)),
            ],
            none(),
        ),
        (
            "cancellation",
            vec![
                entry("sub", vec![x(), x()], out(GOOD), none()),
                entry("sqrt", vec![with(of("self", json!(-1e-7)), json!({"from": 0}))], out(NAN), none()),
            ],
            none(),
        ),
        (
            "cancellation",
            vec![
                entry(
                    "sub",
                    vec![x(), x()],
                    out(GOOD),
                    json!({"drift": {"relative": 1.0, "largest": 2.0, "index": [2], "value": -0.03125, "reference": 1e-6,
                        "operands": [{"name": "self", "value": 490000.0, "reference": 490_000.015_001},
                            {"name": "other", "value": 490_000.031_25, "reference": 490_000.015}]}}),
                ),
                entry(
                    "sqrt",
                    vec![with(of("self", json!(-0.03125)), json!({"from": 0, "reference": 1e-6}))],
                    out(NAN),
                    none(),
                ),
            ],
            none(),
        ),
        (
            "degenerate-decomposition",
            vec![
                entry("_linalg_svd", vec![x()], out(GOOD), none()),
                entry("div", vec![x(), of("other", json!(0.0))], out(INF), backward("LinalgSvdBackward0", json!(0))),
            ],
            none(),
        ),
        (
            "divergence",
            vec![entry("mm", vec![x()], out(INF), none())],
            json!({"history": history, "optimizer.lr": 12.0}),
        ),
        (
            "division-by-zero",
            vec![entry(
                "div",
                vec![of("self", json!(3.0)), with(of("other", json!(0.0)), json!({"census": {"n": 64, "zero": 5}}))],
                out(INF),
                none(),
            )],
            none(),
        ),
        (
            "empty-reduction",
            vec![entry("mean", vec![tensor("self", GOOD, json!({"shape": [0, 7]}))], out(NAN), none())],
            none(),
        ),
        (
            "empty-reduction",
            vec![entry(
                "nll_loss_forward",
                vec![x(), tensor("target", GOOD, none())],
                out(NAN),
                json!({
                    "outputs": [out(NAN), tensor("out1", GOOD, json!({"counts": {"max_abs": 0.0}}))],
                    "scalars": {"ignore_index": -100.0},
                }),
            )],
            none(),
        ),
        (
            "epsilon-lost",
            vec![
                entry("add", vec![half(x())], half(out(GOOD)), json!({"scalars": {"other": 1e-8}})),
                entry(
                    "log",
                    vec![half(with(of("self", json!(0.0)), json!({"from": 0, "reference": 1e-8})))],
                    half(out(NEGINF)),
                    none(),
                ),
                entry("mm", vec![half(from(1, NEGINF))], half(out(NAN)), none()),
            ],
            none(),
        ),
        ("exp-overflow", vec![entry("exp", vec![of("self", json!(100.25))], out(INF), none())], none()),
        (
            "exp-overflow",
            vec![entry("exp", vec![of("self", json!(100.25))], with(out(INF), json!({"reference": 3.45e43})), none())],
            none(),
        ),
        (
            "exp-overflow",
            vec![entry("exp", vec![of("self", json!(800.5))], with(out(INF), json!({"reference": "inf"})), none())],
            none(),
        ),
        (
            "log-of-zero",
            vec![
                entry(
                    "log",
                    vec![with(of("self", json!(0.0)), json!({"reference": 2.06e-9}))],
                    with(out(NEGINF), json!({"reference": -20.0})),
                    none(),
                ),
                entry("mm", vec![from(0, NEGINF)], out(NAN), none()),
            ],
            none(),
        ),
        (
            "log-of-zero",
            vec![
                entry("log", vec![with(of("self", json!(0.0)), json!({"reference": 0.0}))], out(NEGINF), none()),
                entry("mm", vec![from(0, NEGINF)], out(NAN), none()),
            ],
            none(),
        ),
        (
            "singular-matrix",
            vec![entry(
                "linalg_inv_ex",
                vec![tensor("A", GOOD, json!({"shape": [3, 3]}))],
                out(INF),
                json!({"reference": {"dtype": "float64", "finite": true, "condition": 3.1e9}}),
            )],
            none(),
        ),
        (
            "underflow",
            vec![
                entry(
                    "exp",
                    vec![x()],
                    out(GOOD),
                    json!({"drift": {"relative": 0.0, "largest": 1.0, "lost_zeros": 4, "index": [0], "value": 0.0,
                        "reference": 2e-66}}),
                ),
                entry("mul", vec![from(0, GOOD)], out(GOOD), none()),
                entry(
                    "reciprocal",
                    vec![with(of("self", json!(0.0)), json!({"from": 1, "reference": 4e-66}))],
                    out(INF),
                    none(),
                ),
            ],
            none(),
        ),
        (
            "fully-masked-row",
            vec![
                masked(),
                entry("_softmax", vec![from(0, NEGINF)], tensor("out", [4, 0, 0], json!({"index": [0, 2]})), none()),
            ],
            none(),
        ),
        (
            "fully-masked-row",
            vec![entry("_safe_softmax", vec![tensor("self", NEGINF, none())], out(NAN), none())],
            attention(none()),
        ),
        (
            "fully-masked-row",
            vec![
                masked(),
                entry("logsumexp", vec![from(0, NEGINF)], out(NEGINF), none()),
                entry("exp", vec![x()], out(NAN), backward("LogsumexpBackward0", json!(1))),
            ],
            none(),
        ),
        (
            "gradient-edit",
            vec![entry(
                "div",
                vec![of("self", json!(2.0)), of("other", json!(0.0))],
                out(INF),
                json!({"phase": "clip"}),
            )],
            none(),
        ),
        (
            "half-overflow",
            vec![entry(
                "mm",
                vec![half(x())],
                half(out(INF)),
                json!({"reference": {"dtype": "float64", "finite": true, "largest": 170_000.0}}),
            )],
            none(),
        ),
        (
            "half-overflow",
            vec![entry(
                "bmm",
                vec![half(x())],
                half(out(INF)),
                json!({"reference": {"dtype": "float64", "finite": true, "largest": 71_204.0}}),
            )],
            attention(none()),
        ),
        (
            "kernel-mismatch",
            vec![],
            attention(json!({"gaps": [gap("out", none()), gap("logsumexp", json!({"differ": 0}))],
                "backends": [{"name": "math", "right": true, "error": 1e-4, "allowed": 1e-3, "time_ratio": 2.1, "memory_ratio": 1.5},
                    {"name": "efficient-attention", "right": false, "error": 0.25, "allowed": 1e-3},
                    {"name": "cudnn-attention", "right": true, "error": 0, "allowed": 1e-3, "time_ratio": 1.02}]})),
        ),
        (
            "kernel-mismatch",
            vec![entry("mul", vec![x()], out(NAN), none())],
            attention(json!({"gaps": [gap("out", json!({"expected": true, "index": null}))]})),
        ),
        ("infeasible-target", vec![entry("_ctc_loss", vec![x()], out(INF), none())], none()),
        (
            "infinite-derivative",
            vec![
                entry("sqrt", vec![x()], out(GOOD), none()),
                entry(
                    "div",
                    vec![with(of("saved result", json!(0.0)), json!({"census": {"n": 64, "zero": 5}}))],
                    out(INF),
                    backward("SqrtBackward0", json!(0)),
                ),
            ],
            none(),
        ),
        (
            "log-of-zero",
            vec![
                entry(
                    "log",
                    vec![with(of("self", json!(0.0)), json!({"census": {"n": 64, "zero": 5}}))],
                    out(NEGINF),
                    none(),
                ),
                entry("mm", vec![from(0, NEGINF)], out(NAN), none()),
            ],
            none(),
        ),
        (
            "loss-scale-overflow",
            vec![
                entry(
                    "mul",
                    vec![x()],
                    tensor("out", GOOD, json!({"shape": []})),
                    json!({"scalars": {"other": 65536.0}}),
                ),
                entry(
                    "mm",
                    vec![half(x())],
                    half(out(INF)),
                    with(
                        backward("MmBackward0", Value::Null),
                        json!({"reference": {"dtype": "float64", "finite": true, "largest": 170_000.0}}),
                    ),
                ),
            ],
            none(),
        ),
        (
            "mask-constant-overflow",
            vec![
                entry(
                    "add",
                    vec![half(of("self", json!(-40.0))), half(of("other", json!(-65504.0)))],
                    half(out(NEGINF)),
                    none(),
                ),
                entry("_softmax", vec![half(from(0, NEGINF))], half(out(NAN)), none()),
            ],
            none(),
        ),
        (
            "masked-class-in-loss",
            vec![
                masked(),
                entry("_log_softmax", vec![from(0, NEGINF)], out(NEGINF), none()),
                entry("sum", vec![from(1, NEGINF)], out(NEGINF), none()),
            ],
            none(),
        ),
        (
            "negative-argument",
            vec![entry(
                "sqrt",
                vec![with(of("self", json!(-2.5)), json!({"census": {"n": 64, "min": -2.5, "max": 9.0}}))],
                out(NAN),
                none(),
            )],
            none(),
        ),
        (
            "optimizer-epsilon",
            vec![entry(
                "addcdiv_",
                vec![half(of("tensor2", json!(0.0)))],
                half(out(INF)),
                json!({"phase": "optimizer"}),
            )],
            json!({"optimizer.eps": 1e-8}),
        ),
        (
            "poisoned-state",
            vec![entry(
                "mul",
                vec![tensor("self", NAN, source(json!({"kind": "buffer", "name": "bn.running_mean"})))],
                out(NAN),
                none(),
            )],
            none(),
        ),
        (
            "poisoned-state",
            vec![entry(
                "mul_",
                vec![tensor("self", NAN, source(json!({"kind": "state", "name": "exp_avg of fc.weight"})))],
                out(NAN),
                json!({"phase": "optimizer"}),
            )],
            none(),
        ),
        (
            "single-element-spread",
            vec![entry(
                "std",
                vec![tensor("self", GOOD, json!({"shape": [1]}))],
                tensor("out", NAN, json!({"shape": []})),
                json!({"scalars": {"correction": 1.0}}),
            )],
            none(),
        ),
        (
            "singular-matrix",
            vec![entry(
                "linalg_inv_ex",
                vec![tensor("A", GOOD, json!({"shape": [3, 3]}))],
                out(INF),
                json!({"reference": {"dtype": "float64", "finite": false}}),
            )],
            none(),
        ),
        (
            "underflow",
            vec![
                entry("exp", vec![tensor("self", GOOD, json!({"counts": {"max_abs": 140.0}}))], out(GOOD), none()),
                entry("log", vec![with(of("self", json!(0.0)), json!({"from": 0}))], out(NEGINF), none()),
                entry("mm", vec![from(1, NEGINF)], out(NAN), none()),
            ],
            none(),
        ),
        (
            "uninitialised-memory",
            vec![entry(
                "mul",
                vec![tensor(
                    "self",
                    NAN,
                    source(json!({"kind": "param", "name": "scale", "unwritten": true, "place": place})),
                )],
                out(NAN),
                none(),
            )],
            none(),
        ),
        (
            "uninitialised-memory",
            vec![entry(
                "mul",
                vec![tensor("self", NAN, source(json!({"kind": "unwritten", "place": place})))],
                out(NAN),
                none(),
            )],
            none(),
        ),
        (
            "uninitialised-memory",
            vec![entry(
                "mul",
                vec![tensor("self", [4, 0, 0], source(json!({"kind": "param", "name": "scale"})))],
                out(NAN),
                none(),
            )],
            json!({"deterministic_fill": true}),
        ),
        (
            "where-gradient-trap",
            vec![
                entry("log", vec![x()], out(NEGINF), none()),
                entry("where", vec![from(0, NEGINF)], out(GOOD), none()),
                entry("div", vec![of("saved self", json!(0.0))], out(NAN), backward("LogBackward0", json!(0))),
            ],
            none(),
        ),
        (
            "zero-times-infinity",
            vec![entry("mul", vec![of("self", json!(0.0)), of("other", json!("-inf"))], out(NAN), none())],
            none(),
        ),
    ]
}

#[test]
fn every_rule_has_a_case() {
    let covered: Vec<&str> = cases().into_iter().map(|(id, ..)| id).collect();
    for rule in rules::all() {
        assert!(covered.contains(&rule.id()), "{}: no ledger here lets it speak", rule.id());
    }
}

#[test]
fn a_diagnosis_is_the_same_in_every_language() {
    for (id, entries, facts) in cases() {
        let [en, ko] = Lang::ALL.map(|lang| diagnosed(&entries, &facts, lang));
        assert!(en.causes.iter().any(|cause| cause.id == id), "{id}: {:?}", en.causes);
        assert_eq!(machine(&en), machine(&ko), "{id}");
        for (a, b) in en.causes.iter().zip(&ko.causes) {
            assert_eq!(a.evidence.len(), b.evidence.len(), "{id}: {a:?} {b:?}");
            for (a, b) in a.evidence.iter().zip(&b.evidence) {
                assert_eq!(numbers(a), numbers(b), "{id}: {a} | {b}");
            }
        }
        let read = ko.causes.iter().flat_map(|cause| [&cause.title].into_iter().chain(&cause.evidence));
        for text in read.chain(ko.chain.iter().map(|link| &link.text)).chain(ko.fixes.iter().map(|fix| &fix.summary)) {
            assert!(text.chars().any(hangul), "{id}: {text}");
        }
    }
}

/// What a machine reads of a report.
fn machine(report: &Report) -> Value {
    let mut value = serde_json::to_value(report).unwrap();
    for cause in value["causes"].as_array_mut().unwrap() {
        cause["title"] = Value::Null;
        cause["evidence"] = Value::Null;
        cause["distinguish"] = Value::Null;
    }
    for link in value["chain"].as_array_mut().into_iter().flatten() {
        link["text"] = Value::Null;
    }
    for fix in value["fixes"].as_array_mut().into_iter().flatten() {
        fix["summary"] = Value::Null;
    }
    value["origin"]["tensor"] = Value::Null;
    value
}

/// Every number in a sentence, sorted: word order differs from language to language.
fn numbers(text: &str) -> Vec<String> {
    let part = |c: char| !(c.is_ascii_digit() || c == '.');
    let mut found: Vec<String> = text.split(part).map(|word| word.trim_matches('.').to_owned()).collect();
    found.retain(|word| !word.is_empty());
    found.sort();
    found
}

fn hangul(c: char) -> bool {
    ('가'..='힣').contains(&c)
}
