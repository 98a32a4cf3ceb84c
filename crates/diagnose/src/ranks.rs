//! One report of many ranks: the rank where a local value was bad first, the others being its victims.

use std::collections::{BTreeMap, BTreeSet};

use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{
    Apart, ApartKind, Comm, End, Entry, Ledger, Num, Outcomes, Phase, RankSummary, RankValue, Report, Role, RunInfo,
    Skip, StepRecord, Trip,
};

use crate::locate::{Birth, locate};
use crate::report::report;
use crate::{apart, batches, outcomes, text};

/// What one rank has left.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Ranks that ran at the same time have the same number; a program may start ranks more than once.
    pub group: usize,
    /// The first frame of its log.
    pub info: &'a RunInfo,
    /// Its steps.
    pub steps: &'a [StepRecord],
    /// Its first trip.
    pub trip: Option<&'a Trip>,
    /// The ledger of that trip; absent where the step was not run again.
    pub ledger: Option<&'a Ledger>,
    /// What was tried after it.
    pub outcomes: Option<&'a Outcomes>,
    /// Updates that a `GradScaler` has left out.
    pub skips: &'a [Skip],
    /// Absent when it was killed.
    pub end: Option<&'a End>,
}

impl<'a> Part<'a> {
    /// The record of a step; they are written in order.
    pub(crate) fn step(&self, step: u64) -> Option<&'a StepRecord> {
        let at = self.steps.partition_point(|record| record.step < step);
        self.steps.get(at).filter(|record| record.step == step)
    }

    fn rank(&self) -> u32 {
        self.trip.map_or(self.info.rank, |trip| trip.rank)
    }
}

/// The report of all ranks. `None` where nothing was found, or no step was run again.
pub fn merged(parts: &[Part], lang: Lang) -> Option<Report> {
    let tripped: Vec<Tripped> = parts.iter().filter_map(Tripped::of).collect();
    let mut groups: BTreeMap<usize, Vec<Tripped>> = BTreeMap::new();
    for tripped in &tripped {
        groups.entry(tripped.part.group).or_default().push(tripped.clone());
    }
    let found =
        tripped.iter().map(|tripped| followed(tripped, &groups[&tripped.part.group])).min_by_key(Tripped::order);
    let skipped = left_out(parts).filter(|(group, trip, _)| {
        found.as_ref().is_none_or(|found| (*group, trip.step) < (found.part.group, found.trip.step))
    });
    let (group, rank, mut report) = match (skipped, found) {
        (Some((group, trip, part)), _) => {
            let ledger = Ledger { method: String::new(), ..Ledger::default() };
            (group, trip.rank, report(part.info, part.steps, &trip, &ledger, part.end, lang))
        }
        (None, Some(found)) => {
            let Tripped { part, trip, ledger, .. } = &found;
            let job: Vec<&Part> =
                parts.iter().filter(|other| other.group == part.group && other.info.world_size > 1).collect();
            let blamed = batches::blamed(&job, trip.step, lang);
            let report = blamed.unwrap_or_else(|| {
                let trip = apart::refined(trip, &job);
                report(part.info, part.steps, &trip, ledger, part.end, lang)
            });
            (part.group, report.trip.as_ref().map_or(trip.rank, |trip| trip.rank), report)
        }
        (None, None) => {
            let groups: std::collections::BTreeSet<usize> = parts.iter().map(|part| part.group).collect();
            let (group, (trip, part)) = groups.into_iter().find_map(|group| {
                let job: Vec<&Part> =
                    parts.iter().filter(|part| part.group == group && part.info.world_size > 1).collect();
                Some((group, apart::ended(&job)?))
            })?;
            let ledger = Ledger { method: String::new(), ..Ledger::default() };
            (group, trip.rank, report(part.info, part.steps, &trip, &ledger, part.end, lang))
        }
    };
    let of_group: Vec<&Part> = parts.iter().filter(|part| part.group == group).collect();
    if let Some(tried) = of_group.iter().find(|part| part.rank() == rank).and_then(|part| part.outcomes) {
        outcomes::tried(&mut report, tried, lang);
    }
    if of_group.len() > 1 {
        report.run.world_size = report.run.world_size.max(of_group.len() as u32);
        let located: BTreeMap<u32, &Tripped> =
            groups.get(&group).into_iter().flatten().map(|tripped| (tripped.part.rank(), tripped)).collect();
        report.ranks = of_group
            .iter()
            .map(|part| summary(part, located.get(&part.rank()).copied(), rank, &report, lang))
            .collect();
        report.ranks.sort_by_key(|summary| (summary.role != Role::Origin, summary.rank));
    }
    Some(report)
}

/// A rank that has tripped, and where in its own ledger the bad value began.
#[derive(Clone)]
struct Tripped<'a> {
    part: Part<'a>,
    trip: Trip,
    ledger: &'a Ledger,
    birth: Option<Birth>,
}

impl<'a> Tripped<'a> {
    fn of(part: &Part<'a>) -> Option<Tripped<'a>> {
        let (trip, ledger) = (part.trip?.clone(), part.ledger?);
        let birth =
            locate(ledger, &trip).filter(|_| trip.alarm.is_none() && trip.apart.is_none()).map(|found| found.birth);
        Some(Tripped { part: *part, trip, ledger, birth })
    }

    fn entry(&self) -> Option<&'a Entry> {
        self.ledger.entries.get(self.birth?.entry())
    }

    /// The collective through which the bad value came from others, and the ranks whose parts were bad.
    fn given(&self) -> Option<(&'a Comm, Vec<u32>)> {
        let comm = self.entry()?.comm.as_ref().filter(|_| matches!(self.birth, Some(Birth::Entry { .. })))?;
        let bad: Vec<u32> = comm.parts.iter().filter(|part| part.counts.bad() > 0).map(|part| part.rank).collect();
        (!bad.is_empty()).then_some((comm, bad))
    }

    /// By step, then by what was bad locally, then by the part of the step. A trip that was not located comes after.
    fn order(&self) -> (usize, u64, bool, bool, Option<Phase>, u32) {
        let unknown = self.birth.is_none() && self.trip.alarm.is_none() && self.trip.apart.is_none();
        let phase = self.entry().map(|entry| entry.phase);
        (self.part.group, self.trip.step, self.given().is_some(), unknown, phase, self.trip.rank)
    }
}

/// From the collective that brought a bad value to the rank that gave it, and there on to where it began.
fn followed<'a>(tripped: &Tripped<'a>, others: &[Tripped<'a>]) -> Tripped<'a> {
    let mut at = tripped.clone();
    // A value cannot have passed through more ranks than there are without coming back.
    for _ in 0..others.len() {
        let Some((comm, givers)) = at.given() else { break };
        let given = others.iter().filter(|other| givers.contains(&other.trip.rank) && other.trip.step == at.trip.step);
        let next = given.filter_map(|other| {
            let same =
                |entry: &&Entry| entry.comm.as_ref().is_some_and(|c| c.group == comm.group && c.number == comm.number);
            let entry = other.ledger.entries.iter().find(same)?.index;
            let trip = Trip { entry: Some(entry), also: vec![], ..other.trip.clone() };
            let birth = locate(other.ledger, &trip)?.birth;
            Some(Tripped { trip, birth: Some(birth), ..other.clone() })
        });
        match next.min_by_key(Tripped::order) {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}

/// The first step whose update some ranks have left out and others have made.
fn left_out<'a>(parts: &'a [Part<'a>]) -> Option<(usize, Trip, &'a Part<'a>)> {
    let groups: BTreeSet<usize> = parts.iter().map(|part| part.group).collect();
    groups.into_iter().find_map(|group| {
        let job: Vec<&Part> = parts.iter().filter(|part| part.group == group && part.info.world_size > 1).collect();
        let step = |part: &Part, step: u64| part.step(step).copied();
        let first = job
            .iter()
            .flat_map(|part| part.skips)
            .map(|skip| skip.step)
            .filter(|&at| job.iter().any(|part| step(part, at).is_some_and(|record| !record.skipped)));
        let at = first.min()?;
        let part = job.iter().find(|part| part.skips.iter().any(|skip| skip.step == at))?;
        let skip = part.skips.iter().find(|skip| skip.step == at)?;
        let ranks = job.iter().filter_map(|part| {
            let record = step(part, at)?;
            // What a scaler decides in one step is its scale in the next.
            let scale = step(part, at + 1).unwrap_or(record).scale.map(Num);
            Some(RankValue { rank: part.info.rank, skipped: record.skipped, scale, ..RankValue::default() })
        });
        let apart = Apart {
            kind: ApartKind::Skipped,
            reason: None,
            equal: None,
            odd: None,
            single: None,
            op: "aten._amp_foreach_non_finite_check_and_unscale_.default".to_owned(),
            names: vec![],
            count: 0,
            of: 0,
            ranks: ranks.collect(),
        };
        Some((group, apart::trip(at, part.info.rank, skip.place.clone(), apart), *part))
    })
}

/// What each rank of a run in which nothing was found has left.
pub fn roles(parts: &[Part], report: &Report, lang: Lang) -> Vec<RankSummary> {
    let mut found: Vec<RankSummary> = parts
        .iter()
        .filter(|part| part.info.world_size > 1)
        .map(|part| summary(part, None, u32::MAX, report, lang))
        .collect();
    found.sort_by_key(|summary| (summary.role != Role::Lost, summary.rank));
    found
}

fn summary(part: &Part, located: Option<&Tripped>, origin: u32, report: &Report, lang: Lang) -> RankSummary {
    let rank = part.rank();
    let steps = part.steps.len();
    let (role, text) = match located {
        _ if rank == origin => (Role::Origin, origin_text(report, lang)),
        Some(found) if found.given().is_some() => (Role::Victim, victim_text(found, lang)),
        Some(found) => (
            Role::Also,
            say!(lang, "tripped in step {step} as well", "스텝 {step}에서 함께 감지됨", step = found.trip.step),
        ),
        None if part.trip.is_some() => (
            Role::Also,
            lang.pick("tripped as well; its step was not run again", "함께 감지되었으나 그 스텝을 다시 실행하지 못함")
                .to_owned(),
        ),
        None if part.end.is_none() && report.trip.is_none() => (
            Role::Lost,
            say!(
                lang,
                "its log stops after {steps} steps: the process was killed, or it goes on",
                "{steps}개 스텝 뒤에 로그가 끊김: 프로세스가 강제로 종료되었거나 아직 진행 중"
            ),
        ),
        None if part.end.is_some_and(|end| end.deserted.is_some()) => (
            Role::Victim,
            say!(
                lang,
                "ended after {steps} steps, in a collective to which another rank did not come",
                "{steps}개 스텝 뒤, 다른 랭크가 오지 않은 집합 통신에서 끝남"
            ),
        ),
        None => (Role::Quiet, say!(lang, "{steps} steps, nothing found", "{steps}개 스텝, 발견된 문제 없음")),
    };
    RankSummary { rank, role, step: part.trip.map(|trip| trip.step), text }
}

fn origin_text(report: &Report, lang: Lang) -> String {
    match report.origin.as_ref().and_then(|origin| origin.place.as_ref()) {
        Some(place) => say!(
            lang,
            "it began here, at {file}:{line}",
            "여기에서 시작됨: {file}:{line}",
            file = place.file,
            line = place.line
        ),
        None => lang.pick("it began here", "여기에서 시작됨").to_owned(),
    }
}

fn victim_text(found: &Tripped, lang: Lang) -> String {
    let from = found.given().map(|(_, ranks)| ranks).unwrap_or_default();
    let from = from.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let op = found.entry().map_or("", |entry| text::operator(&entry.op));
    say!(
        lang,
        "its own part was finite; {op} brought a bad one from rank {from}",
        "자신의 값은 유한했고, {op}에서 랭크 {from}의 비정상 값을 받음"
    )
}
