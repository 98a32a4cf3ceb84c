use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Origin, Phase, Replay, Report};

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

/// The facts about the origin, the most telling first: why, from what, where, how it was found.
pub(crate) fn notes(report: &Report, lang: Lang) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut add = |about: &str, text: String| notes.push(Note { about: about.into(), text });
    for evidence in report.causes.iter().take(1).flat_map(|cause| &cause.evidence) {
        add(lang.pick("because", "근거"), evidence.clone());
    }
    if let Some(apart) = report.causes.first().and_then(|cause| cause.distinguish.as_ref()) {
        add(lang.pick("to be sure", "확인 방법"), apart.clone());
    }
    if let Some(origin) = report.born() {
        for input in &origin.inputs {
            add(&say!(lang, "input {}", "입력 {}", input.name), operand(input, lang));
        }
        if let Some(row) = row(origin, lang).filter(|_| origin.phase == Phase::Data) {
            add(lang.pick("sample", "샘플"), row);
        }
        if let Some(text) = reference(origin, lang) {
            add(lang.pick("reference", "대조"), text);
        }
        add(lang.pick("where", "위치"), place(origin, lang));
    } else if let Some(origin) = report.parted() {
        add(lang.pick("where", "위치"), place(origin, lang));
    }
    if let Some(summary) = &report.trip {
        add(lang.pick("seen", "감지"), trip(summary, report.run.world_size, lang));
    }
    if let Some(facts) = &report.replay {
        add(lang.pick("replay", "재실행"), replay(facts, lang));
    }
    notes
}

fn reference(origin: &Origin, lang: Lang) -> Option<String> {
    let reference = origin.reference.as_ref()?;
    let dtype = &reference.dtype;
    Some(match (reference.finite, reference.largest.map(number)) {
        (true, Some(largest)) => say!(
            lang,
            "the same in {dtype} is finite, largest {largest}",
            "{dtype}에서는 같은 연산의 결과가 유한함, 최대 크기 {largest}"
        ),
        (true, None) => {
            say!(lang, "the same in {dtype} is finite", "{dtype}에서는 같은 연산의 결과가 유한함")
        }
        (false, _) => say!(
            lang,
            "the same in {dtype} is not finite either: the format is not to blame",
            "{dtype}에서도 같은 연산의 결과가 유한하지 않음: 형식 때문이 아님"
        ),
    })
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
    match (&origin.op, &origin.node) {
        (Some(op), Some(node)) => parts.push(say!(lang, "{op} in {node}", "{node} 안의 {op}")),
        (Some(op), None) => parts.push(op.clone()),
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
    let Replay { faithful, method, events, operators, seconds: total } = replay;
    let total = seconds(*total, lang);
    let counts =
        say!(lang, "{events} events, {operators} operators, {total}", "이벤트 {events}개, 연산 {operators}개, {total}");
    if *faithful {
        say!(lang, "faithful, by {method}: {counts}", "원래 실행과 일치함 (방식: {method}): {counts}")
    } else {
        say!(
            lang,
            "NOT faithful, by {method}: {counts}; take the line above as a lead, not as proof",
            "원래 실행과 일치하지 않음 (방식: {method}): {counts}; 위에 표시한 줄은 증거가 아니라 단서로만 볼 것"
        )
    }
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
        Phase::Unscale => lang.pick("unscale", "스케일 해제"),
        Phase::Clip => lang.pick("clip", "클리핑"),
        Phase::Optimizer => lang.pick("optimizer", "옵티마이저"),
    }
}
