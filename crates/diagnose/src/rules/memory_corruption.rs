use nanscope_lang::{Lang, say};
use nanscope_numeric::Format;
use nanscope_trace::schema::{Entry, Single};

use crate::apart;
use crate::case::Case;
use crate::course::Course;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A value changed with nobody writing it. Either a single element differs between ranks that agree in every other bit, or
    /// a step that failed does not fail when it is run again and its tensor differs in one element, or finite parts of a
    /// reduction arrived as something that no order of adding them can give.
    ///
    /// ## Why
    /// A bit flipped: in memory, in a cache, in an arithmetic unit, on the way between devices. A flip in an exponent bit
    /// turns an ordinary weight into one of 1e38 or into a NaN; a flip further down is never noticed by itself.
    ///
    /// ## What to do
    /// Go back to a checkpoint from before the step, and find the part that is at fault: memory tests, error counters (ECC,
    /// `nvidia-smi -q -d ECC`, the kernel log), the same step on another machine. Repeated on one rank, it is that machine.
    ///
    /// ## Example
    /// ```python
    /// model.load_state_dict(torch.load("before.pt", weights_only=True))   # a state from before the flip
    /// ```
    MemoryCorruption, "memory-corruption", "a value changed with nobody writing it",
    "go back to a checkpoint from before the step, and test the memory, the device and the network of the rank that is named",

    /// ## 무슨 일이 일어났나
    /// 아무도 쓰지 않은 값이 바뀌었습니다. 다른 모든 비트가 같은 랭크들 사이에서 원소 하나만 다르거나, 실패한 스텝을 다시
    /// 실행하면 실패하지 않고 텐서의 원소 하나만 다르거나, 유한한 값들의 리덕션이 어떤 순서로 더해도 나올 수 없는 값으로
    /// 도착했습니다.
    ///
    /// ## 왜
    /// 메모리, 캐시, 연산 장치, 장치 사이의 전송 중에 비트가 뒤집혔습니다. 지수 비트가 뒤집히면 평범한 가중치가 1e38이나
    /// NaN이 되고, 그보다 낮은 비트가 뒤집히면 스스로는 드러나지 않습니다.
    ///
    /// ## 어떻게 하나
    /// 그 스텝 이전의 체크포인트로 돌아가고, 고장 난 부품을 찾으십시오: 메모리 검사, 오류 카운터(ECC,
    /// `nvidia-smi -q -d ECC`, 커널 로그), 다른 기계에서 같은 스텝 실행. 한 랭크에서 반복되면 그 기계가 원인입니다.
    ///
    /// ## 예
    /// ```python
    /// model.load_state_dict(torch.load("before.pt", weights_only=True))   # a state from before the flip
    /// ```
    "아무도 쓰지 않은 값이 바뀜",
    "그 스텝 이전의 체크포인트로 돌아가고, 지목된 랭크의 메모리, 장치, 네트워크를 검사하십시오",
    check; steps over;
    apart "run the same step twice from the same state, here and on another machine: what differs between two runs is not the program",
    "같은 상태에서 같은 스텝을 이 기계와 다른 기계에서 두 번 실행해 보십시오: 실행마다 다르면 프로그램의 문제가 아닙니다"
}

/// Whether a collective gave what its parts cannot: all are finite and so small that no order of adding them leaves the format.
pub(super) fn arrived_otherwise(entry: &Entry) -> bool {
    bound(entry).is_some()
}

/// The largest magnitude that any order of adding the parts can reach, and the end of the format, which lies beyond it.
fn bound(entry: &Entry) -> Option<(f64, f64)> {
    let comm = entry.comm.as_ref().filter(|comm| {
        comm.live && comm.parts.len() == comm.world as usize && !comm.parts.iter().any(|part| part.counts.bad() > 0)
    })?;
    let sums = matches!(comm.reduction.as_deref(), Some("sum" | "avg"));
    let each = comm.parts.iter().filter_map(|part| part.counts.max_abs);
    let reach = if sums { each.sum() } else { each.fold(0.0, f64::max) };
    let moves = comm.reduction.is_none() || matches!(comm.reduction.as_deref(), Some("max" | "min"));
    let end = entry.outputs.iter().filter_map(|out| Format::named(&out.dtype)).map(|format| format.max_finite);
    let end = end.reduce(f64::min)?;
    ((sums || moves) && reach < end).then_some((reach, end))
}

fn check(case: &Case) -> Option<Finding> {
    if case.outside().is_some() {
        return None;
    }
    let (reach, end) = bound(case.entry())?;
    let out = case.bad_output()?;
    Finding::proved(
        9,
        vec![
            say!(
                case.lang,
                "the parts of all ranks are finite, and what came of them is not: {bad}",
                "모든 랭크의 값은 유한한데 그 결과는 유한하지 않음: {bad}",
                bad = text::bad_of(out, case.lang)
            ),
            say!(
                case.lang,
                "added in any order they stay below {reach}; {dtype} ends at {end}",
                "어떤 순서로 더해도 {reach} 이하임; {dtype}의 최댓값은 {end}",
                reach = text::number(reach),
                dtype = out.dtype,
                end = text::number(end)
            ),
        ],
    )
}

fn over(course: &Course) -> Option<Finding> {
    let lang = course.lang;
    if let Some(apart) = &course.trip.apart {
        let single = apart::corrupted(apart)?;
        let mut evidence = vec![
            element(single, lang),
            lang.pick(
                "all other parameters, gradients and settings of the ranks are equal to the bit, and no rank has written this one more often than the others",
                "랭크들의 다른 모든 파라미터, 기울기, 설정은 비트까지 같고, 이 텐서를 다른 랭크보다 더 쓴 랭크도 없음",
            )
            .to_owned(),
        ];
        evidence.extend(apart.odd.map(|rank| {
            say!(lang, "rank {rank} differs; the others agree", "랭크 {rank}만 다르고 나머지는 모두 같음")
        }));
        evidence.extend(
            apart.equal.map(|equal| say!(lang, "it was equal in step {equal}", "스텝 {equal}에서는 같았음")),
        );
        return if single.bits.count_ones() == 1 { Finding::proved(9, evidence) } else { Finding::likely(9, evidence) };
    }
    let single = course.ledger.single.as_ref().filter(|single| apart::is_telling(single))?;
    let evidence = vec![
        element(single, lang),
        lang.pick(
            "the step was run again from the same values: every other element is equal to the bit, and this one is as it should be",
            "같은 값에서 스텝을 다시 실행함: 다른 모든 원소는 비트까지 같고, 이 원소만 정상값으로 나옴",
        )
        .to_owned(),
    ];
    if single.bits.count_ones() <= 2 { Finding::proved(9, evidence) } else { Finding::likely(9, evidence) }
}

/// Which element, and which bits of it.
fn element(single: &Single, lang: Lang) -> String {
    let (name, index) = (&single.name, text::index(&single.index));
    let count = single.bits.count_ones();
    let bits = if count == 1 {
        let bit = single.bits.trailing_zeros();
        let part = part(&single.dtype, bit, lang);
        say!(lang, "bit {bit}, {part}", "{bit}번 비트({part})")
    } else {
        say!(lang, "{count} bits", "비트 {count}개")
    };
    let values = match (single.was, single.right) {
        (Some(was), Some(right)) => say!(
            lang,
            ": {} instead of {}",
            ": {} (올바른 값 {})",
            text::number(was.0),
            text::number(right.0)
        ),
        _ => String::new(),
    };
    say!(
        lang,
        "one of {of} elements differs, {name} at {index}, in {bits}{values}",
        "원소 {of}개 중 하나만 다름: {name}의 {index}, {bits}{values}",
        of = single.of
    )
}

fn part(dtype: &str, bit: u32, lang: Lang) -> &'static str {
    match Format::named(dtype) {
        Some(format) if bit == format.bits - 1 => lang.pick("its sign", "부호"),
        Some(format) if bit >= format.mantissa_bits => lang.pick("one of its exponent", "지수"),
        _ => lang.pick("one of its mantissa", "가수"),
    }
}
