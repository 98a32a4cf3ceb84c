use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Alarm, AlarmKind, Entry, Phase};

use crate::course::Course;
use crate::meant::base;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A layer gives nothing but zeros, and no gradient passes it: the parameters before it have a gradient of exactly 0 in every
    /// step and stay as they are for ever.
    ///
    /// ## Why
    /// A ReLU whose inputs are all negative (one large update is enough to push the biases there), a clamp at its limit, a gate
    /// or mask that is always 0, a saturated sigmoid in a narrow format, a factor of 0 before a branch.
    ///
    /// ## What to do
    /// Print the share of zeros in the output of the layer after the first parameter named: 1.0 means dead. No
    /// gradient brings a dead ReLU back: start again from before it died, with a lower learning rate or a warm-up,
    /// with LeakyReLU (its slope is never 0), or with a normalisation before the ReLU, which keeps its inputs around
    /// 0.
    ///
    /// ## Example
    /// ```python
    /// print((h == 0).float().mean())          # 1.0: dead
    /// h = F.leaky_relu(self.fc(x), 0.01)      # a slope on the negative side
    /// ```
    DeadUnits, "dead-units", "a layer gives only zeros, and no gradient passes it",
    "print the share of zeros in the output of the layer behind the parameters named above: 1.0 means dead; then start again with a lower learning rate, LeakyReLU or a normalisation before the activation",

    /// ## 무슨 일이 일어났나
    /// 어떤 레이어의 출력이 모두 0이고 기울기가 통과하지 못합니다. 그 앞에 있는 파라미터들은 매 스텝 기울기가 정확히
    /// 0이어서 더 이상 바뀌지 않습니다.
    ///
    /// ## 왜
    /// 입력이 모두 음수인 ReLU(큰 업데이트 한 번으로도 편향이 그렇게 될 수 있습니다), 한계값에 걸린 clamp, 항상 0인
    /// 게이트나 마스크, 표현 범위가 좁은 자료형에서 포화된 sigmoid, 분기 앞에 곱해진 0이 원인입니다.
    ///
    /// ## 어떻게 하나
    /// 처음 지목된 파라미터 뒤에 있는 레이어의 출력에서 0의 비율을 출력해 보십시오. 1.0이면 죽은 것입니다. 죽은
    /// ReLU에는 기울기가 닿지 않으므로 되살아나지 않습니다. 죽기 전 시점으로 돌아가 학습률을 낮추거나 워밍업을
    /// 두거나, 기울기가 0이 되지 않는 LeakyReLU를 쓰거나, ReLU 앞에 정규화를 두어 입력을 0 근처로 유지하십시오.
    ///
    /// ## 예
    /// ```python
    /// print((h == 0).float().mean())          # 1.0: dead
    /// h = F.leaky_relu(self.fc(x), 0.01)      # a slope on the negative side
    /// ```
    "어떤 레이어의 출력이 모두 0이고 기울기가 통과하지 못함",
    "위에 지목된 파라미터 뒤에 있는 레이어의 출력에서 0의 비율을 출력해 보십시오(1.0이면 죽은 것입니다); 그런 다음 학습률을 낮추거나, LeakyReLU를 쓰거나, 활성화 함수 앞에 정규화를 두고 다시 시작하십시오",
    steps check;
    apart "count the zeros of each layer's output over one batch: a layer that is all zeros is dead, anything else is not",
    "한 배치에서 레이어마다 출력의 0을 세어 보십시오: 전부 0인 레이어만 죽은 것입니다"
}

/// Activations and limits that can be 0 throughout.
const GATES: &[&str] = &["relu", "relu_", "threshold", "clamp", "clamp_", "clamp_min", "clamp_min_", "hardtanh", "sigmoid"];
const NAMED: usize = 4;

fn check(course: &Course) -> Option<Finding> {
    let lang = course.lang;
    let dead = course.ledger.entries.iter().find(|entry| is_dead(entry));
    let mut evidence;
    if let Some(alarm) = course.alarm(AlarmKind::DeadUnits) {
        evidence = of_parameters(alarm, lang)?;
    } else {
        let alarm = course.alarm(AlarmKind::SilentZero)?;
        if dead.is_none() && !course.ledger.entries.is_empty() {
            return None;
        }
        evidence = vec![say!(
            lang,
            "every gradient was exactly 0 in all {steps} steps from step {first} on",
            "스텝 {first}부터 {steps}개 스텝 내내 모든 기울기가 정확히 0",
            steps = text::number(alarm.fact("steps")?),
            first = alarm.step
        )];
    }
    if let Some(entry) = dead {
        let place = entry.place.as_ref().map(|place| format!(" ({}:{})", place.file, place.line)).unwrap_or_default();
        evidence.push(say!(lang, "{}{place} gives only zeros", "{}{place}의 출력이 모두 0", text::operator(&entry.op)));
    }
    let tripped = course.tripped_on(AlarmKind::DeadUnits) || course.tripped_on(AlarmKind::SilentZero);
    match (tripped, dead) {
        (true, Some(_)) => Finding::likely(6, evidence),
        (true, None) if course.tripped_on(AlarmKind::DeadUnits) => Finding::likely(4, evidence),
        _ => Finding::possible(2, evidence),
    }
}

fn of_parameters(alarm: &Alarm, lang: Lang) -> Option<Vec<String>> {
    let number = |name| alarm.fact(name).map(text::number);
    let mut evidence = vec![say!(
        lang,
        "{dead} of {of} parameters had a gradient of exactly 0 for {steps} steps, from step {first} on",
        "스텝 {first}부터 {steps}개 스텝 동안 파라미터 {of}개 가운데 {dead}개의 기울기가 정확히 0",
        dead = number("dead")?,
        of = number("of")?,
        steps = number("steps")?,
        first = alarm.step
    )];
    if !alarm.names.is_empty() {
        let shown = alarm.names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        evidence.push(match alarm.fact("dead").unwrap_or(0.0) as usize - alarm.names.len().min(NAMED) {
            0 => say!(lang, "they are {shown}", "해당 파라미터: {shown}"),
            more => say!(lang, "they are {shown} and {more} more", "해당 파라미터: {shown} 외 {more}개"),
        });
    }
    evidence.push(match alarm.fact("learned") {
        Some(0.0) => lang.pick("they never had a gradient other than 0", "0이 아닌 기울기가 나온 적이 없음").to_owned(),
        _ => lang.pick("they had gradients other than 0 before", "그 전에는 0이 아닌 기울기가 있었음").to_owned(),
    });
    Some(evidence)
}

fn is_dead(entry: &Entry) -> bool {
    entry.phase == Phase::Forward
        && GATES.contains(&base(&entry.op))
        && entry.outputs.first().is_some_and(|out| out.counts.is_some_and(|counts| counts.max_abs == Some(0.0)))
        && entry.inputs.first().is_some_and(|arg| arg.counts.is_some_and(|counts| counts.max_abs > Some(0.0)))
}
