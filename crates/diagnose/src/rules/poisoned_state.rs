use nanscope_lang::say;
use nanscope_trace::schema::{PastStep, Source};

use crate::course::Course;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A running statistic, a moving average, an optimizer moment or a weight was bad before this step began.
    ///
    /// ## Why
    /// One bad batch leaves its mark: running_mean * 0.9 + nan is NaN for ever, also when the update of that step was left out.
    /// A checkpoint written after the accident brings it back.
    ///
    /// ## What to do
    /// Reset the state (`reset_running_stats()`, a fresh optimizer, an older checkpoint) and reject a bad batch before the
    /// forward pass, not after it.
    ///
    /// ## Example
    /// ```python
    /// if not torch.isfinite(x).all(): continue      # before model(x)
    /// ```
    PoisonedState, "poisoned-state", "state carried a bad value in from before this step",
    "reset the state (reset_running_stats(), an older checkpoint, a fresh optimizer), and find the step that made it bad",

    /// ## 무슨 일이 일어났나
    /// 이동 통계, 이동 평균, 옵티마이저 모멘트 또는 가중치가 이 스텝이 시작되기 전에 이미 비정상이었습니다.
    ///
    /// ## 왜
    /// 비정상 배치 하나가 흔적을 남깁니다. running_mean * 0.9 + nan은 그 뒤로 계속 NaN이며, 그 스텝의 업데이트를
    /// 건너뛰었더라도 마찬가지입니다. 사고가 난 뒤에 저장한 체크포인트를 불러와도 다시 나타납니다.
    ///
    /// ## 어떻게 하나
    /// 상태를 초기화하고(`reset_running_stats()`, 새 옵티마이저, 더 오래된 체크포인트), 비정상 배치는 순전파 뒤가
    /// 아니라 앞에서 걸러 내십시오.
    ///
    /// ## 예
    /// ```python
    /// if not torch.isfinite(x).all(): continue      # before model(x)
    /// ```
    "이 스텝 이전부터 상태에 비정상 값이 있었음",
    "상태를 초기화하고(reset_running_stats(), 더 오래된 체크포인트, 새 옵티마이저), 상태를 비정상으로 만든 스텝을 찾으십시오",
    steps check;
    apart "check the state before the step begins: bad already then, whatever the batch is",
    "스텝이 시작되기 전에 상태를 확인해 보십시오: 배치와 관계없이 그때 이미 비정상이면 상태 때문입니다"
}

fn check(course: &Course) -> Option<Finding> {
    let lang = course.lang;
    let arg = course.case?.outside()?;
    let source = arg.source.as_ref()?;
    let mut evidence = vec![say!(
        lang,
        "{}: {} before the step began",
        "{}: 스텝이 시작되기 전에 이미 {}",
        text::source(source, lang),
        text::bad_of(arg, lang)
    )];
    evidence.extend(earlier(course));
    match source {
        // The replay that met the value is as faithful as it says.
        Source::Buffer { .. } | Source::State { .. } => Finding::sure(course.ledger.faithful, 4, evidence),
        Source::Param { unwritten: false, .. } => Finding::likely(4, evidence),
        _ => None,
    }
}

/// The step that may have made it bad: the latest whose signals were bad, or whose batch was odd.
fn earlier(course: &Course) -> Option<String> {
    let lang = course.lang;
    let before = course.trip.step;
    let bad = |past: &&PastStep| {
        let is_bad = |x: Option<nanscope_trace::schema::Num>| x.is_some_and(|x| !x.0.is_finite());
        past.step < before && (is_bad(past.loss) || is_bad(past.grad_norm))
    };
    if let Some(past) = course.history.steps.iter().rev().find(bad) {
        let loss = past.loss.map_or_else(|| "-".to_owned(), |loss| text::number(loss.0));
        let norm = past.grad_norm.map_or_else(|| "-".to_owned(), |norm| text::number(norm.0));
        return Some(say!(
            lang,
            "step {step} was bad already: loss {loss}, gradient norm {norm}",
            "스텝 {step}이 이미 비정상이었음: 손실 {loss}, 기울기 노름 {norm}",
            step = past.step
        ));
    }
    let odd = course.history.inputs.iter().flat_map(|input| &input.odd).filter(|odd| odd.step < before);
    let odd = odd.max_by_key(|odd| odd.step)?;
    Some(say!(
        lang,
        "the batch of step {step} held {value}, far from all before it",
        "스텝 {step}의 배치에 이전 값들과 크게 다른 {value} 값이 있었음",
        step = odd.step,
        value = text::number(odd.value)
    ))
}
