//! What is written is what is read, to the bit.
#![allow(missing_docs)]

mod support;

use nanscope_trace::*;
use proptest::option::of;
use proptest::prelude::*;
use support::{Memory, info, path, read};

// Any bits: NaN with a payload, infinities, subnormals, -0.
fn bits() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits)
}

fn finite() -> impl Strategy<Value = f64> {
    bits().prop_filter("JSON has no other", |x| x.is_finite())
}

prop_compose! {
    fn steps()(
        (step, nanos, watch_nanos, skipped) in any::<(u64, u64, u64, bool)>(),
        [loss, grad_norm, grad_max, scale, lr] in prop::array::uniform5(of(bits())),
    ) -> StepRecord {
        StepRecord { step, nanos, watch_nanos, loss, grad_norm, grad_max, scale, lr, skipped }
    }
}

prop_compose! {
    fn trips()(step: u64, rank: u32, name in of(".*"), loss in of(finite()), entry in of(any::<usize>())) -> Trip {
        Trip { step, rank, where_: Where::Loss, name, kind: "nan".into(), loss: loss.map(Num), entry, also: vec![], alarm: None, place: None, apart: None }
    }
}

prop_compose! {
    fn ends()(
        how in ".*", status in of(any::<i32>()), steps: u64, seconds in finite(), watch_seconds in finite(),
        warnings in prop::collection::vec(".*", 0..3),
    ) -> End {
        End { how, status, steps, seconds, watch_seconds, deserted: None, warnings }
    }
}

prop_compose! {
    fn ledgers()(
        seconds in finite(), names in prop::collection::vec(".*", 0..4), max_abs in of(finite()), value in of(finite()),
        shape in prop::collection::vec(any::<u64>(), 0..4), from in of(any::<usize>()), nan: u64, line: u32,
    ) -> Ledger {
        let entry = |(index, name): (usize, String)| {
            let counts = Some(Counts { nan, max_abs, ..Counts::default() });
            let source = Some(Source::Data { name: name.clone(), event: index });
            let value = value.map(Num);
            let arg = Arg { name: name.clone(), shape: shape.clone(), counts, from, source, value, ..Arg::default() };
            let place = Some(Place { file: name.clone(), line, columns: Some((4, 9)), ..Place::default() });
            Entry {
                index, event: 0, phase: Phase::Backward, op: name.clone(), node: Some(name), forward: from, place,
                module: None, call: None, autocast: None, inputs: vec![arg.clone()], outputs: vec![arg],
                scalars: value.map(|x| ("eps".into(), x)).into_iter().collect(), reference: None,
 drift: None,
 comm: None,
            }
        };
        Ledger { entries: names.into_iter().enumerate().map(entry).collect(), seconds, ..support::ledger() }
    }
}

fn step_bits(record: &StepRecord) -> (u64, u64, u64, [Option<u64>; 5], bool) {
    let StepRecord { step, nanos, watch_nanos, loss, grad_norm, grad_max, scale, lr, skipped } = *record;
    (step, nanos, watch_nanos, [loss, grad_norm, grad_max, scale, lr].map(|x| x.map(f64::to_bits)), skipped)
}

proptest! {
    #[test]
    fn steps_keep_every_bit(records in prop::collection::vec(steps(), 0..40)) {
        let mut bytes = Vec::new();
        let mut writer = Writer::begin(Memory { bytes: &mut bytes, room: usize::MAX, stuck: false }, path(), &info()).unwrap();
        for record in &records {
            writer.step(record).unwrap();
        }
        let log = read(&bytes).unwrap();
        prop_assert_eq!(&log.torn, &None);
        prop_assert_eq!(log.steps.iter().map(step_bits).collect::<Vec<_>>(), records.iter().map(step_bits).collect::<Vec<_>>());
    }

    #[test]
    fn json_records_come_back(trip in trips(), end in ends(), ledger in ledgers(), note in ".*") {
        let mut bytes = Vec::new();
        let mut writer = Writer::begin(Memory { bytes: &mut bytes, room: usize::MAX, stuck: false }, path(), &info()).unwrap();
        writer.trip(&trip).unwrap();
        writer.ledger(&ledger).unwrap();
        writer.note(&note).unwrap();
        writer.end(&end).unwrap();
        let log = read(&bytes).unwrap();
        prop_assert_eq!(&log.raw, &[]);
        prop_assert_eq!(log.info, Some(info()));
        prop_assert_eq!(log.trips, [trip]);
        prop_assert_eq!(log.ledgers, [ledger]);
        prop_assert_eq!(log.notes, [note]);
        prop_assert_eq!(log.end, Some(end));
    }
}

#[test]
fn a_healthy_step_is_small() {
    let mut bytes = Vec::new();
    let mut writer =
        Writer::begin(Memory { bytes: &mut bytes, room: usize::MAX, stuck: false }, path(), &info()).unwrap();
    let before = writer.bytes();
    let all = Some(1.0);
    writer
        .step(&StepRecord { loss: all, grad_norm: all, grad_max: all, scale: all, lr: all, ..support::step(0) })
        .unwrap();
    assert_eq!(writer.bytes() - before, 80, "every step costs this; the promise is below 200");
}

#[test]
fn text_that_is_no_record_is_refused_and_nothing_is_written() {
    let mut bytes = Vec::new();
    let mut writer =
        Writer::begin(Memory { bytes: &mut bytes, room: usize::MAX, stuck: false }, path(), &info()).unwrap();
    let before = writer.bytes();
    for kind in [Kind::Trip, Kind::Ledger, Kind::End, Kind::Note] {
        assert!(matches!(writer.append_json(kind, "{\"step\": NaN}"), Err(Error::Json { .. })));
    }
    assert!(matches!(writer.append_json(Kind::Step, "{}"), Err(Error::NotJson { got: 2 })));
    // JSON has no NaN: a number that no reader could take back must not get into the log.
    assert!(writer.end(&End { seconds: f64::NAN, ..support::end() }).is_err());
    assert_eq!((writer.bytes(), writer.dropped()), (before, 0));
}
