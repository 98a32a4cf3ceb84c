use nanscope_lang::say;
use nanscope_trace::schema::Source;

use crate::case::Case;
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
    check
}

fn check(case: &Case) -> Option<Finding> {
    let arg = case.outside()?;
    let source = arg.source.as_ref()?;
    let evidence = say!(
        case.lang,
        "{}: {} before the step began",
        "{}: 스텝이 시작되기 전에 이미 {}",
        text::source(source, case.lang),
        text::bad_of(arg, case.lang)
    );
    match source {
        Source::Buffer { .. } | Source::State { .. } => Finding::proved(4, vec![evidence]),
        Source::Param { unwritten: false, .. } => Finding::likely(4, vec![evidence]),
        _ => None,
    }
}
