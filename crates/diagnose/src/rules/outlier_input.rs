use nanscope_lang::say;
use nanscope_trace::schema::{Batch, InputHistory, Odd, Source};

use crate::case::Case;
use crate::course::Course;
use crate::monitor::score;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// An input of the step is finite, but far outside all that the run has seen of it. What follows (an overflow, a
    /// jump of the loss, running statistics that never recover) is its consequence; the operator named only met it
    /// first. The robust score compares the largest magnitude of the batch with those of the batches before: |log10 x
    /// - log10 median| / (1.4826 MAD + 0.05), with the MAD of log10. From 3.5 on Iglewicz and Hoaglin call a value an
    /// outlier.
    ///
    /// ## Why
    /// A sample that missed its normalisation (16-bit pixels among values of 0 to 1), a wrong unit, a sentinel such as 1e9 or
    /// -9999 that stands for "missing", a corrupt file read as floats, a division by a tiny number in the preprocessing.
    ///
    /// ## What to do
    /// Look at the sample named in the report. Check the range in the data set, where the index is known; clamp or reject what
    /// lies outside. Clipping gradients hides such a batch, and normalisation layers keep its mark.
    ///
    /// ## Example
    /// ```python
    /// assert x.abs().max() < 50, f"sample {index}: {x.abs().max()}"    # in the Dataset; 50: what your data cannot exceed
    /// ```
    OutlierInput, "outlier-input", "an input lies far outside all that the run has seen before",
    "look at the sample named above; check the range of samples in the data set, and clamp or reject what lies outside",

    /// ## 무슨 일이 일어났나
    /// 스텝의 입력이 유한하기는 하지만 지금까지 본 범위를 크게 벗어났습니다. 그 뒤의 현상(오버플로, 손실의 급등,
    /// 회복되지 않는 이동 통계)은 그 결과이고, 지목된 연산은 그 값을 처음 만났을 뿐입니다. 로버스트 점수는 배치의
    /// 최대 크기를 이전 배치들과 비교한 |log10 x - log10 중앙값| / (1.4826 MAD + 0.05)이고(MAD는 log10 값의 MAD),
    /// Iglewicz와 Hoaglin은 3.5부터 이상치로 봅니다.
    ///
    /// ## 왜
    /// 정규화가 빠진 샘플(0~1 사이 값에 섞인 16비트 픽셀), 잘못된 단위, "값 없음"을 뜻하는 1e9나 -9999 같은 표식, 실수로
    /// 읽은 손상된 파일, 전처리에서 아주 작은 수로 나눈 경우입니다.
    ///
    /// ## 어떻게 하나
    /// 보고서에 나온 샘플을 확인하십시오. 인덱스를 알 수 있는 데이터셋에서 범위를 검사하고, 벗어난 값은 자르거나 버리십시오.
    /// 기울기 클리핑은 이런 배치를 가릴 뿐이며, 정규화 레이어에는 흔적이 남습니다.
    ///
    /// ## 예
    /// ```python
    /// assert x.abs().max() < 50, f"sample {index}: {x.abs().max()}"    # in the Dataset; 50: what your data cannot exceed
    /// ```
    "입력이 지금까지 본 범위를 크게 벗어남",
    "위에 나온 샘플을 확인하십시오; 데이터셋에서 샘플의 범위를 검사하고, 벗어난 값은 자르거나 버리십시오",
    steps check;
    apart "run the step with that sample left out: if the fault is gone, the sample is its cause",
    "그 샘플을 빼고 스텝을 실행해 보십시오: 문제가 사라지면 그 샘플이 원인입니다"
}

/// Batches from which the robust score is used, and where it calls a batch far.
const BATCHES: u64 = 8;
const SCORE: f64 = 6.0;
/// Times the median magnitude that a batch must reach as well: batches may all be alike.
const TIMES: f64 = 10.0;
/// Times the largest of a feature so far that is far whatever the score.
const FAR: f64 = 1e3;
/// Steps from an odd batch to the trip.
const STEPS: u64 = 8;
/// Times the usual loss or gradient norm that is a jump.
const JUMP: f64 = 100.0;

fn check(course: &Course) -> Option<Finding> {
    if course.case.and_then(Case::outside).is_some_and(|arg| matches!(arg.source, Some(Source::Data { .. }))) {
        // A batch that is not finite is another cause.
        return None;
    }
    let inputs = course.history.inputs.iter();
    let far = inputs.flat_map(|input| input.odd.iter().map(move |odd| (input, odd))).filter(|(input, odd)| is_far(input, odd));
    let near = far.filter(|(_, odd)| (odd.step..=odd.step + STEPS).contains(&course.trip.step));
    let (input, odd) = near.max_by(|a, b| rank(a.1).partial_cmp(&rank(b.1)).unwrap_or(std::cmp::Ordering::Equal))?;
    let evidence = evidence(course, input, odd);
    let same_step = odd.step == course.trip.step;
    if same_step && course.case.is_some_and(|case| is_linked(case, odd)) {
        // An operator that fails by a mechanism of its own could have been written to bear such a number: that comes first.
        return Finding::sure(course.ledger.faithful, 3, evidence);
    }
    match (jumped(course, odd.step), same_step) {
        (true, _) => Finding::likely(7, evidence),
        (false, true) => Finding::likely(2, evidence),
        (false, false) => Finding::possible(2, evidence),
    }
}

/// The latest first, then the farthest.
fn rank(odd: &Odd) -> (u64, f64) {
    (odd.step, ratio(odd).unwrap_or(f64::INFINITY))
}

/// Over the largest magnitude of its feature in the batches before.
fn ratio(odd: &Odd) -> Option<f64> {
    Some(odd.value.abs() / odd.low?.abs().max(odd.high?.abs()))
}

fn batch_of(input: &InputHistory, odd: &Odd) -> Option<Batch> {
    input.recent.iter().rfind(|batch| batch.step == odd.step).copied()
}

/// Robust score of the odd batch, where there are batches enough.
fn scored(input: &InputHistory, odd: &Odd) -> Option<(f64, f64, f64)> {
    let (median, mad) = (input.median?, input.mad?);
    let largest = batch_of(input, odd)?.largest()?;
    (input.batches > BATCHES).then(|| (score(largest, median, mad), largest, median))
}

pub(crate) fn is_far(input: &InputHistory, odd: &Odd) -> bool {
    match ratio(odd) {
        // Of a first batch, against itself: the monitor has measured it.
        None => true,
        Some(ratio) if ratio >= FAR => true,
        Some(_) => scored(input, odd).is_some_and(|(score, largest, median)| score >= SCORE && largest >= TIMES * median),
    }
}

/// True when the origin is in the same sample, or met numbers of the same size.
fn is_linked(case: &Case, odd: &Odd) -> bool {
    let row = |index: &Option<Vec<u64>>| index.as_ref().is_some_and(|index| odd.sample.is_some() && index.first() == odd.sample.as_ref());
    let entry = case.entry();
    let in_sample = entry.outputs.iter().chain(&entry.inputs).any(|arg| row(&arg.index));
    let as_large = case.largest_input().is_some_and(|largest| largest >= odd.value.abs() / 10.0);
    in_sample || as_large
}

/// True when loss or gradient norm of a step are far above what was usual.
fn jumped(course: &Course, step: u64) -> bool {
    course.steps().filter(|past| past.step == step).any(|past| {
        let usual = course.history.baselines.iter().find(|usual| usual.optimizer == past.optimizer);
        let over = |now: Option<nanscope_trace::schema::Num>, usual: Option<nanscope_trace::schema::Num>| {
            now.is_some_and(|now| !now.0.is_finite() || usual.is_some_and(|usual| now.0.abs() >= JUMP * usual.0))
        };
        usual.is_some_and(|usual| over(past.loss, usual.loss) || over(past.grad_norm, usual.grad_norm))
    })
}

fn evidence(course: &Course, input: &InputHistory, odd: &Odd) -> Vec<String> {
    let lang = course.lang;
    let name = match &input.name {
        Some(name) => text::data(name, lang),
        None => say!(lang, "input {}", "입력 {}", input.slot),
    };
    let at = match (odd.sample, odd.feature) {
        (Some(sample), Some(feature)) => say!(lang, "sample {sample}, feature {feature}", "샘플 {sample}, 특성 {feature}"),
        (Some(sample), None) => say!(lang, "sample {sample}", "샘플 {sample}"),
        (None, _) => lang.pick("its value", "값").to_owned(),
    };
    let (value, step) = (text::number(odd.value), odd.step);
    let mut found = vec![say!(
        lang,
        "{name}: {at} of the batch of step {step} is {value}",
        "{name}: 스텝 {step}의 배치에서 {at}의 값이 {value}"
    )];
    if let (Some(low), Some(high)) = (odd.low.map(text::number), odd.high.map(text::number)) {
        found[0] += &say!(lang, "; seen before: {low} to {high}", "; 이전까지의 범위는 {low}에서 {high}");
    }
    if let Some((score, largest, median)) = scored(input, odd) {
        found.push(say!(
            lang,
            "the largest magnitude of this batch is {largest}, the median of {batches} batches {median}: robust score {score} (3.5 is an outlier)",
            "이 배치의 최대 크기는 {largest}, 배치 {batches}개의 중앙값은 {median}: 로버스트 점수 {score} (3.5부터 이상치)",
            largest = text::number(largest),
            batches = input.batches - 1,
            median = text::number(median),
            score = text::number(score)
        ));
    } else if let Some(typical) = batch_of(input, odd).and_then(|batch| batch.typical).map(text::number) {
        found.push(say!(
            lang,
            "the median magnitude of this batch is {typical}",
            "이 배치의 크기 중앙값은 {typical}"
        ));
    }
    found
}
