//! Where it began, of trips in which no value was bad: the alarm, the comparison or the rank that shows it.

use nanscope_trace::schema::{AlarmKind, ApartKind, ApartReason, Difference, Ledger, Origin, Phase, Trip, Where};

use crate::apart;
use crate::rules::{kernel_mismatch, recompute_mismatch};

/// The first of these that the trip is.
pub(crate) fn without_bad_value(ledger: &Ledger, trip: &Trip) -> Option<Origin> {
    over_steps(trip)
        .or_else(|| recomputed(ledger, trip))
        .or_else(|| kernel(ledger, trip))
        .or_else(|| repeated(ledger, trip))
        .or_else(|| apart_at(trip))
        .or_else(|| single(ledger, trip))
}

/// Nothing but the step, the rank and the phase; every value is finite.
fn unplaced(trip: &Trip, phase: Phase) -> Origin {
    Origin {
        entry: None,
        phase,
        rank: trip.rank,
        step: trip.step,
        op: None,
        node: None,
        place: None,
        module: None,
        dtype: None,
        device: None,
        kind: "finite".to_owned(),
        bad: 0,
        of: 0,
        first_index: None,
        tensor: None,
        inputs: vec![],
        outputs: vec![],
        reference: None,
        drift: None,
    }
}

/// What two runs of an operator that gave different results say of it.
fn at(first: &Difference, trip: &Trip, phase: Phase) -> Origin {
    Origin {
        node: first.node.clone(),
        module: first.module.clone(),
        dtype: Some(first.now.dtype.clone()),
        device: Some(first.now.device.clone()),
        bad: first.differ,
        of: first.of,
        first_index: first.first_index.clone(),
        ..unplaced(trip, phase)
    }
}

/// Where an alarm points: the part of the step that is at fault, and the line that is known. No value is bad there.
fn over_steps(trip: &Trip) -> Option<Origin> {
    let alarm = trip.alarm.as_ref()?;
    let phase = match alarm.kind {
        AlarmKind::SilentZero | AlarmKind::LossScaleCollapse => Phase::Backward,
        AlarmKind::DeadUnits => Phase::Forward,
        AlarmKind::Divergence | AlarmKind::PileUp | AlarmKind::ZeroRate => Phase::Optimizer,
    };
    Some(Origin {
        step: alarm.step,
        place: trip.place.clone(),
        tensor: alarm.names.first().cloned(),
        ..unplaced(trip, phase)
    })
}

/// The first operator whose recomputation gave something else. Every value may be finite there.
fn recomputed(ledger: &Ledger, trip: &Trip) -> Option<Origin> {
    let parity = ledger.parity.as_ref().filter(|_| trip.where_ == Where::Recompute)?;
    let first = parity.first.as_ref()?;
    let overwriter = first.altered.iter().find_map(|input| input.writer.clone()).filter(|_| first.unpacked);
    let phase = if first.unpacked { Phase::Backward } else { Phase::Recompute };
    Some(Origin {
        op: overwriter.or_else(|| Some(first.op.clone()).filter(|op| !op.is_empty())),
        place: recompute_mismatch::place(parity).cloned(),
        ..at(first, trip, phase)
    })
}

/// The first kernel of attention that gave something else than its formula. Every value may be finite there.
fn kernel(ledger: &Ledger, trip: &Trip) -> Option<Origin> {
    let (call, gap) = kernel_mismatch::first(&ledger.attention).filter(|_| trip.where_ == Where::Kernel)?;
    let index = gap.entry.unwrap_or(call.entry);
    let entry = ledger.entries.get(index);
    let phase = entry.map_or(Phase::Forward, |entry| entry.phase);
    Some(Origin {
        entry: Some(index),
        op: Some(entry.map_or_else(|| call.op.clone(), |entry| entry.op.clone())),
        node: entry.and_then(|entry| entry.node.clone()),
        place: call.place.clone(),
        module: call.module.clone(),
        dtype: Some(gap.dtype.clone()),
        device: entry.and_then(|entry| Some(entry.outputs.first()?.device.clone())),
        bad: gap.differ,
        of: gap.of,
        first_index: gap.index.clone(),
        tensor: Some(gap.name.clone()),
        ..unplaced(trip, phase)
    })
}

/// The first operator that gave something else when the step was run once more.
fn repeated(ledger: &Ledger, trip: &Trip) -> Option<Origin> {
    let repeat = ledger.repeat.as_ref().filter(|_| trip.where_ == Where::Repeat)?;
    let first = repeat.first.as_ref()?;
    let phase = repeat.phase?;
    Some(Origin {
        entry: first.entry,
        op: Some(first.op.clone()),
        place: first.place.clone(),
        ..at(first, trip, phase)
    })
}

/// The element that changed with nobody writing it.
fn single(ledger: &Ledger, trip: &Trip) -> Option<Origin> {
    let single = ledger.single.as_ref()?;
    let phase = Phase::Backward;
    Some(Origin {
        kind: trip.kind.clone(),
        dtype: Some(single.dtype.clone()),
        bad: 1,
        of: single.of,
        first_index: Some(single.index.clone()),
        tensor: trip.name.clone(),
        ..unplaced(trip, phase)
    })
}

/// Where ranks came to disagree.
fn apart_at(trip: &Trip) -> Option<Origin> {
    let apart = trip.apart.as_ref()?;
    let phase = match apart.kind {
        ApartKind::Unfinished | ApartKind::Ended => Phase::Comm,
        ApartKind::Skipped => Phase::Optimizer,
        ApartKind::Parameters | ApartKind::Gradients | ApartKind::Buffers => match apart::reason(apart) {
            _ if apart::corrupted(apart).is_some() && apart.kind != ApartKind::Gradients => Phase::Param,
            Some(ApartReason::Scaled) => Phase::Clip,
            Some(ApartReason::NoSync | ApartReason::Bypassed | ApartReason::NotReduced) => Phase::Comm,
            Some(ApartReason::Begun) => Phase::Param,
            _ if apart.kind == ApartKind::Gradients => Phase::Comm,
            _ => Phase::Optimizer,
        },
    };
    Some(Origin {
        op: Some(apart.op.clone()).filter(|op| !op.is_empty()),
        place: trip.place.clone(),
        bad: apart.count,
        of: apart.of,
        tensor: apart.names.first().cloned(),
        ..unplaced(trip, phase)
    })
}
