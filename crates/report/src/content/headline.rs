use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Confidence, Phase, Report, Verdict};

use super::number::{count, seconds};

/// The first line: an id where a cause is known, and one sentence.
pub(crate) struct Headline<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) text: String,
}

/// The headline of a report whose verdict is not `finite`.
pub(crate) fn headline(report: &Report, lang: Lang) -> Headline<'_> {
    if let Some(cause) = report.causes.first() {
        let text = format!("{} ({})", cause.title, confidence(cause.confidence, lang));
        return Headline { id: Some(&cause.id), text };
    }
    let text = match (report.verdict, report.born()) {
        (Verdict::Nonfinite, Some(origin)) => {
            let kind = &origin.kind;
            match origin.phase {
                Phase::Data => say!(
                    lang,
                    "{kind} was already in the data; its cause is unknown",
                    "데이터에 이미 {kind} 값이 있었음; 원인은 알 수 없음"
                ),
                Phase::Param => say!(
                    lang,
                    "{kind} was already in a parameter; its cause is unknown",
                    "파라미터에 이미 {kind} 값이 있었음; 원인은 알 수 없음"
                ),
                _ => say!(
                    lang,
                    "{kind} began here; its cause is unknown",
                    "{kind} 값이 여기에서 시작됨; 원인은 알 수 없음"
                ),
            }
        }
        (Verdict::Nonfinite, None) => lang
            .pick(
                "a value stopped being finite; where it began was not found",
                "유한하지 않은 값이 나타남; 어디에서 시작되었는지는 찾지 못함",
            )
            .into(),
        (Verdict::Diverging, _) => {
            lang.pick("the run is diverging; its cause is unknown", "학습이 발산하고 있음; 원인은 알 수 없음").into()
        }
        (Verdict::Mismatch, _) => lang
            .pick(
                "two executions that must agree do not; the cause is unknown",
                "일치해야 하는 두 실행의 결과가 다름; 원인은 알 수 없음",
            )
            .into(),
        (Verdict::Unhealthy, _) => lang
            .pick(
                "the run is finite but does not learn; the cause is unknown",
                "값은 유한하지만 학습이 이루어지지 않음; 원인은 알 수 없음",
            )
            .into(),
        (Verdict::Finite, _) => finite(report, lang),
    };
    Headline { id: None, text }
}

/// How sure, in one word.
pub(crate) fn confidence(confidence: Confidence, lang: Lang) -> &'static str {
    match confidence {
        Confidence::Proved => lang.pick("proved", "증명됨"),
        Confidence::Likely => lang.pick("likely", "유력함"),
        Confidence::Possible => lang.pick("possible", "가능성 있음"),
    }
}

/// The whole story of a run in which nothing was found.
pub(crate) fn finite(report: &Report, lang: Lang) -> String {
    let run = &report.run;
    let steps = lang.pick(count(run.steps, "step"), format!("{}개 스텝", run.steps));
    match run.seconds {
        // Without an end nobody knows what happened after the last record.
        None => say!(
            lang,
            "finite as far as recorded: {steps}, then the log stops",
            "기록된 범위에서는 유한함: {steps} 이후 로그가 끊김"
        ),
        Some(total) => say!(
            lang,
            "finite: {steps}, nothing found ({total})",
            "유한함: {steps}, 발견된 문제 없음 ({total})",
            total = seconds(total, lang)
        ),
    }
}
