use nanscope_lang::say;
use nanscope_trace::schema::AlarmKind;

use crate::course::Course;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// The gradients of one step were still there in the next, and the next added its own to them: every update was made with
    /// the sum over all steps so far. Each gradient is right; the sum is not the gradient of anything.
    ///
    /// ## Why
    /// `zero_grad()` is not called between two updates, or is called on another optimizer or another copy of the model. It looks
    /// like a learning rate that is far too high.
    ///
    /// ## What to do
    /// Call `optimizer.zero_grad()` once for every update: before the first backward of it, or right after the step. To
    /// accumulate over several batches on purpose, zero the gradients after each update all the same.
    ///
    /// ## Example
    /// ```python
    /// optimizer.zero_grad()
    /// loss.backward()
    /// optimizer.step()
    /// ```
    MissingZeroGrad, "missing-zero-grad", "gradients pile up over steps: nothing zeroes them between two updates",
    "call optimizer.zero_grad() before the first backward of every update",

    /// ## 무슨 일이 일어났나
    /// 한 스텝의 기울기가 지워지지 않은 채 다음 스텝의 기울기가 그 위에 더해졌습니다. 모든 업데이트가 그때까지의
    /// 기울기를 모두 더한 값으로 이루어졌습니다. 스텝마다의 기울기는 옳지만 그 합은 어떤 손실의 기울기도 아닙니다.
    ///
    /// ## 왜
    /// 두 업데이트 사이에서 `zero_grad()`를 호출하지 않았거나, 다른 옵티마이저나 모델의 다른 사본에 대해
    /// 호출했습니다. 겉으로는 학습률이 지나치게 높은 것처럼 보입니다.
    ///
    /// ## 어떻게 하나
    /// 업데이트마다 한 번씩 `optimizer.zero_grad()`를 호출하십시오. 첫 역전파 앞이나 `step()` 바로 뒤가 좋습니다.
    /// 여러 배치의 기울기를 일부러 누적할 때에도 업데이트가 끝나면 기울기를 지워야 합니다.
    ///
    /// ## 예
    /// ```python
    /// optimizer.zero_grad()
    /// loss.backward()
    /// optimizer.step()
    /// ```
    "기울기가 스텝마다 쌓임: 두 업데이트 사이에서 지워지지 않음",
    "업데이트마다 첫 역전파 앞에서 optimizer.zero_grad()를 호출하십시오",
    steps check;
    apart "print the gradient norm before backward: other than 0 means that gradients are carried on",
    "역전파 앞에서 기울기 노름을 출력해 보십시오: 0이 아니면 이전 기울기가 남아 있는 것입니다"
}

fn check(course: &Course) -> Option<Finding> {
    let lang = course.lang;
    let alarm = course.alarm(AlarmKind::PileUp)?;
    let mut evidence = vec![say!(
        lang,
        "from step {first} to step {last} each gradient contains that of the step before",
        "스텝 {first}부터 스텝 {last}까지 기울기마다 이전 스텝의 기울기가 들어 있음",
        first = alarm.step,
        last = alarm.seen
    )];
    if let (Some(from), Some(to)) = (alarm.fact("norm_from"), alarm.fact("norm_to")) {
        evidence.push(say!(
            lang,
            "the gradient norm was {from} before that and {to} at step {last}",
            "그 전의 기울기 노름은 {from}, 스텝 {last}에서는 {to}",
            from = text::number(from),
            to = text::number(to),
            last = alarm.seen
        ));
    }
    if course.tripped_on(AlarmKind::PileUp) { Finding::proved(9, evidence) } else { Finding::likely(8, evidence) }
}
