//! Ranks that came apart: in which step, why, and on which line.

use nanscope_trace::schema::{Apart, ApartKind, ApartReason, Num, Place, RankValue, Single, StepRecord, Trip, Where};

use crate::ranks::Part;

/// Steps that must agree after one was left out of a log, before that is believed.
const SHIFTED_STEPS: usize = 2;
/// Elements of a tensor of which one that differs is no accident of how the ranks' values differ.
const ALONE_AMONG: u64 = 64;

/// Why they came apart, as far as it was seen; `None` for kinds that are a reason themselves.
pub(crate) fn reason(apart: &Apart) -> Option<ApartReason> {
    if apart.reason.is_some() {
        return apart.reason;
    }
    let ranks = &apart.ranks;
    match apart.kind {
        ApartKind::Gradients => Some(if ranks.iter().any(|rank| rank.factor.is_some_and(|factor| factor.0 != 1.0)) {
            ApartReason::Scaled
        } else if ranks.iter().any(|rank| rank.bypassed) {
            ApartReason::Bypassed
        } else if ranks.iter().any(|rank| rank.unsynced) {
            ApartReason::NoSync
        } else {
            ApartReason::NotReduced
        }),
        ApartKind::Parameters | ApartKind::Buffers => Some(if apart.equal.is_none() {
            ApartReason::Begun
        } else if differ(ranks, |rank| rank.lr.map(|lr| lr.0.to_bits())) {
            ApartReason::Rate
        } else if differ(ranks, |rank| rank.settings.clone()) {
            ApartReason::Settings
        } else if differ(ranks, |rank| rank.writes) {
            ApartReason::Written
        } else {
            ApartReason::Update
        }),
        ApartKind::Unfinished | ApartKind::Skipped | ApartKind::Ended => None,
    }
}

/// The element that memory or a transport has changed, where that is what the ranks disagree about: nothing else differs, and
/// nobody has written it.
pub(crate) fn corrupted(apart: &Apart) -> Option<&Single> {
    let single = apart.single.as_ref().filter(|single| is_telling(single))?;
    let written = differ(&apart.ranks, |rank| rank.writes);
    let settled = apart.ranks.iter().all(|rank| !rank.unsynced && !rank.bypassed);
    (settled && !written && apart.count == 1).then_some(single)
}

/// A bit that flipped, or one element of many.
pub(crate) fn is_telling(single: &Single) -> bool {
    single.bits.count_ones() == 1 || single.of >= ALONE_AMONG
}

/// The rank that did it, where one did.
pub(crate) fn odd(apart: &Apart) -> Option<u32> {
    let only = |of: fn(&RankValue) -> bool| {
        let mut found = apart.ranks.iter().filter(|rank| of(rank));
        found.next().filter(|_| found.next().is_none()).map(|rank| rank.rank)
    };
    let seen = match reason(apart) {
        Some(ApartReason::Bypassed) => only(|rank| rank.bypassed),
        Some(ApartReason::NoSync) => only(|rank| rank.unsynced),
        Some(ApartReason::LeftOut) => only(|rank| rank.skipped),
        Some(ApartReason::Written) if apart.ranks.len() == 2 => {
            apart.ranks.iter().max_by_key(|rank| rank.writes).map(|rank| rank.rank)
        }
        _ => None,
    };
    seen.or(apart.odd)
}

/// The line that is to blame.
pub(crate) fn place(apart: &Apart) -> Option<&Place> {
    let odd = odd(apart);
    let rank = apart.ranks.iter().find(|rank| Some(rank.rank) == odd).or(apart.ranks.first())?;
    match reason(apart)? {
        ApartReason::Bypassed | ApartReason::NoSync => rank.forward.as_ref().or(rank.backward.as_ref()),
        ApartReason::NotReduced => rank.backward.as_ref(),
        // On a rank that took the branch: the others have no such line.
        ApartReason::Scaled => {
            let scaled = || apart.ranks.iter().find_map(|rank| rank.clip.as_ref());
            rank.clip.as_ref().or_else(scaled).or(rank.update.as_ref())
        }
        ApartReason::LeftOut => {
            let made = apart.ranks.iter().find(|rank| !rank.skipped);
            made.and_then(|rank| rank.update.as_ref())
        }
        ApartReason::Rate | ApartReason::Settings | ApartReason::Update => rank.update.as_ref(),
        ApartReason::Written | ApartReason::Begun => None,
    }
}

/// The trip with what the logs of all ranks say: the first step that differed, and a reason that shows over steps only.
pub(crate) fn refined(trip: &Trip, parts: &[&Part]) -> Trip {
    let mut trip = trip.clone();
    let Some(apart) = &mut trip.apart else { return trip };
    if !matches!(apart.kind, ApartKind::Gradients | ApartKind::Parameters | ApartKind::Buffers) {
        return trip;
    }
    let members: Vec<&&Part> =
        parts.iter().filter(|part| apart.ranks.iter().any(|value| value.rank == part.info.rank)).collect();
    let corrupted = corrupted(apart).is_some();
    if !corrupted
        && let Some((step, reason)) = first(&members, apart)
        && apart.equal.is_none_or(|equal| step >= equal)
        && step <= trip.step
    {
        // Parameters that differ after gradients that did: the comparison came some steps after the fault.
        let late = (apart.kind == ApartKind::Parameters && step < trip.step).then_some(ApartReason::NotReduced);
        apart.reason = reason.or(late).or(apart.reason);
        trip.step = step;
    }
    trip.place = place(apart).cloned().or(trip.place);
    trip.rank = odd(apart).unwrap_or(trip.rank);
    trip.name = apart.names.first().cloned();
    trip
}

/// The first step whose record is not the same on all ranks, and why if that can be told from it.
fn first(members: &[&&Part], apart: &mut Apart) -> Option<(u64, Option<ApartReason>)> {
    let (one, others) = members.split_first()?;
    let shortest = members.iter().map(|part| part.steps.len()).min()?;
    let at = (0..shortest).find(|&at| others.iter().any(|other| !same(&one.steps[at], &other.steps[at])))?;
    let (mine, step) = (&one.steps[at], one.steps[at].step);
    if others.iter().any(|other| other.steps[at].lr != mine.lr) {
        for value in &mut apart.ranks {
            let of = members.iter().find(|part| part.info.rank == value.rank);
            value.lr = of.and_then(|part| part.steps[at].lr).map(Num).or(value.lr);
        }
        return Some((step, Some(ApartReason::Rate)));
    }
    // A rank that has left out one update has the gradients of the next one in its place, and so on.
    let behind = |some: &[StepRecord], other: &[StepRecord]| {
        let pairs: Vec<_> = some[at..].iter().zip(&other[at + 1..]).collect();
        pairs.len() >= SHIFTED_STEPS.min(other.len().saturating_sub(at + 1)).max(1)
            && pairs.iter().take(4 * SHIFTED_STEPS).all(|(a, b)| a.grad_norm.is_some() && a.grad_norm == b.grad_norm)
    };
    let left_out: Vec<u32> = members
        .iter()
        .filter(|part| members.iter().any(|other| behind(part.steps, other.steps)))
        .map(|part| part.info.rank)
        .collect();
    if !left_out.is_empty() {
        for value in &mut apart.ranks {
            value.skipped = left_out.contains(&value.rank);
        }
        return Some((step, Some(ApartReason::LeftOut)));
    }
    for value in &mut apart.ranks {
        let of = members.iter().find(|part| part.info.rank == value.rank);
        value.norm = of.and_then(|part| part.steps[at].grad_norm).map(Num).or(value.norm);
    }
    Some((step, None))
}

fn same(a: &StepRecord, b: &StepRecord) -> bool {
    let bits = |x: Option<f64>| x.map(f64::to_bits);
    a.step == b.step && bits(a.grad_norm) == bits(b.grad_norm) && bits(a.lr) == bits(b.lr) && a.skipped == b.skipped
}

fn differ<T: PartialEq>(ranks: &[RankValue], of: impl Fn(&RankValue) -> Option<T>) -> bool {
    let mut known = ranks.iter().filter_map(of);
    let first = known.next();
    known.any(|other| Some(other) != first)
}

/// Ranks that came to their end while others waited for them in a collective. `None` where that did not happen.
pub(crate) fn ended<'a>(job: &[&Part<'a>]) -> Option<(Trip, Part<'a>)> {
    let how = |part: &Part, how: &[&str]| part.end.is_some_and(|end| how.contains(&end.how.as_str()));
    let done: Vec<&&Part> = job.iter().filter(|part| how(part, &["finished"])).collect();
    let waited: Vec<&&Part> = job.iter().filter(|part| part.end.is_some_and(|end| end.deserted.is_some())).collect();
    let first = done.iter().min_by_key(|part| part.steps.len())?;
    let last = waited.first()?;
    if done.len() + waited.len() != job.len() || first.steps.len() > last.steps.len() || last.steps.is_empty() {
        return None;
    }
    let ranks = job.iter().map(|part| RankValue {
        rank: part.info.rank,
        steps: Some(part.steps.len() as u64),
        skipped: how(part, &["finished"]),
        ..RankValue::default()
    });
    let apart = Apart {
        kind: ApartKind::Ended,
        reason: None,
        op: String::new(),
        names: vec![],
        count: done.len() as u64,
        of: job.len() as u64,
        equal: None,
        odd: None,
        single: None,
        ranks: ranks.collect(),
    };
    let place = last.end.and_then(|end| end.deserted.clone());
    Some((trip(first.steps.len() as u64, last.info.rank, place, apart), ***last))
}

/// The trip that a disagreement is.
pub(crate) fn trip(step: u64, rank: u32, place: Option<Place>, apart: Apart) -> Trip {
    Trip {
        step,
        rank,
        where_: Where::Rank,
        name: None,
        kind: "finite".to_owned(),
        loss: None,
        entry: None,
        also: vec![],
        alarm: None,
        place,
        apart: Some(apart),
    }
}
