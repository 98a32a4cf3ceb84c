use nanscope_lang::say;
use nanscope_trace::schema::AlarmKind;

use crate::course::Course;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// The learning rate of every parameter group has been exactly 0 for a long time: gradients are computed and nothing is
    /// changed by them.
    ///
    /// ## Why
    /// A warm-up from 0 whose `scheduler.step()` is never called, or is called once an epoch where the schedule counts steps; a
    /// schedule made for fewer steps than the loop runs; a rate computed with integer division. Whether it was meant cannot be
    /// seen from the run, so this is never called more than possible.
    ///
    /// ## What to do
    /// Print `scheduler.get_last_lr()` over the first steps, and compare the schedule's length with the number of updates
    /// (accumulation makes fewer of them than batches).
    ///
    /// ## Example
    /// ```python
    /// scheduler = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))   # not step / warmup
    /// ...
    /// optimizer.step(); scheduler.step()
    /// ```
    ZeroLearningRate, "zero-learning-rate", "the learning rate is 0, so that nothing is learned",
    "compare the schedule with the number of updates: is scheduler.step() called for each, and is the schedule long enough",

    /// ## 무슨 일이 일어났나
    /// 모든 파라미터 그룹의 학습률이 오랫동안 정확히 0이었습니다. 기울기는 계산되지만 아무것도 바뀌지 않습니다.
    ///
    /// ## 왜
    /// 0에서 시작하는 워밍업인데 `scheduler.step()`을 호출하지 않거나, 스텝 단위 스케줄인데 에폭마다 한 번만
    /// 호출했거나, 스케줄이 루프보다 짧거나, 학습률을 정수 나눗셈으로 계산한 경우입니다. 의도한 것인지는 실행만 보고
    /// 알 수 없으므로 확신도는 항상 "가능성 있음"입니다.
    ///
    /// ## 어떻게 하나
    /// 처음 몇 스텝 동안 `scheduler.get_last_lr()`를 출력하고, 스케줄의 길이를 업데이트 횟수와 비교하십시오(기울기를
    /// 누적하면 업데이트는 배치보다 적습니다).
    ///
    /// ## 예
    /// ```python
    /// scheduler = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))   # not step / warmup
    /// ...
    /// optimizer.step(); scheduler.step()
    /// ```
    "학습률이 0이어서 아무것도 학습되지 않음",
    "스케줄과 업데이트 횟수를 비교하십시오: 업데이트마다 scheduler.step()을 호출하는지, 스케줄이 충분히 긴지 확인하십시오",
    steps check;
    apart "set a small constant rate: parameters that change then were only waiting for one",
    "작은 상수 학습률을 넣어 보십시오: 그때 파라미터가 바뀌면 학습률만 문제였던 것입니다"
}

fn check(course: &Course) -> Option<Finding> {
    let lang = course.lang;
    let alarm = course.alarm(AlarmKind::ZeroRate).filter(|_| course.tripped_on(AlarmKind::ZeroRate))?;
    let mut evidence = vec![say!(
        lang,
        "the learning rate was 0 in all {steps} steps from step {first} on",
        "스텝 {first}부터 {steps}개 스텝 내내 학습률이 0",
        steps = text::number(alarm.fact("steps")?),
        first = alarm.step
    )];
    evidence.push(match alarm.fact("lr_before").map(text::number) {
        Some(before) => say!(lang, "it was {before} before", "그 전의 학습률은 {before}"),
        None => lang.pick("it was 0 from the first step on", "첫 스텝부터 줄곧 0").to_owned(),
    });
    Finding::possible(5, evidence)
}
