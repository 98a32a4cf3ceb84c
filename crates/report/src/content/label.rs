use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Operand, Origin, Phase};

use super::number::{count, index};

/// What stands under the line: how many values are bad, and the first of them.
pub(crate) fn label(origin: &Origin, lang: Lang) -> String {
    let Origin { bad, of, kind, .. } = origin;
    let first = match &origin.first_index {
        Some(at) if !at.is_empty() => say!(lang, ", the first at {at}", ", 첫 위치 {at}", at = index(at)),
        _ => String::new(),
    };
    let values = lang.pick(count(*of, "value"), format!("값 {of}개"));
    match origin.phase {
        Phase::Data | Phase::Param => {
            let unnamed = || lang.pick("a tensor", "어떤 텐서").to_owned();
            let tensor = origin.tensor.as_deref().map_or_else(unnamed, |name| format!("`{name}`"));
            say!(
                lang,
                "{tensor} was already bad when it got here: {bad} of {values} {kind}{first}",
                "여기에 왔을 때 이미 비정상이었던 텐서: {tensor}; {values} 중 {bad}개가 {kind}{first}"
            )
        }
        Phase::Backward => say!(
            lang,
            "the gradient of this is {kind} in {bad} of {values}{first}",
            "이 식의 기울기: {values} 중 {bad}개가 {kind}{first}"
        ),
        Phase::Optimizer => say!(
            lang,
            "the update wrote {kind} into {bad} of {values}{first}",
            "업데이트로 {values} 중 {bad}개가 {kind}{first}"
        ),
        _ if *of <= 1 => say!(lang, "the result is {kind}", "결과가 {kind}"),
        _ if *bad == 1 => say!(lang, "1 of {values} is {kind}{first}", "{values} 중 1개가 {kind}{first}"),
        _ => say!(lang, "{bad} of {values} are {kind}{first}", "{values} 중 {bad}개가 {kind}{first}"),
    }
}

/// What stands under the line of an operator that gave something else the second time.
pub(crate) fn parted(origin: &Origin, lang: Lang) -> String {
    let Origin { bad, of, .. } = origin;
    if *bad == 0 || *of == 0 {
        return lang.pick("run again, this is not what it was", "다시 실행했을 때의 결과가 처음과 다름").to_owned();
    }
    let values = lang.pick(count(*of, "value"), format!("값 {of}개"));
    say!(
        lang,
        "run again, {bad} of {values} compared are others",
        "다시 실행했을 때 비교한 {values} 중 {bad}개가 처음과 다름"
    )
}

/// For a tensor that arrived bad: `the first is in row 3 of 32`. None where shape or index are unknown.
pub(crate) fn row(origin: &Origin, lang: Lang) -> Option<String> {
    let row = *origin.first_index.as_ref()?.first()?;
    let holds = |operand: &&Operand| operand.shape.iter().product::<u64>() == origin.of && operand.shape.len() > 1;
    let rows = *origin.inputs.iter().find(holds)?.shape.first()?;
    Some(say!(
        lang,
        "the first is in row {row} of {rows}, counting from 0",
        "첫 위치는 전체 {rows}개 행 중 {row}번 행 (0부터 셈)"
    ))
}
