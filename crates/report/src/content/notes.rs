use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Digits, Origin, Phase, Replay, Report};

use super::{
    label::row,
    number::{number, seconds},
    operand::operand,
    trip::trip,
};

/// One fact: what it is about, and the fact.
pub(crate) struct Note {
    pub(crate) about: String,
    pub(crate) text: String,
}

/// What stands before the thing to try that would tell a cause from others.
pub(crate) fn to_be_sure(lang: Lang) -> &'static str {
    lang.pick("to be sure", "확인 방법")
}

/// The facts about the origin, the most telling first: why, from what, where, how it was found.
pub(crate) fn notes(report: &Report, lang: Lang) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut add = |about: &str, text: String| notes.push(Note { about: about.into(), text });
    for evidence in report.causes.iter().take(1).flat_map(|cause| &cause.evidence) {
        add(lang.pick("because", "근거"), evidence.clone());
    }
    if let Some(apart) = report.causes.first().and_then(|cause| cause.distinguish.as_ref()) {
        add(to_be_sure(lang), apart.clone());
    }
    if let Some(origin) = report.born() {
        for (names, text) in inputs(origin, lang) {
            add(&say!(lang, "input {names}", "입력 {names}"), text);
        }
        if let Some(row) = row(origin, lang).filter(|_| origin.phase == Phase::Data) {
            add(lang.pick("sample", "샘플"), row);
        }
        if let Some(text) =
            reference(origin, report.replay.as_ref().and_then(|replay| replay.whole.as_ref()?.finite), lang)
        {
            add(lang.pick("reference", "대조"), text);
        }
        if let Some(text) = report.replay.as_ref().and_then(|replay| whole(replay, lang)) {
            add(lang.pick("float64", "float64"), text);
        }
        for point in &report.digits {
            add(lang.pick("digits", "자릿수"), digits(point, lang));
        }
        add(lang.pick("where", "위치"), place(origin, lang));
    } else if let Some(origin) = report.parted() {
        add(lang.pick("where", "위치"), place(origin, lang));
    }
    if let Some(summary) = &report.trip {
        add(lang.pick("seen", "감지"), trip(summary, report.run.world_size, lang));
    }
    for (ranks, text) in ranks(report) {
        add(&say!(lang, "rank {ranks}", "랭크 {ranks}"), text.to_owned());
    }
    if let Some(facts) = &report.replay {
        add(lang.pick("replay", "재실행"), replay(facts, lang));
    }
    notes
}

/// Ranks up to which each has a line of its own.
const OWN_LINE: usize = 8;

/// Ranks, and what is said of them. Of many ranks, those of which the same is said share a line, as `0-3, 5`.
fn ranks(report: &Report) -> Vec<(String, &str)> {
    let mut lines: Vec<(Vec<u32>, &str)> = Vec::new();
    for summary in &report.ranks {
        match lines.iter_mut().find(|(_, text)| *text == summary.text && report.ranks.len() > OWN_LINE) {
            Some((ranks, _)) => ranks.push(summary.rank),
            None => lines.push((vec![summary.rank], &summary.text)),
        }
    }
    lines.into_iter().map(|(ranks, text)| (runs(&ranks), text)).collect()
}

fn runs(ranks: &[u32]) -> String {
    let runs = ranks.chunk_by(|one, next| one + 1 == *next);
    let run = |run: &[u32]| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run[0].to_string(),
    };
    runs.map(run).collect::<Vec<_>>().join(", ")
}

/// Inputs of one line that are named; the rest are counted.
const NAMED: usize = 4;

/// Names and text of the inputs; those of which the same is said share a line, as autograd keeps what it is given too.
fn inputs(origin: &Origin, lang: Lang) -> Vec<(String, String)> {
    let mut lines: Vec<(Vec<&str>, String)> = Vec::new();
    for input in &origin.inputs {
        let text = operand(input, lang);
        match lines.iter_mut().find(|(_, other)| *other == text) {
            Some((names, _)) => names.push(&input.name),
            None => lines.push((vec![&input.name], text)),
        }
    }
    let joined = |names: &[&str]| match names.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => say!(lang, "{shown} and {more} more", "{shown} 외 {more}개", shown = names[..NAMED].join(", ")),
    };
    lines.into_iter().map(|(names, text)| (joined(&names), text)).collect()
}

fn reference(origin: &Origin, whole: Option<bool>, lang: Lang) -> Option<String> {
    let reference = origin.reference.as_ref()?;
    let dtype = &reference.dtype;
    Some(match (reference.finite, reference.largest.map(number)) {
        (true, Some(largest)) => say!(
            lang,
            "the same in {dtype} is finite, of magnitude up to {largest}",
            "{dtype}에서는 같은 연산의 결과가 유한함, 최대 크기 {largest}"
        ),
        (true, None) => {
            say!(lang, "the same in {dtype} is finite", "{dtype}에서는 같은 연산의 결과가 유한함")
        }
        (false, _) if whole == Some(true) => say!(
            lang,
            "on the same inputs it is not finite in {dtype} either: the fault is in what it was given",
            "같은 입력이면 {dtype}에서도 결과가 유한하지 않음: 문제는 입력에 있음"
        ),
        (false, _) => say!(
            lang,
            "the same in {dtype}, from the same inputs, is not finite either: a wider format for this line alone would not help",
            "같은 입력이면 {dtype}에서도 결과가 유한하지 않음: 이 줄만 자료형을 넓혀서는 해결되지 않음"
        ),
    })
}

/// What the whole step in float64 shows at the trip.
fn whole(replay: &Replay, lang: Lang) -> Option<String> {
    let whole = replay.whole.as_ref()?;
    let text = if whole.finite? {
        lang.pick("the whole step in float64 is finite", "스텝 전체를 float64로 계산하면 유한함")
    } else {
        lang.pick("the whole step in float64 is not finite either", "스텝 전체를 float64로 계산해도 유한하지 않음")
    };
    Some(match whole.skipped {
        0 => text.to_owned(),
        skipped => say!(
            lang,
            "{text} ({skipped} of {of} operators have no float64 form and were taken from the run)",
            "{text} (연산 {of}개 중 {skipped}개는 float64로 실행할 수 없어 원래 결과를 사용함)",
            of = whole.operators
        ),
    })
}

/// `train.py:31 (x - m): 7.2 -> 1.1 significant digits`.
fn digits(point: &Digits, lang: Lang) -> String {
    let mut at = Vec::new();
    if let (Some(file), Some(line)) = (&point.file, point.line) {
        at.push(format!("{file}:{line}"));
    }
    at.push(point.code.as_ref().map_or_else(|| point.op.clone(), |code| format!("`{code}`")));
    say!(
        lang,
        "{at}: {before:.1} -> {after:.1} significant digits",
        "{at}: 유효 숫자 {before:.1} -> {after:.1}자리",
        at = at.join(" "),
        before = point.before,
        after = point.after
    )
}

/// `Encoder.forward, module encoder, aten.mm.default, float16 on cpu, forward of step 4`.
fn place(origin: &Origin, lang: Lang) -> String {
    let mut parts = Vec::new();
    if let Some(place) = origin.place.as_ref().filter(|place| !matches!(place.function.as_str(), "" | "<module>")) {
        parts.push(place.function.clone());
    }
    if let Some(module) = &origin.module {
        parts.push(say!(lang, "module {module}", "모듈 {module}"));
    }
    match (origin.op.as_deref().map(operator), &origin.node) {
        (Some(op), Some(node)) => parts.push(say!(lang, "{op} in {node}", "{node} 안의 {op}")),
        (Some(op), None) => parts.push(op.to_owned()),
        (None, Some(node)) => parts.push(node.clone()),
        (None, None) => {}
    }
    match (&origin.dtype, &origin.device) {
        (Some(dtype), Some(device)) => parts.push(say!(lang, "{dtype} on {device}", "{dtype} ({device})")),
        (Some(dtype), None) => parts.push(dtype.clone()),
        (None, _) => {}
    }
    let step = origin.step;
    parts.push(match origin.phase {
        Phase::Data | Phase::Param => say!(lang, "met in step {step}", "스텝 {step}에서 처음 읽힘"),
        other => say!(lang, "{phase} of step {step}", "스텝 {step}의 {phase}", phase = phase(other, lang)),
    });
    parts.join(", ")
}

fn replay(replay: &Replay, lang: Lang) -> String {
    let Replay { faithful, method, events, operators, seconds: total, .. } = replay;
    let total = seconds(*total, lang);
    let counts =
        say!(lang, "{events} events, {operators} operators, {total}", "이벤트 {events}개, 연산 {operators}개, {total}");
    if *faithful {
        say!(lang, "faithful to the run, by {method}: {counts}", "원래 실행과 일치함 (방식: {method}): {counts}")
    } else {
        say!(
            lang,
            "NOT faithful, by {method}: {counts}; take the line above as a lead, not as proof",
            "원래 실행과 일치하지 않음 (방식: {method}): {counts}; 위에 표시한 줄은 증거가 아니라 단서로만 볼 것"
        )
    }
}

/// An operator's name for a person: `aten.mm` of `aten.mm.default`. Almost every one ends so.
pub(crate) fn operator(op: &str) -> &str {
    op.trim_end_matches(".default")
}

/// The phase as a word in a sentence.
pub(crate) fn phase(phase: Phase, lang: Lang) -> &'static str {
    match phase {
        Phase::Data => lang.pick("data", "데이터"),
        Phase::Param => lang.pick("param", "파라미터"),
        Phase::Forward => lang.pick("forward", "순전파"),
        Phase::Recompute => lang.pick("recompute", "재계산"),
        Phase::Backward => lang.pick("backward", "역전파"),
        Phase::Hook => lang.pick("hook", "훅"),
        Phase::Comm => lang.pick("comm", "통신"),
        Phase::Unscale => lang.pick("unscale", "언스케일"),
        Phase::Clip => lang.pick("clip", "클리핑"),
        Phase::Optimizer => lang.pick("optimizer", "옵티마이저"),
    }
}
