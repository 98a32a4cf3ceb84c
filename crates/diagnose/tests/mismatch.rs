//! Recomputation that differs from forward, kernels that differ from their formula: what a person reads.
#![allow(missing_docs)]

use nanscope_diagnose::report;
use nanscope_lang::Lang;
use nanscope_report::{Options, markdown, terminal};
use nanscope_trace::schema::*;

fn place(line: u32, function: &str, code: &str, columns: (u32, u32)) -> Option<Place> {
    let place = Place { file: "train.py".into(), line, function: function.into(), ..Place::default() };
    Some(Place { code: Some(code.into()), columns: Some(columns), ..place })
}

fn side(shape: &[u64]) -> Side {
    Side { dtype: "float32".into(), shape: shape.to_vec(), device: "cpu".into(), autocast: None }
}

fn first(op: &str) -> Difference {
    Difference {
        op: op.into(),
        place: place(12, "Block.forward", "        return x + self.drop(self.ff(x))", (19, 41)),
        block: place(31, "Net.forward", "            h = checkpoint(block, h, preserve_rng_state=False)", (16, 62)),
        module: Some("blocks.1".into()),
        was: side(&[32, 16]),
        now: side(&[32, 16]),
        ..Difference::default()
    }
}

fn ledger(first: Difference, twice: Vec<Twice>, gradient_error: Option<f64>) -> Ledger {
    let differing = if twice.is_empty() { 5 } else { 0 };
    let gradient_error = gradient_error.map(Num);
    let parity = Some(Parity { blocks: 3, pairs: 27, differing, first: Some(first), twice, gradient_error });
    let facts = Ledger { events: 5, operators: 82, seconds: 0.12, ..Ledger::default() };
    Ledger { faithful: true, method: "tape".into(), parity, ..facts }
}

fn shown(name: &str, ledger: &Ledger, line: u32) {
    shown_of(name, ledger, line, Where::Recompute, "recompute-mismatch", Phase::Recompute);
}

fn shown_of(name: &str, ledger: &Ledger, line: u32, where_: Where, cause: &str, phase: Phase) {
    let trip = Trip {
        step: 0,
        rank: 0,
        where_,
        name: None,
        kind: "finite".into(),
        loss: None,
        entry: None,
        also: vec![],
        alarm: None,
        place: None,
        apart: None,
    };
    let english = report(&RunInfo::default(), &[], &trip, ledger, None, Lang::En);
    assert_eq!((english.verdict, &english.causes[0].id[..]), (Verdict::Mismatch, cause));
    let origin = english.origin.as_ref().unwrap();
    assert_eq!((origin.phase, origin.place.as_ref().unwrap().line), (phase, line));
    let options = Options { width: Some(100), ..Options::default() };
    insta::assert_snapshot!(name, terminal::render(&english, &options, Lang::En));
    insta::assert_snapshot!(format!("{name}_md"), markdown::render(&english, Lang::En));
    let korean = report(&RunInfo::default(), &[], &trip, ledger, None, Lang::Ko);
    insta::assert_snapshot!(format!("{name}_ko"), terminal::render(&korean, &options, Lang::Ko));
    // As the folder holds it, the ledger gives the same report.
    let kept: Ledger = serde_json::from_str(&serde_json::to_string(ledger).unwrap()).unwrap();
    assert_eq!(report(&RunInfo::default(), &[], &trip, &kept, None, Lang::En), english);
}

#[test]
fn random_state() {
    let dropout = first("aten.native_dropout.default");
    let numbers = Difference { of: 512, differ: 201, largest: Some(Num(3.5)), scale: Some(Num(4.25)), ..dropout };
    let drawn = Difference { random: true, first_index: Some(vec![0, 6]), ..numbers };
    shown("random_state", &ledger(drawn, vec![], Some(0.312)), 31);
}

#[test]
fn statistics_moved_twice() {
    let twice = |name: &str, by: f64| Twice { name: name.into(), largest: Some(Num(by)) };
    let twice = vec![twice("bn.running_mean", 0.0125), twice("bn.running_var", 0.5)];
    shown("statistics_moved_twice", &ledger(first("aten.native_batch_norm.default"), twice, Some(0.0)), 31);
}

#[test]
fn a_cache_that_grows() {
    let cat = Difference { now: side(&[64, 16]), ..first("aten.cat.default") };
    shown("a_cache_that_grows", &ledger(cat, vec![], None), 12);
}

#[test]
fn a_kernel_that_differs_from_its_formula() {
    let gap = |name: &str, entry: usize, differ: u64| Gap {
        name: name.into(),
        entry: Some(entry),
        dtype: "bfloat16".into(),
        of: 4096,
        differ,
        ratio: Num(if differ > 0 { 340.0 } else { 0.4 }),
        error: Num(0.125),
        allowed: Num(3.7e-4),
        value: Num(0.25),
        reference: Num(0.125),
        index: Some(vec![0, 1, 5, 3]),
        expected: false,
    };
    let backend = |name: &str, right: bool, time: f64, memory: f64| Backend {
        name: name.into(),
        right,
        error: Num(if right { 1e-4 } else { 0.125 }),
        allowed: Num(3.7e-4),
        time_ratio: Some(time),
        memory_ratio: Some(memory),
    };
    let call = Attention {
        entry: 4,
        members: vec![4, 9],
        kind: "fused".into(),
        op: "aten._scaled_dot_product_efficient_attention.default".into(),
        backend: Some("efficient-attention".into()),
        place: place(12, "Block.forward", "        y = scaled_dot_product_attention(q, k, v)", (12, 49)),
        module: Some("blocks.1.attn".into()),
        shape: vec![2, 4, 64, 64],
        width: 16,
        dtype: "bfloat16".into(),
        scale: Some(0.25),
        gaps: vec![gap("out", 4, 0), gap("grad_query", 9, 0), gap("grad_key", 9, 96)],
        backends: vec![backend("math", true, 2.1, 1.8), backend("efficient-attention", false, 1.0, 1.0)],
        ..Attention::default()
    };
    let right = Attention { gaps: vec![gap("out", 2, 0)], ..call.clone() };
    let facts = Ledger { events: 5, operators: 82, seconds: 0.12, ..Ledger::default() };
    let ledger = Ledger { faithful: true, method: "tape".into(), attention: vec![right, call], ..facts };
    shown_of("a_kernel", &ledger, 12, Where::Kernel, "kernel-mismatch", Phase::Forward);
}
