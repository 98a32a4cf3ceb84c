//! A report from what was recorded while the run went on, for a run that was killed before it could diagnose itself.

use nanscope_lang::Lang;
use nanscope_trace::{
    Log, Run,
    schema::{REPORT_SCHEMA, Report, RunSummary, Verdict},
};

use crate::{knowledge, trend};

/// Never fails: what is absent is left out, and the warnings say what could not be told.
pub(crate) fn report(run: &Run, lang: Lang) -> Report {
    let trip = run.trips().first().copied();
    let longest = run.logs.iter().max_by_key(|log| log.steps.len());
    let bad_loss = longest.and_then(|log| log.steps.last()).and_then(|step| step.loss).is_some_and(|x| !x.is_finite());
    let mut warnings = Vec::new();
    if run.logs.iter().any(|log| log.end.is_none()) {
        warnings.push(
            lang.pick(
                "the log was cut short: the run was killed, or it still goes on",
                "로그가 중간에 끊겼습니다: 실행이 강제로 종료되었거나 아직 진행 중입니다",
            )
            .to_owned(),
        );
    }
    if trip.is_some() {
        warnings.push(
            lang.pick(
                "the step of the trip was not run again, so where it began is not known",
                "이상이 감지된 스텝을 다시 실행하지 못해 어디에서 시작되었는지 알 수 없습니다",
            )
            .to_owned(),
        );
    }
    warnings.extend(longest.into_iter().flat_map(|log| trend::sentences(&log.steps, lang)));
    warnings.extend(run.logs.iter().flat_map(|log| &log.notes).cloned());
    warnings.extend(run.logs.iter().filter_map(|log| log.end.as_ref()).flat_map(|end| &end.warnings).cloned());
    let mut report = Report {
        schema: REPORT_SCHEMA.to_owned(),
        verdict: match trip {
            Some(trip) => knowledge::verdict(trip),
            None if bad_loss => Verdict::Nonfinite,
            None => Verdict::Finite,
        },
        run: summary(run, longest),
        trip: trip.map(Into::into),
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
        warnings,
    };
    report.ranks = knowledge::roles(run, &report, lang);
    report
}

fn summary(run: &Run, longest: Option<&Log>) -> RunSummary {
    let info = run.info().cloned().unwrap_or_default();
    let end = longest.and_then(|log| log.end.as_ref());
    let recorded = longest.map_or(0, |log| log.steps.len() as u64);
    RunSummary {
        script: info.script,
        argv: info.argv,
        python: info.python,
        torch: info.torch,
        nanscope: info.nanscope,
        devices: info.devices,
        // A log cut within its first frame does not say; there is at least the process that wrote it.
        world_size: info.world_size.max(1),
        steps: end.map_or(recorded, |end| end.steps),
        seconds: end.map(|end| end.seconds),
        watch_seconds: end.map(|end| end.watch_seconds),
    }
}
