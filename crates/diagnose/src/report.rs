//! A report from what is in the run folder.

use nanscope_lang::Lang;
use nanscope_trace::schema::{
    AlarmKind, Arg, Attention, Cause, Confidence, End, Ledger, Operand, Origin, Phase, REPORT_SCHEMA, Replay, Report,
    RunInfo, RunSummary, StepRecord, Trip, Verdict, Where,
};

use crate::case::Case;
use crate::course::{self, Course};
use crate::experiments::loss_scale_fix;
use crate::locate::{Birth, locate};
use crate::meant::is_bad;
use crate::{apart, attention, chain, digits, origin, rules, text};

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
        report.origin = origin::without_bad_value(ledger, trip);
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
