//! One report of many ranks, from hand-made ledgers.
#![allow(missing_docs)]

use nanscope_diagnose::{Part, merged};
use nanscope_lang::Lang;
use nanscope_trace::schema::{Ledger, Outcomes, Report, Role, RunInfo, Skip, StepRecord, Trip, Verdict};
use serde_json::{Value, json};

/// A rank as it is read back.
struct Rank {
    info: RunInfo,
    steps: Vec<StepRecord>,
    trip: Option<Trip>,
    ledger: Option<Ledger>,
    skips: Vec<Skip>,
    outcomes: Option<Outcomes>,
}

impl Rank {
    fn quiet(rank: u32, losses: &[f64]) -> Rank {
        let step =
            |(step, loss): (usize, &f64)| StepRecord { step: step as u64, loss: Some(*loss), ..StepRecord::default() };
        Rank {
            info: RunInfo { rank, world_size: 2, ..RunInfo::default() },
            steps: losses.iter().enumerate().map(step).collect(),
            trip: None,
            ledger: None,
            skips: vec![],
            outcomes: None,
        }
    }

    fn tripped(rank: u32, step: u64, entries: Vec<Value>, more: Value) -> Rank {
        let numbered = entries.into_iter().enumerate().map(|(index, mut entry)| {
            entry["index"] = index.into();
            entry
        });
        let mut ledger = json!({
            "entries": numbered.collect::<Vec<_>>(), "events": 1, "operators": 1, "faithful": true, "method": "tape", "seconds": 0.0,
        });
        ledger["history"] = more;
        let trip = json!({"step": step, "rank": rank, "where": "gradient", "kind": "nan"});
        Rank {
            trip: serde_json::from_value(trip).unwrap(),
            ledger: serde_json::from_value(ledger).unwrap(),
            ..Rank::quiet(rank, &[])
        }
    }

    fn part(&self) -> Part<'_> {
        Part {
            group: 0,
            info: &self.info,
            steps: &self.steps,
            trip: self.trip.as_ref(),
            ledger: self.ledger.as_ref(),
            outcomes: self.outcomes.as_ref(),
            skips: &self.skips,
            end: None,
        }
    }
}

fn report(ranks: &[Rank]) -> Option<Report> {
    merged(&ranks.iter().map(Rank::part).collect::<Vec<_>>(), Lang::En)
}

fn roles(report: &Report) -> Vec<(u32, Role)> {
    report.ranks.iter().map(|rank| (rank.rank, rank.role)).collect()
}

fn arg(name: &str, nan: u64, more: Value) -> Value {
    let mut arg = json!({"name": name, "dtype": "float32", "shape": [4], "device": "cpu", "counts": {"nan": nan, "max_abs": 1.5}});
    for (key, value) in more.as_object().into_iter().flatten() {
        arg[key] = value.clone();
    }
    arg
}

fn entry(op: &str, phase: &str, input: Value, nan: u64) -> Value {
    json!({"event": 1, "phase": phase, "op": op, "inputs": [input], "outputs": [arg("out", nan, json!({}))]})
}

/// The `number`th all-reduce; `bad` are the ranks whose part was.
fn reduced(number: u64, input: Value, bad: &[u32]) -> Value {
    let parts: Vec<Value> =
        (0..2).map(|rank| json!({"rank": rank, "counts": {"nan": u64::from(bad.contains(&rank))}})).collect();
    let mut entry = entry("c10d.allreduce_.default", "comm", input, 4);
    entry["comm"] = json!({"kind": "allreduce", "reduction": "sum", "group": "0", "number": number, "world": 2, "rank": 0,
        "live": true, "parts": parts});
    entry
}

fn good(name: &str) -> Value {
    arg(name, 0, json!({}))
}

fn from(writer: usize) -> Value {
    arg("self", 4, json!({"from": writer}))
}

#[test]
fn a_bad_part_is_followed_to_the_rank_that_gave_it() {
    let victim = Rank::tripped(0, 2, vec![reduced(0, good("part"), &[1])], Value::Null);
    let log = entry("aten.log.default", "forward", good("self"), 4);
    let culprit = Rank::tripped(1, 2, vec![log, reduced(0, from(0), &[1])], Value::Null);
    let found = report(&[victim, culprit]).unwrap();
    let origin = found.origin.as_ref().unwrap();
    assert_eq!((origin.op.as_deref(), origin.rank), (Some("aten.log.default"), 1));
    assert_eq!((found.trip.as_ref().unwrap().rank, roles(&found)), (1, vec![(1, Role::Origin), (0, Role::Victim)]));
}

/// Rank 1's own gradient is good where its bad mean does not reach its loss: what it trips on came back from rank 0.
#[test]
fn a_value_that_went_round_is_followed_to_where_it_set_out() {
    let mean = || entry("aten.mean.default", "forward", good("self"), 4);
    let there = vec![
        reduced(0, good("part"), &[1]),
        entry("aten.mul.Tensor", "backward", from(0), 4),
        reduced(1, from(1), &[0]),
    ];
    let back = vec![mean(), reduced(0, from(0), &[1]), reduced(1, good("part"), &[0])];
    let found = report(&[Rank::tripped(0, 2, there, Value::Null), Rank::tripped(1, 2, back, Value::Null)]).unwrap();
    let origin = found.origin.unwrap();
    assert_eq!((origin.op.as_deref(), origin.rank), (Some("aten.mean.default"), 1));
}

#[test]
fn the_earliest_step_comes_before_any_phase() {
    let late = Rank::tripped(0, 5, vec![entry("aten.log.default", "forward", good("self"), 4)], Value::Null);
    let early = Rank::tripped(1, 4, vec![entry("aten.mul.Tensor", "optimizer", good("self"), 4)], Value::Null);
    let found = report(&[late, early]).unwrap();
    assert_eq!((found.trip.as_ref().unwrap().step, roles(&found)[0]), (4, (1, Role::Origin)));
}

#[test]
fn an_update_that_one_rank_leaves_out_is_a_disagreement() {
    let scaled = |rank, skipped: &[bool]| {
        let mut found = Rank::quiet(rank, &[1.0, 1.0, 1.0]);
        for (record, &skipped) in found.steps.iter_mut().zip(skipped) {
            (record.skipped, record.scale) = (skipped, Some(4.0));
            if skipped {
                found.skips.push(Skip { step: record.step, place: None });
            }
        }
        found
    };
    assert_eq!(report(&[scaled(0, &[true, false, false]), scaled(1, &[true, false, false])]), None);
    let ranks = || [scaled(0, &[true, false, false]), scaled(1, &[true, true, false])];
    let found = report(&ranks()).unwrap();
    assert_eq!((found.verdict, found.trip.as_ref().unwrap().step), (Verdict::Mismatch, 1));
    assert_eq!((found.causes[0].id.as_str(), roles(&found)[0]), ("rank-divergence", (1, Role::Origin)));
    // What was tried afterwards is in the log of the rank that is to blame.
    let fix =
        json!({"id": "one-decision", "summary": {"en": "a", "ko": "b"}, "safety": "safe", "causes": [], "parts": 1});
    let mut ranks = ranks();
    ranks[1].outcomes = serde_json::from_value(json!({"step": 1, "fixes": [fix]})).unwrap();
    assert_eq!(report(&ranks).unwrap().fixes[0].id, "one-decision");
}

#[test]
fn ranks_of_different_jobs_are_not_compared() {
    let mut alone = Rank::quiet(0, &[1.0]);
    alone.info.world_size = 1;
    alone.steps[0].skipped = true;
    alone.skips.push(Skip { step: 0, place: None });
    let mut other = Rank::quiet(1, &[1.0]);
    other.info.world_size = 1;
    assert_eq!(report(&[alone, other]), None);
}

#[test]
fn a_batch_is_to_blame_where_the_others_had_the_loss_of_every_day() {
    let odd = json!({"step": 2, "value": 65000.0, "low": 0.0, "high": 1.0});
    let inputs = json!([{"slot": 0, "name": "argument x of Net.forward", "dtype": "float32", "shape": [4], "batches": 5, "odd": [odd], "recent": []}]);
    let history = || json!({"steps": [], "inputs": inputs});
    let blown = || vec![entry("aten.addmm.default", "forward", good("self"), 4)];
    let with_losses = |rank, losses: &[f64], history: Value| Rank {
        steps: Rank::quiet(rank, losses).steps,
        ..Rank::tripped(rank, 5, blown(), history)
    };
    let ranks = [
        with_losses(0, &[1.4, 1.4, 1.5, 1e4, 1e9], json!({"steps": []})),
        with_losses(1, &[1.5, 1.4, 500.0, 1e4, 1e9], history()),
    ];
    let found = report(&ranks).unwrap();
    let trip = found.trip.as_ref().unwrap();
    assert_eq!((trip.rank, trip.step, trip.seen), (1, 2, Some(5)));
    assert_eq!(found.causes[0].id, "outlier-input");
    let same = [
        with_losses(0, &[1.4, 1.4, 480.0, 1e4], json!({"steps": []})),
        with_losses(1, &[1.5, 1.4, 500.0, 1e4], history()),
    ];
    assert_eq!(report(&same).unwrap().trip.unwrap().seen, None);
}
