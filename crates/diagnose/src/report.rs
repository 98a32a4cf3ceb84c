//! A report from what is in the run folder.

use nanscope_lang::Lang;
use nanscope_trace::schema::{
    AlarmKind, ApartKind, ApartReason, Arg, Attention, Cause, Confidence, End, Ledger, Operand, Origin, Phase,
    REPORT_SCHEMA, Replay, Report, RunInfo, RunSummary, StepRecord, Trip, Verdict, Where,
};

use crate::case::Case;
use crate::course::{self, Course};
use crate::experiments::loss_scale_fix;
use crate::locate::{Birth, locate};
use crate::meant::is_bad;
use crate::rules::{kernel_mismatch, recompute_mismatch};
use crate::{apart, attention, chain, digits, rules, text};

/// The report of a run that tripped; its texts are in `lang`.
pub fn report(
    info: &RunInfo,
    steps: &[StepRecord],
    trip: &Trip,
    ledger: &Ledger,
    end: Option<&End>,
    lang: Lang,
) -> Report {
    let seen = apart::refined(trip, &[]);
    let trip = &seen;
    // What is not finite in the replay of a step that tripped on a trend was healed there: it is not what tripped.
    let over_steps = trip.alarm.as_ref().is_some_and(|alarm| alarm.kind != AlarmKind::LossScaleCollapse);
    let located = if over_steps || matches!(trip.where_, Where::Recompute | Where::Kernel | Where::Repeat | Where::Rank)
    {
        None
    } else {
        locate(ledger, trip)
    };
    let mut report = empty(info, steps, end);
    report.verdict = verdict(trip);
    report.trip = Some(trip.into());
    // A ledger without a method holds what is known besides a replay.
    report.replay = (!ledger.method.is_empty()).then(|| Replay {
        faithful: ledger.faithful,
        method: ledger.method.clone(),
        events: ledger.events,
        operators: ledger.operators,
        seconds: ledger.seconds,
        whole: ledger.whole.clone(),
    });
    for warning in &ledger.warnings {
        if !report.warnings.contains(warning) {
            report.warnings.push(warning.clone());
        }
    }
    let case = located.as_ref().map(|located| Case::new(ledger, trip, located, lang));
    if let Some(case) = &case {
        report.origin = Some(origin(case));
        report.chain = chain::links(case);
        report.digits = digits::curve(case);
    } else {
        report.origin = over_steps_origin(trip)
            .or_else(|| mismatch_origin(ledger, trip))
            .or_else(|| kernel_origin(ledger, trip))
            .or_else(|| repeat_origin(ledger, trip))
            .or_else(|| apart_origin(trip))
            .or_else(|| single_origin(ledger, trip));
    }
    let at_origin = case.as_ref().and_then(|case| attention::of(ledger, case.entry()));
    let told = |call: &&Attention| call.worst().is_some() || at_origin.is_some_and(|other| std::ptr::eq(other, *call));
    report.attention = ledger.attention.iter().filter(told).cloned().collect();
    let history = course::history(ledger);
    report.causes = causes(&Course { ledger, trip, history: &history, case: case.as_ref(), lang });
    report.fixes = rules::advice(&report.causes, lang);
    let cause = report.causes.first().map(|cause| cause.id.as_str());
    report.fixes.extend(loss_scale_fix(ledger, cause, lang));
    report
}

/// Where an alarm points: the part of the step that is at fault, and the line that is known. No value is bad there.
fn over_steps_origin(trip: &Trip) -> Option<Origin> {
    let alarm = trip.alarm.as_ref()?;
    Some(Origin {
        entry: None,
        phase: match alarm.kind {
            AlarmKind::SilentZero | AlarmKind::LossScaleCollapse => Phase::Backward,
            AlarmKind::DeadUnits => Phase::Forward,
            AlarmKind::Divergence | AlarmKind::PileUp | AlarmKind::ZeroRate => Phase::Optimizer,
        },
        rank: trip.rank,
        step: alarm.step,
        op: None,
        node: None,
        place: trip.place.clone(),
        module: None,
        dtype: None,
        device: None,
        kind: "finite".to_owned(),
        bad: 0,
        of: 0,
        first_index: None,
        tensor: alarm.names.first().cloned(),
        inputs: vec![],
        outputs: vec![],
        reference: None,
        drift: None,
    })
}

/// The first operator whose recomputation gave something else. Every value may be finite there.
fn mismatch_origin(ledger: &Ledger, trip: &Trip) -> Option<Origin> {
    let parity = ledger.parity.as_ref().filter(|_| trip.where_ == Where::Recompute)?;
    let first = parity.first.as_ref()?;
    let overwriter = first.altered.iter().find_map(|input| input.writer.clone()).filter(|_| first.unpacked);
    Some(Origin {
        entry: None,
        phase: if first.unpacked { Phase::Backward } else { Phase::Recompute },
        rank: trip.rank,
        step: trip.step,
        op: overwriter.or_else(|| Some(first.op.clone()).filter(|op| !op.is_empty())),
        node: first.node.clone(),
        place: recompute_mismatch::place(parity).cloned(),
        module: first.module.clone(),
        dtype: Some(first.now.dtype.clone()),
        device: Some(first.now.device.clone()),
        kind: "finite".to_owned(),
        bad: first.differ,
        of: first.of,
        first_index: first.first_index.clone(),
        tensor: None,
        inputs: vec![],
        outputs: vec![],
        reference: None,
        drift: None,
    })
}

/// The first kernel of attention that gave something else than its formula. Every value may be finite there.
fn kernel_origin(ledger: &Ledger, trip: &Trip) -> Option<Origin> {
    let (call, gap) = kernel_mismatch::first(&ledger.attention).filter(|_| trip.where_ == Where::Kernel)?;
    let index = gap.entry.unwrap_or(call.entry);
    let entry = ledger.entries.get(index);
    Some(Origin {
        entry: Some(index),
        phase: entry.map_or(Phase::Forward, |entry| entry.phase),
        rank: trip.rank,
        step: trip.step,
        op: Some(entry.map_or_else(|| call.op.clone(), |entry| entry.op.clone())),
        node: entry.and_then(|entry| entry.node.clone()),
        place: call.place.clone(),
        module: call.module.clone(),
        dtype: Some(gap.dtype.clone()),
        device: entry.and_then(|entry| Some(entry.outputs.first()?.device.clone())),
        kind: "finite".to_owned(),
        bad: gap.differ,
        of: gap.of,
        first_index: gap.index.clone(),
        tensor: Some(gap.name.clone()),
        inputs: vec![],
        outputs: vec![],
        reference: None,
        drift: None,
    })
}

/// The first operator that gave something else when the step was run once more.
fn repeat_origin(ledger: &Ledger, trip: &Trip) -> Option<Origin> {
    let repeat = ledger.repeat.as_ref().filter(|_| trip.where_ == Where::Repeat)?;
    let first = repeat.first.as_ref()?;
    Some(Origin {
        entry: first.entry,
        phase: repeat.phase?,
        rank: trip.rank,
        step: trip.step,
        op: Some(first.op.clone()),
        node: first.node.clone(),
        place: first.place.clone(),
        module: first.module.clone(),
        dtype: Some(first.now.dtype.clone()),
        device: Some(first.now.device.clone()),
        kind: "finite".to_owned(),
        bad: first.differ,
        of: first.of,
        first_index: first.first_index.clone(),
        tensor: None,
        inputs: vec![],
        outputs: vec![],
        reference: None,
        drift: None,
    })
}

/// The element that changed with nobody writing it.
fn single_origin(ledger: &Ledger, trip: &Trip) -> Option<Origin> {
    let single = ledger.single.as_ref()?;
    Some(Origin {
        phase: Phase::Backward,
        rank: trip.rank,
        step: trip.step,
        kind: trip.kind.clone(),
        dtype: Some(single.dtype.clone()),
        bad: 1,
        of: single.of,
        first_index: Some(single.index.clone()),
        tensor: trip.name.clone(),
        op: None,
        entry: None,
        node: None,
        place: None,
        module: None,
        device: None,
        inputs: vec![],
        outputs: vec![],
        reference: None,
        drift: None,
    })
}

/// Where ranks came to disagree.
fn apart_origin(trip: &Trip) -> Option<Origin> {
    let apart = trip.apart.as_ref()?;
    Some(Origin {
        phase: match apart.kind {
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
        },
        rank: trip.rank,
        step: trip.step,
        op: Some(apart.op.clone()).filter(|op| !op.is_empty()),
        entry: None,
        node: None,
        place: trip.place.clone(),
        module: None,
        dtype: None,
        device: None,
        kind: "finite".to_owned(),
        bad: apart.count,
        of: apart.of,
        first_index: None,
        tensor: apart.names.first().cloned(),
        inputs: vec![],
        outputs: vec![],
        reference: None,
        drift: None,
    })
}

/// What a trip means for the run.
pub fn verdict(trip: &Trip) -> Verdict {
    match (trip.alarm.as_ref().map(|alarm| alarm.kind), trip.where_) {
        (Some(AlarmKind::Divergence), _) | (None, Where::Trend) => Verdict::Diverging,
        (Some(_), _) | (None, Where::Scale | Where::Rate) => Verdict::Unhealthy,
        (None, Where::Recompute | Where::Kernel | Where::Repeat | Where::Rank) => Verdict::Mismatch,
        (None, _) => Verdict::Nonfinite,
    }
}

/// The report of a run in which nothing was found.
pub fn finite(info: &RunInfo, steps: &[StepRecord], end: Option<&End>) -> Report {
    empty(info, steps, end)
}

fn empty(info: &RunInfo, steps: &[StepRecord], end: Option<&End>) -> Report {
    let recorded = steps.last().map_or(0, |step| step.step + 1);
    Report {
        schema: REPORT_SCHEMA.to_owned(),
        verdict: Verdict::Finite,
        run: RunSummary {
            script: info.script.clone(),
            argv: info.argv.clone(),
            python: info.python.clone(),
            torch: info.torch.clone(),
            nanscope: info.nanscope.clone(),
            devices: info.devices.clone(),
            world_size: info.world_size.max(1),
            steps: end.map_or(recorded, |end| end.steps),
            seconds: end.map(|end| end.seconds),
            watch_seconds: end.map(|end| end.watch_seconds),
        },
        trip: None,
        replay: None,
        origin: None,
        chain: vec![],
        digits: vec![],
        attention: vec![],
        causes: vec![],
        experiments: vec![],
        island: None,
        fixes: vec![],
        ranks: vec![],
        warnings: end.map(|end| end.warnings.clone()).unwrap_or_default(),
    }
}

fn causes(course: &Course) -> Vec<Cause> {
    let mut found: Vec<(rules::Finding, &dyn rules::Rule)> =
        rules::all().iter().filter_map(|rule| Some((finding(*rule, course)?, *rule))).collect();
    found.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.rank()));
    let alone = found.len() == 1;
    found
        .into_iter()
        .map(|(finding, rule)| Cause {
            id: rule.id().to_owned(),
            title: rule.title(course.lang).to_owned(),
            confidence: finding.confidence,
            evidence: finding.evidence,
            distinguish: (!alone).then(|| rule.distinguish(course.lang).to_owned()),
            docs: format!("nanscope rules {}", rule.id()),
        })
        .collect()
}

/// The stronger of what a rule finds in the replay and over the steps.
fn finding(rule: &dyn rules::Rule, course: &Course) -> Option<rules::Finding> {
    let mut at_origin = course.case.and_then(|case| rule.check(case));
    if let Some(finding) = &mut at_origin
        && !course.ledger.faithful
    {
        // What was seen in a replay that differs from the run is no proof.
        finding.confidence = finding.confidence.min(Confidence::Likely);
    }
    at_origin.into_iter().chain(rule.over_steps(course)).max_by_key(rules::Finding::rank)
}

fn origin(case: &Case) -> Origin {
    let entry = case.entry();
    let (bad, tensor) = match case.outside() {
        Some(arg) => (Some(arg), arg.source.as_ref().map(|source| text::source(source, case.lang))),
        None => (entry.outputs.iter().find(|arg| is_bad(arg)), None),
    };
    let counts = bad.and_then(|arg| arg.counts).unwrap_or_default();
    let born_here = matches!(case.located.birth, Birth::Entry { .. });
    Origin {
        entry: Some(entry.index),
        phase: case.phase(),
        rank: case.trip.rank,
        step: case.trip.step,
        op: Some(entry.op.clone()),
        node: entry.node.clone(),
        place: entry.place.clone(),
        module: entry.module.clone(),
        dtype: bad.map(|arg| arg.dtype.clone()),
        device: bad.map(|arg| arg.device.clone()),
        kind: if counts.nan > 0 { "nan" } else { "inf" }.to_owned(),
        bad: counts.bad(),
        of: bad.map_or(0, |arg| arg.shape.iter().product()),
        first_index: bad.and_then(first_index),
        tensor,
        inputs: entry.inputs.iter().map(operand).collect(),
        outputs: if born_here { entry.outputs.iter().map(operand).collect() } else { vec![] },
        reference: if case.phase() == Phase::Backward { None } else { entry.reference.clone() },
        drift: if born_here { entry.drift.clone() } else { None },
    }
}

fn first_index(arg: &Arg) -> Option<Vec<u64>> {
    arg.index.clone().or_else(|| {
        let mut rest = arg.census.as_ref()?.first_bad?;
        let mut index: Vec<u64> = vec![];
        for &size in arg.shape.iter().rev() {
            index.push(rest.checked_rem(size)?);
            rest /= size;
        }
        index.reverse();
        Some(index)
    })
}

fn operand(arg: &Arg) -> Operand {
    Operand {
        name: arg.name.clone(),
        dtype: arg.dtype.clone(),
        shape: arg.shape.clone(),
        census: arg.census.clone(),
        index: arg.index.clone(),
        value: arg.value,
        reference: arg.reference,
    }
}
