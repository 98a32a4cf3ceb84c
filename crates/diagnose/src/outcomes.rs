//! What was tried, in the report.

use std::cmp::Reverse;

use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Attempt, Confidence, Outcomes, Report, Safety, Text, Tried};

/// Puts experiments, the island and fixes into a report, the fixes ranked and before the words of advice; a cause that a
/// proved fix removes is proved with it.
pub fn tried(report: &mut Report, outcomes: &Outcomes, lang: Lang) {
    let pick = |text: &Text| lang.pick(&text.en, &text.ko).clone();
    report.experiments = outcomes.experiments.iter().map(|tried| tried.told(pick)).collect();
    report.island.clone_from(&outcomes.island);
    // Only the answer: what a family of fixes serves is wider than what one of them has shown.
    if let Some(cause) = report.causes.first_mut().filter(|cause| cause.confidence == Confidence::Likely)
        && outcomes.fixes.iter().any(|attempt| proved(attempt) && attempt.causes.contains(&cause.id))
    {
        cause.confidence = Confidence::Proved;
    }
    for cause in &mut report.causes {
        if let Some(tried) =
            confirmation(&cause.id, &outcomes.experiments).filter(|_| cause.confidence == Confidence::Likely)
        {
            cause.confidence = Confidence::Proved;
            let change = pick(&tried.change);
            cause.evidence.push(say!(lang, "tried: {change}: the step is finite", "실험: {change}: 스텝이 유한해짐"));
        }
    }
    let first = report.causes.first().map(|cause| cause.id.clone());
    // What was run and did not help is in the run folder, and no fix.
    let mut attempts: Vec<&Attempt> = outcomes.fixes.iter().filter(|attempt| !failed(attempt)).collect();
    attempts.sort_by_key(|attempt| rank(attempt, first.as_deref()));
    let advice = std::mem::take(&mut report.fixes);
    report.fixes = attempts.into_iter().map(|attempt| attempt.fix.told(pick)).chain(advice).collect();
    for (at, proof) in report.fixes.iter_mut().enumerate().filter_map(|(at, fix)| Some((at, fix.proof.as_mut()?))) {
        // Recorded before the fixes were ranked: as `nanscope fix RUN`.
        proof.command = format!("{} {} --prove", proof.command, at + 1);
    }
    for warning in outcomes.warnings.iter().map(pick) {
        if !report.warnings.contains(&warning) {
            report.warnings.push(warning);
        }
    }
}

/// The experiment that has shown a cause to be one: with this change, and no other, the step is finite.
fn confirmation<'a>(cause: &str, experiments: &'a [Tried]) -> Option<&'a Tried> {
    let ids: &[&str] = match cause {
        "half-overflow" | "mask-constant-overflow" | "epsilon-lost" => {
            &["line-float32", "operator-float32", "island-float32", "module-float32"]
        }
        "underflow" | "cancellation" => &["line-float32", "line-float64", "operator-float64", "island-float32"],
        "loss-scale-overflow" => &["loss-scale-smaller"],
        "optimizer-epsilon" => &["eps"],
        "bad-input" | "outlier-input" => &["batch-without"],
        _ => &[],
    };
    ids.iter().find_map(|id| experiments.iter().find(|tried| tried.finite && tried.id == *id))
}

fn proved(attempt: &Attempt) -> bool {
    attempt.fix.proof.as_ref().is_some_and(|proof| proof.proved)
}

fn failed(attempt: &Attempt) -> bool {
    attempt.fix.proof.as_ref().is_some_and(|proof| !proof.proved)
}

/// Proof first, then whether it removes the first cause, then safety, then how much it changes, then cost; smaller is better.
fn rank(attempt: &Attempt, cause: Option<&str>) -> (Reverse<bool>, u8, u8, u64, u64) {
    let removes = match cause {
        Some(id) if attempt.causes.iter().any(|cause| cause == id) => 0,
        _ if !attempt.causes.is_empty() => 1,
        _ => 2,
    };
    let safety = match attempt.fix.safety {
        Safety::Safe => 0,
        Safety::ChangesTraining => 1,
        Safety::Advice => 2,
    };
    // More than twice as slow, or not: a time measured over some steps tells no more.
    let ratio = attempt.fix.proof.as_ref().and_then(|proof| proof.time_ratio).unwrap_or(1.0);
    let cost = u64::from(ratio > 2.0);
    (Reverse(proved(attempt)), removes, safety, attempt.parts, cost)
}

#[cfg(test)]
mod tests {
    use nanscope_trace::schema::{Cause, Fix, Proof, RunInfo};

    use super::*;
    use crate::report::finite;

    fn attempt(id: &str, causes: &[&str], safety: Safety, proved: Option<bool>, time_ratio: f64) -> Attempt {
        let proof = proved.map(|proved| Proof {
            proved,
            steps: 9,
            finite: proved,
            healthy_losses: "identical".into(),
            compared: 5,
            time_ratio: Some(time_ratio),
            seconds: None,
            command: "nanscope fix run".into(),
        });
        let summary = Text { en: "in English".into(), ko: "한국어로".into() };
        Attempt {
            fix: Fix { id: id.into(), summary, safety, diff: None, files: vec![], proof, note: None },
            causes: causes.iter().map(|&id| id.to_owned()).collect(),
            parts: 1,
        }
    }

    fn cause(id: &str) -> Cause {
        Cause {
            id: id.into(),
            title: String::new(),
            confidence: Confidence::Likely,
            evidence: vec![],
            distinguish: None,
            docs: String::new(),
        }
    }

    fn experiment(id: &str, finite: bool) -> Tried {
        let change = Text { en: "loss scale 64".into(), ko: "손실 스케일 64".into() };
        Tried {
            id: id.into(),
            change,
            finite,
            loss: None,
            reference_error: None,
            time_ratio: None,
            memory_ratio: None,
            steps: Some(1),
            note: None,
        }
    }

    #[test]
    fn an_experiment_proves_the_cause_that_it_takes_away() {
        let confidence = |ids: &[(&str, bool)], before: Confidence| {
            let mut report = finite(&RunInfo::default(), &[], None);
            report.causes = vec![Cause { confidence: before, ..cause("loss-scale-overflow") }];
            let experiments = ids.iter().map(|(id, finite)| experiment(id, *finite)).collect();
            tried(&mut report, &Outcomes { experiments, ..Outcomes::default() }, Lang::En);
            (report.causes[0].confidence, report.causes[0].evidence.clone())
        };
        let (proved, evidence) = confidence(&[("float64", true), ("loss-scale-smaller", true)], Confidence::Likely);
        assert_eq!(
            (proved, evidence),
            (Confidence::Proved, vec!["tried: loss scale 64: the step is finite".to_owned()])
        );
        assert_eq!(confidence(&[("loss-scale-smaller", false)], Confidence::Likely), (Confidence::Likely, vec![]));
        assert_eq!(confidence(&[("float64", true)], Confidence::Likely), (Confidence::Likely, vec![]));
        assert_eq!(confidence(&[("loss-scale-smaller", true)], Confidence::Possible), (Confidence::Possible, vec![]));
    }

    #[test]
    fn proof_then_cause_then_safety_then_cost_rank_a_fix() {
        let mut report = finite(&RunInfo::default(), &[], None);
        report.causes = vec![cause("underflow"), cause("log-of-zero")];
        let outcomes = Outcomes {
            fixes: vec![
                attempt("guard", &[], Safety::Safe, Some(true), 1.0),
                attempt("failed", &["underflow"], Safety::Safe, Some(false), 1.0),
                attempt("slow", &["underflow"], Safety::ChangesTraining, Some(true), 3.0),
                attempt("quick", &["underflow"], Safety::ChangesTraining, Some(true), 1.1),
                attempt("unrun", &["underflow"], Safety::Safe, None, 1.0),
                attempt("safe", &["underflow"], Safety::Safe, Some(true), 3.0),
            ],
            ..Outcomes::default()
        };
        tried(&mut report, &outcomes, Lang::Ko);
        let ids: Vec<&str> = report.fixes.iter().map(|fix| fix.id.as_str()).collect();
        assert_eq!(ids, ["safe", "quick", "slow", "guard", "unrun"]);
        assert_eq!(report.fixes[0].summary, "한국어로");
        assert_eq!(report.fixes[1].proof.as_ref().unwrap().command, "nanscope fix run 2 --prove");
        assert_eq!(report.causes[0].confidence, Confidence::Proved);
        assert_eq!(report.causes[1].confidence, Confidence::Likely);
    }
}
