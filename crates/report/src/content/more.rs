use nanscope_lang::Lang;
use nanscope_trace::schema::{Report, Verdict};

/// Without a cause: what would tell more, each a thing to do.
pub(crate) fn tells_more(report: &Report, lang: Lang) -> Vec<String> {
    if report.verdict == Verdict::Finite || !report.causes.is_empty() {
        return Vec::new();
    }
    let mut ways = Vec::new();
    let mut add = |en: &str, ko: &str| ways.push(lang.pick(en, ko).to_owned());
    match (&report.replay, report.born()) {
        (None, _) => add(
            "the step was not run again: run the script under `nanscope run` until the trip",
            "해당 스텝이 재실행되지 않았습니다: `nanscope run`으로 스크립트를 이상이 감지될 때까지 실행하십시오",
        ),
        (Some(replay), _) if !replay.faithful => add(
            "the replay differs from the run: fix the seeds, and read files and time outside the step",
            "재실행 결과가 원래 실행과 다릅니다: 시드를 고정하고, 파일과 시각은 스텝 바깥에서 읽으십시오",
        ),
        (Some(_), None) => add(
            "no operator of the replay wrote the bad value: look at code that runs between backward and the update",
            "재실행한 연산 중 비정상 값을 쓴 것이 없습니다: 역전파와 업데이트 사이에서 실행되는 코드를 확인하십시오",
        ),
        (Some(_), Some(_)) => {}
    }
    if let Some(origin) = report.born() {
        if origin.inputs.iter().all(|input| input.census.is_none()) {
            add(
                "print the inputs of the line just before it: their largest and smallest values decide",
                "해당 줄 바로 앞에서 입력을 출력해 보십시오: 최댓값과 최솟값을 보면 판단할 수 있습니다",
            );
        }
        if origin.dtype.as_deref().is_some_and(|dtype| dtype != "float64" && dtype != "float32") {
            add(
                "run the same step with autocast off: finite then means that the format is too narrow",
                "autocast를 끄고 같은 스텝을 실행해 보십시오: 그때 유한하다면 자료형의 표현 범위가 좁은 것입니다",
            );
        }
        if origin.reference.is_none() {
            add(
                "run the line in float64: still bad means that the formula is to blame, not the format",
                "해당 줄을 float64로 실행해 보십시오: 그래도 비정상이면 자료형이 아니라 수식이 문제입니다",
            );
        }
    }
    ways
}
