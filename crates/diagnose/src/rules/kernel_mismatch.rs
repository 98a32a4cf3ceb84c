use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Attention, Gap, Where};

use crate::attention;
use crate::course::Course;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A fused kernel of attention gave something else than the formula softmax(scale Q K^T + mask) V, or its gradients, computed in
    /// float64 from the same inputs; the difference is larger than rounding in the kernel's number formats can be. Nothing is
    /// raised, and values may all be finite: the loss belongs to another function than the one that is written down.
    ///
    /// ## Why
    /// A kernel has a scale, mask, dropout or tile boundary wrong for some shape: the last tile, keys that are padding, a causal
    /// mask where queries and keys differ in number, heads that share keys, a running maximum that is not corrected. Kernels of one's
    /// own, versions that do not belong together and devices that miscompute do the same.
    ///
    /// ## What to do
    /// Use a backend that gives what the formula gives; the evidence names those that were tried on the same inputs. Report shapes,
    /// types and arguments to whoever wrote the kernel.
    ///
    /// ## Example
    /// ```python
    /// with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ///     y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    /// ```
    KernelMismatch, "kernel-mismatch", "a fused kernel differs from its formula by more than its number format allows",
    "use another backend of attention, one that gives what the formula gives, and report the kernel",

    /// ## 무슨 일이 일어났나
    /// 융합된 어텐션 커널의 결과나 기울기가, 같은 입력으로 float64에서 계산한 softmax(scale Q K^T + mask) V 식과 다릅니다. 차이는
    /// 커널이 쓰는 자료형의 반올림으로 생길 수 있는 것보다 큽니다. 오류도 나지 않고 모든 값이 유한할 수도 있습니다. 손실이
    /// 코드에 적힌 것과 다른 함수의 것이 되었습니다.
    ///
    /// ## 왜
    /// 커널이 어떤 모양에서 스케일, 마스크, dropout, 타일 경계를 잘못 다룹니다. 마지막 타일, 패딩인 키, 쿼리와 키의 수가 다를
    /// 때의 causal 마스크, 키를 공유하는 head, 보정되지 않은 최댓값이 그런 곳입니다. 직접 작성한 커널, 서로 맞지 않는 버전, 잘못
    /// 계산하는 장치에서도 생깁니다.
    ///
    /// ## 어떻게 하나
    /// 식과 같은 결과를 내는 백엔드를 쓰십시오. 같은 입력으로 실행해 본 백엔드가 근거에 적혀 있습니다. 모양, 타입, 인자를
    /// 커널을 만든 쪽에 알리십시오.
    ///
    /// ## 예
    /// ```python
    /// with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ///     y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    /// ```
    "융합 커널의 결과가 자료형이 허용하는 것보다 크게 식과 다름",
    "식과 같은 결과를 내는 다른 어텐션 백엔드를 쓰고, 커널의 문제를 알리십시오",
    steps check;
    apart "run the same call by another backend of attention: other results mean that the kernel is to blame",
    "같은 호출을 다른 어텐션 백엔드로 실행해 보십시오: 결과가 다르면 커널이 원인입니다"
}

/// The first call, in order of the step, of which a result is beyond what its formats allow.
pub(crate) fn first(calls: &[Attention]) -> Option<(&Attention, &Gap)> {
    let wrong = calls.iter().filter_map(|call| Some((call, worst(call)?)));
    wrong.min_by_key(|(call, gap)| gap.entry.unwrap_or(call.entry))
}

/// What a call got wrong first: its output before its gradients, the farthest off of those.
fn worst(call: &Attention) -> Option<&Gap> {
    let first = call.gaps.iter().filter(|gap| gap.differ > 0).filter_map(|gap| gap.entry).min();
    let of_first = call.gaps.iter().filter(|gap| gap.differ > 0 && gap.entry == first);
    // Where everything is infinitely far off, the output says more than its log sum exp.
    let rank = |gap: &Gap| (gap.name != "logsumexp", gap.ratio.0);
    of_first.max_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal))
}

fn check(course: &Course) -> Option<Finding> {
    let (call, gap) = first(&course.ledger.attention)?;
    let (lang, entry) = (course.lang, gap.entry.unwrap_or(call.entry));
    let mut evidence = vec![differs(call, gap, lang)];
    evidence.extend(others(call, entry, lang));
    evidence.extend(backends(call, lang));
    evidence.extend(attention::mask(call, lang));
    let wrong = course.ledger.attention.iter().filter(|call| worst(call).is_some()).count();
    let fused = course.ledger.attention.iter().filter(|call| call.kind == "fused").count();
    if fused > 1 {
        evidence.push(say!(
            lang,
            "calls of fused attention in this step that differ: {wrong} of {fused}",
            "이 스텝의 융합 어텐션 호출 {fused}개 중 {wrong}개가 다름"
        ));
    }
    let tripped = course.trip.where_ == Where::Kernel;
    // After a trip on a value: the kernel is the cause where it made the value; anywhere before it, it may be.
    let origin = course.case.map(|case| case.entry().index);
    if !tripped && origin.is_some_and(|origin| entry > origin) {
        return None;
    }
    let proved = course.ledger.faithful && (tripped || origin == Some(entry));
    Finding::sure(proved, 9, evidence)
}

/// What came out, in numbers.
fn differs(call: &Attention, gap: &Gap, lang: Lang) -> String {
    let op = text::operator(&call.op);
    let Gap { name, differ, of, dtype, .. } = gap;
    let [error, allowed, value, reference] =
        [gap.error, gap.allowed, gap.value, gap.reference].map(|number| text::number(number.0));
    if gap.expected {
        return say!(
            lang,
            "{op}: {name} weighted by what the formula gives for it is {value} in all; with dropout {reference} is expected, and a distance of {allowed} has a chance of 1e-12",
            "{op}: 식의 값을 가중치로 한 {name}의 합이 {value}; dropout을 고려한 기댓값은 {reference}이고, 차이가 {allowed} 이상일 확률은 1e-12",
        );
    }
    let at = gap.index.as_deref().map(text::index).unwrap_or_default();
    say!(
        lang,
        "{op}: {name} differs from the formula in {differ} of {of} elements; at {at} it is {value} instead of {reference}, off by {error}, and rounding in {dtype} allows {allowed}",
        "{op}: {name} 원소 {of}개 중 {differ}개가 식과 다름; {at} 위치의 값은 {reference} 대신 {value}(차이 {error}), {dtype}의 반올림으로 가능한 차이는 {allowed}",
    )
}

/// The other results of the same operator.
fn others(call: &Attention, entry: usize, lang: Lang) -> Option<String> {
    let of_entry = |wrong: bool| {
        let names = call.gaps.iter().filter(|gap| gap.entry == Some(entry) && (gap.differ > 0) == wrong);
        names.map(|gap| &gap.name[..]).collect::<Vec<_>>().join(", ")
    };
    let (wrong, right) = (of_entry(true), of_entry(false));
    (!right.is_empty()).then(|| say!(lang, "beyond that: {wrong}; within: {right}", "벗어난 결과: {wrong}; 맞는 결과: {right}"))
}

/// Which backends are right on the same inputs, and what they cost beside each other.
fn backends(call: &Attention, lang: Lang) -> Vec<String> {
    let told = call.backends.iter().map(|one| {
        let (name, error, allowed) = (&one.name, text::number(one.error.0), text::number(one.allowed.0));
        if !one.right {
            return say!(
                lang,
                "backend {name} differs on the same inputs: off by {error}, {allowed} is allowed",
                "백엔드 {name}도 같은 입력에서 다름: 차이 {error}, 허용 {allowed}"
            );
        }
        let cost = match (one.time_ratio, one.memory_ratio) {
            (Some(time), Some(memory)) => say!(
                lang,
                ", at {time:.2}x the time and {memory:.2}x the memory of what torch chooses",
                ", torch가 고르는 백엔드의 {time:.2}배 시간과 {memory:.2}배 메모리"
            ),
            (Some(time), None) => say!(
                lang,
                ", at {time:.2}x the time of what torch chooses",
                ", torch가 고르는 백엔드의 {time:.2}배 시간"
            ),
            (None, _) => String::new(),
        };
        say!(
            lang,
            "backend {name} gives what the formula gives (off by {error}, {allowed} is allowed){cost}",
            "백엔드 {name}은(는) 식과 같음 (차이 {error}, 허용 {allowed}){cost}"
        )
    });
    told.collect()
}
