use nanscope_lang::say;
use nanscope_trace::schema::{AlarmKind, Where};

use crate::course::Course;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// Dynamic loss scaling left out one update after the other and halved its scale each time, until the scale was below
    /// every use. Nothing was learned meanwhile.
    ///
    /// ## Why
    /// `GradScaler` takes every infinite or NaN gradient for an overflow that a smaller scale would cure. A gradient that is bad
    /// for another reason (the root of 0, a NaN in the data, an empty batch) is bad at any scale. Once the scale has become
    /// tiny, good gradients underflow to 0 as well.
    ///
    /// ## What to do
    /// Find the operator that gives the bad gradient without any scale: it is the fault, the scaler only follows. Where an
    /// operator is named beside this, begin there.
    ///
    /// ## Example
    /// ```python
    /// speed = (v.pow(2).sum(-1) + 1e-12).sqrt()   # not .sqrt() at exactly 0
    /// ```
    LossScaleCollapse, "loss-scale-collapse", "the loss scale falls without end, since a gradient is bad at any scale",
    "find the operator whose gradient is bad even without a loss scale; a smaller scale cannot cure it",

    /// ## 무슨 일이 일어났나
    /// 동적 손실 스케일링이 업데이트를 연달아 건너뛰면서 그때마다 스케일을 절반으로 줄여, 스케일이 쓸모없을 만큼
    /// 작아졌습니다. 그동안 학습은 전혀 이루어지지 않았습니다.
    ///
    /// ## 왜
    /// `GradScaler`는 무한대나 NaN 기울기를 모두 스케일을 줄이면 해결되는 오버플로로 여깁니다. 다른 이유(0의 제곱근,
    /// 데이터의 NaN, 빈 배치)로 비정상인 기울기는 어떤 스케일에서도 비정상입니다. 스케일이 너무 작아지면 정상
    /// 기울기마저 0으로 언더플로합니다.
    ///
    /// ## 어떻게 하나
    /// 스케일 없이도 비정상 기울기를 만드는 연산을 찾으십시오. 그것이 원인이고 스케일러는 따라갔을 뿐입니다. 함께
    /// 지목된 연산이 있으면 거기부터 보십시오.
    ///
    /// ## 예
    /// ```python
    /// speed = (v.pow(2).sum(-1) + 1e-12).sqrt()   # not .sqrt() at exactly 0
    /// ```
    "어떤 스케일에서도 비정상인 기울기 때문에 손실 스케일이 끝없이 떨어짐",
    "손실 스케일이 없어도 기울기가 비정상인 연산을 찾으십시오; 스케일을 줄여서는 해결되지 않습니다",
    steps check;
    apart "run one step without the scaler: gradients that are bad then too are not the scale's fault",
    "스케일러 없이 한 스텝을 실행해 보십시오: 그래도 기울기가 비정상이면 스케일 때문이 아닙니다"
}

/// Halvings from which a fall is worth a word when the trip is the scale's.
const FALLEN: f64 = 256.0;

fn check(course: &Course) -> Option<Finding> {
    let lang = course.lang;
    if let Some(alarm) = course.alarm(AlarmKind::LossScaleCollapse) {
        let skipped = text::number(alarm.fact("skipped")?);
        let mut evidence = vec![match alarm.fact("of").map(text::number) {
            Some(of) => say!(
                lang,
                "{skipped} of the {of} updates up to step {last} were left out",
                "스텝 {last}까지 업데이트 {of}번 가운데 {skipped}번을 건너뜀",
                last = alarm.seen
            ),
            None => say!(
                lang,
                "{skipped} updates in a row were left out, from step {first} on",
                "스텝 {first}부터 업데이트를 {skipped}번 연달아 건너뜀",
                first = alarm.step
            ),
        }];
        if let (Some(from), Some(to)) = (alarm.fact("scale_from"), alarm.fact("scale_to")) {
            evidence.push(fell(from, to, lang));
        }
        return if course.tripped_on(AlarmKind::LossScaleCollapse) {
            Finding::likely(4, evidence)
        } else {
            Finding::likely(2, evidence)
        };
    }
    let (first, last) = (course.history.scales.first()?, course.history.scales.last()?);
    let (from, to) = (first.from.0, last.to.0);
    if course.trip.where_ != Where::Scale || to * FALLEN > from {
        return None;
    }
    let skipped = course.steps().rev().take_while(|past| past.skipped).count();
    let skips = say!(
        lang,
        "{skipped} updates in a row were left out",
        "업데이트를 {skipped}번 연달아 건너뜀"
    );
    Finding::likely(3, vec![skips, fell(from, to, lang)])
}

fn fell(from: f64, to: f64, lang: nanscope_lang::Lang) -> String {
    let (from, to) = (text::number(from), text::number(to));
    say!(lang, "the loss scale fell from {from} to {to}", "손실 스케일이 {from}에서 {to}까지 떨어짐")
}
