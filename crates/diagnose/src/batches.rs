//! Ranks hold the same weights: where one rank's loss leaps in a step and the others' do not, its batch is to blame.

use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{AlarmKind, Confidence, Odd, Origin, Phase, Report};

use crate::rules::outlier_input;
use crate::{ranks::Part, report, text};

/// Steps from the batch to the trip.
const STEPS: u64 = 8;
/// Times the loss of the others that is a leap, and times within which it must have been the step before.
const LEAP: f64 = 100.0;
const ALIKE: f64 = 10.0;

/// The report of the rank whose batch made a later step of all ranks fail, if one did; `step` is where `job` tripped.
pub(crate) fn blamed(job: &[&Part], step: u64, lang: Lang) -> Option<Report> {
    let leaps = job.iter().filter_map(|part| {
        let history = part.ledger?.history.as_ref()?;
        let far = history.inputs.iter().flat_map(|input| {
            input
                .odd
                .iter()
                .filter(|odd| outlier_input::is_far(input, odd))
                .map(move |odd| (input.name.as_deref(), odd))
        });
        let before = far.filter(|(_, odd)| odd.step < step && step <= odd.step + STEPS);
        before
            .filter_map(|(name, odd)| Some((*part, name, odd, leap(part, job, odd)?)))
            .min_by_key(|(_, _, odd, _)| odd.step)
    });
    let (part, name, odd, (mine, others)) = leaps.min_by_key(|(part, _, odd, _)| (odd.step, part.info.rank))?;
    let mut report = report::report(part.info, part.steps, part.trip?, part.ledger?, part.end, lang);
    let at = report.causes.iter().position(|cause| cause.id == "outlier-input")?;
    let mut cause = report.causes.remove(at);
    cause.confidence = Confidence::Proved;
    cause.evidence.push(say!(
        lang,
        "the loss of this rank in step {step} was {mine}; the others, with the same weights, had {others}",
        "이 랭크의 스텝 {step} 손실은 {mine}; 가중치가 같은 다른 랭크의 손실은 {others}",
        step = odd.step,
        mine = text::number(mine),
        others = text::number(others)
    ));
    report.causes.insert(0, cause);
    report.fixes = crate::rules::advice(&report.causes, lang);
    report.chain.clear();
    report.digits.clear();
    if let Some(trip) = &mut report.trip {
        (trip.seen, trip.step, trip.alarm) = (Some(trip.step), odd.step, Some(AlarmKind::Divergence));
    }
    report.origin = report.origin.map(|met| origin(met, name, odd));
    Some(report)
}

/// This rank's loss in the step of an odd batch and the median of the others', where it leaped from among them.
fn leap(part: &Part, job: &[&Part], odd: &Odd) -> Option<(f64, f64)> {
    let loss = |part: &Part, step: u64| part.step(step).and_then(|record| record.loss).map(f64::abs);
    let others = |step: u64| {
        let others = job.iter().filter(|other| other.info.rank != part.info.rank);
        let mut losses: Vec<f64> = others.filter_map(|other| loss(other, step)).filter(|x| x.is_finite()).collect();
        losses.sort_by(f64::total_cmp);
        losses.get(losses.len() / 2).copied().filter(|x| *x > 0.0)
    };
    let (mine, usual) = (loss(part, odd.step)?, others(odd.step)?);
    let before = odd.step.checked_sub(1)?;
    let (was, were) = (loss(part, before)?, others(before)?);
    (mine >= LEAP * usual && was <= ALIKE * were).then_some((mine, usual))
}

/// The batch, met by the program where the step of the trip met it.
fn origin(met: Origin, name: Option<&str>, odd: &Odd) -> Origin {
    Origin {
        phase: Phase::Data,
        step: odd.step,
        kind: "finite".to_owned(),
        bad: 0,
        of: 0,
        op: None,
        entry: None,
        node: None,
        first_index: None,
        tensor: name.map(str::to_owned),
        inputs: vec![],
        outputs: vec![],
        reference: None,
        drift: None,
        ..met
    }
}
