//! A run folder of every version that was ever written still loads, with the same contents.
#![allow(missing_docs)]

use std::path::Path;

use nanscope_trace::*;

#[test]
fn version_1() {
    let run = Run::open(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/run-v1"))).unwrap();
    assert_eq!(run.problems(), [""; 0]);
    let [log] = &run.logs[..] else { panic!("one rank") };
    let info = RunInfo {
        schema: "nanscope.run/1".into(),
        script: "train.py".into(),
        module: false,
        argv: vec!["--epochs".into(), "3".into()],
        cwd: "/home/user/work".into(),
        python: "3.11.7".into(),
        torch: "2.13.0+cpu".into(),
        nanscope: "0.1.0".into(),
        devices: vec!["cpu".into()],
        world_size: 1,
        rank: 0,
        pid: 4242,
        started_unix_nanos: 1_764_547_200_000_000_000,
    };
    assert_eq!(log.info, Some(info));
    check_steps(&log.steps);
    assert_eq!(log.notes, ["step 3 was skipped"]);
    let [trip] = &log.trips[..] else { panic!("one trip") };
    assert_eq!((trip.step, trip.rank, trip.where_, &trip.kind[..], trip.entry), (5, 0, Where::Loss, "nan", Some(1)));
    assert!(trip.name.is_none() && trip.loss.unwrap().0.is_nan());
    let [ledger] = &log.ledgers[..] else { panic!("one ledger") };
    check_ledger(ledger);
    let end = End {
        how: "stopped".into(),
        status: Some(1),
        steps: 5,
        seconds: 2.5,
        watch_seconds: 0.01,
        deserted: None,
        warnings: vec![],
    };
    assert_eq!(log.end, Some(end));
    check_report(&run.report.unwrap());
}

fn check_steps(steps: &[StepRecord]) {
    let step = |step: u64, nanos, loss| StepRecord {
        step,
        nanos,
        watch_nanos: 20_000,
        loss: Some(loss),
        grad_norm: Some(0.5),
        grad_max: Some(0.25),
        scale: None,
        lr: Some(0.001),
        skipped: false,
    };
    let skipped =
        StepRecord { grad_norm: None, grad_max: Some(f64::INFINITY), skipped: true, ..step(3, 400_000_000, 0.25) };
    assert_eq!(
        steps,
        [
            step(0, 100_000_000, 1.0),
            step(1, 200_000_000, 0.5),
            step(2, 300_000_000, 1.0 / 3.0),
            skipped,
            step(4, 500_000_000, 0.2)
        ]
    );
}

fn check_ledger(ledger: &Ledger) {
    assert_eq!((ledger.events, ledger.operators, ledger.faithful, ledger.seconds), (3, 2, true, 0.125));
    assert_eq!((&ledger.method[..], &ledger.warnings[..]), ("tape", &["1 tensor could not be read".to_owned()][..]));
    assert_eq!(ledger.facts["optimizer.eps"], 1e-8);
    let [sub, log] = &ledger.entries[..] else { panic!("two entries") };
    assert_eq!((sub.index, sub.event, sub.phase, &sub.op[..]), (0, 0, Phase::Forward, "aten.sub.Tensor"));
    let place = Place {
        file: "train.py".into(),
        line: 11,
        function: "Net.forward".into(),
        columns: Some((15, 20)),
        lines: None,
        code: Some("        x = x - x.mean()".into()),
    };
    assert_eq!((&sub.place, sub.module.as_deref(), sub.scalars["alpha"]), (&Some(place), Some("Net"), Num(1.0)));
    let source = Source::Data { name: "argument x of Net.forward".into(), event: 0 };
    assert_eq!((&sub.inputs[0].source, &sub.inputs[0].from), (&Some(source), &None));
    assert_eq!((&log.op[..], log.inputs[0].from), ("aten.log.default", Some(0)));
    let out = &log.outputs[0];
    assert_eq!(
        (&out.name[..], &out.dtype[..], &out.shape[..], &out.device[..]),
        ("out", "float32", &[2, 2][..], "cpu")
    );
    assert_eq!(out.counts, Some(Counts { nan: 1, posinf: 0, neginf: 1, max_abs: Some(0.75) }));
    let census = out.census.as_ref().unwrap();
    assert_eq!((census.n, census.nan, census.neginf, census.zero, census.first_bad), (4, 1, 1, 0, Some(2)));
    assert_eq!((census.min, census.max, census.sum), (Some(-0.75), Some(-0.25), Some(-1.0)));
    assert_eq!(census.exponents, [(-2, 1), (-1, 1)]);
    assert_eq!(out.index.as_deref(), Some(&[1, 0][..]));
    assert!(out.value.unwrap().0.is_nan());
    assert_eq!(
        log.reference,
        Some(Reference { dtype: "float64".into(), finite: false, largest: Some(0.75), condition: None })
    );
}

fn check_report(report: &Report) {
    assert_eq!((&report.schema[..], report.verdict), ("nanscope.report/1", Verdict::Nonfinite));
    assert_eq!((report.run.steps, report.run.seconds), (5, Some(2.5)));
    let trip = TripSummary {
        step: 5,
        rank: 0,
        where_: Where::Loss,
        name: None,
        kind: "nan".into(),
        alarm: None,
        seen: None,
        place: None,
    };
    assert_eq!(report.trip, Some(trip));
    assert_eq!(report.replay.as_ref().unwrap().operators, 2);
    let origin = report.origin.as_ref().unwrap();
    let place = origin.place.as_ref().unwrap();
    assert_eq!((&place.file[..], place.line, &place.function[..]), ("train.py", 12, "Net.forward"));
    assert_eq!((origin.op.as_deref(), origin.bad, origin.of), (Some("aten.log.default"), 2, 4));
    let [cause] = &report.causes[..] else { panic!("one cause") };
    assert_eq!((&cause.id[..], cause.confidence), ("log-of-nonpositive", Confidence::Proved));
    assert!(report.experiments[0].loss.unwrap().0.is_nan());
    assert_eq!((report.fixes[0].safety, &report.fixes[0].proof), (Safety::ChangesTraining, &None));
    assert!(report.chain.is_empty() && report.island.is_none() && report.warnings.is_empty());
}
