use nanscope_lang::say;
use nanscope_trace::schema::{Confidence, Phase};

use crate::case::Case;
use crate::course::Course;
use crate::rules::{Finding, recompute_mismatch};
use crate::text;

rule! {
    /// ## What happened
    /// Memory that a backward operator was about to read was overwritten first, by code that took it to be free.
    ///
    /// ## Why
    /// Activation offloading that hands its staging buffer back to a pool before autograd has used it, a copy with
    /// `non_blocking=True` that was not awaited, an output buffer shared between steps.
    ///
    /// ## What to do
    /// Give the code that reads the buffer memory of its own (`clone`), or return the buffer to its pool only when
    /// the tensor that views it is gone. After an asynchronous copy wait (`event.synchronize()`,
    /// `stream.wait_stream(...)`) before either side is used again.
    ///
    /// ## Example
    /// ```python
    /// out = view.clone()
    /// pool.release(buffer)
    /// ```
    BufferReused, "buffer-reused", "memory was overwritten while it was still needed",
    "give the code that reads the buffer memory of its own (clone), or release the buffer only after its last use",

    /// ## 무슨 일이 일어났나
    /// 역전파 연산이 읽으려던 메모리를, 이미 비었다고 여긴 다른 코드가 먼저 덮어썼습니다.
    ///
    /// ## 왜
    /// activation offloading에서 autograd가 다 쓰기 전에 스테이징 버퍼를 풀에 돌려준 경우, `non_blocking=True`로
    /// 시작한 복사가 끝나기를 기다리지 않은 경우, 여러 스텝이 출력 버퍼 하나를 함께 쓰는 경우입니다.
    ///
    /// ## 어떻게 하나
    /// 버퍼를 읽는 쪽에 별도의 메모리를 주거나(`clone`), 버퍼를 참조하는 텐서가 사라진 뒤에만 버퍼를 풀에
    /// 돌려주십시오. 비동기 복사 뒤에는 복사가 끝나기를 기다린 다음(`event.synchronize()`, `stream.wait_stream(...)`)
    /// 어느 쪽이든 다시 사용하십시오.
    ///
    /// ## 예
    /// ```python
    /// out = view.clone()
    /// pool.release(buffer)
    /// ```
    "아직 필요한 메모리를 덮어씀",
    "값을 읽는 쪽에 별도의 메모리를 주거나(clone), 마지막으로 사용한 뒤에만 버퍼를 반환하십시오",
    check;
    steps unpacked;
    apart "wait for every copy (synchronise) before the line and run it again: finite then means that the memory was still being written",
    "해당 줄 앞에서 모든 복사가 끝나기를 기다린 뒤(동기화) 다시 실행해 보십시오: 그때 유한하면 메모리에 아직 쓰는 중이었던 것입니다"
}

fn check(case: &Case) -> Option<Finding> {
    let overwrites = matches!(case.op(), "fill" | "copy" | "zero" | "set" | "normal" | "uniform");
    if !overwrites || !matches!(case.phase(), Phase::Backward | Phase::Hook | Phase::Recompute) || case.outside().is_some() {
        return None;
    }
    let reader = case.located.path.get(1).map(|&i| &case.ledger.entries[i])?;
    let out = case.bad_output()?;
    Finding::likely(6, vec![
        say!(
            case.lang,
            "{} overwrites a buffer during the backward pass: {}",
            "역전파 도중 {} 연산이 버퍼를 덮어씀: {}",
            text::operator(&case.entry().op),
            text::bad_of(out, case.lang)
        ),
        say!(
            case.lang,
            "{} reads it afterwards",
            "그 뒤에 {} 연산이 이 버퍼를 읽음",
            reader.node.as_deref().unwrap_or(&reader.op)
        ),
    ])
}

/// Saved-tensor hooks gave backward something else than they were given.
fn unpacked(course: &Course) -> Option<Finding> {
    let first = course.ledger.parity.as_ref()?.first.as_ref().filter(|first| first.unpacked)?;
    let lang = course.lang;
    let reader = first.node.as_deref().unwrap_or("backward");
    let mut evidence = vec![say!(
        lang,
        "saved-tensor hooks gave {reader} another tensor than they were given",
        "saved-tensor hook이 {reader}에 돌려준 텐서가 맡은 텐서와 다름"
    )];
    evidence.push(recompute_mismatch::differs(first, lang));
    let writer = first.altered.iter().find(|input| input.writer.is_some());
    if let Some((op, input)) = writer.and_then(|input| Some((input.writer.as_deref()?, input))) {
        let op = text::operator(op);
        let at = input.place.as_ref().map_or_else(String::new, |place| format!(" ({}:{})", place.file, place.line));
        evidence.push(say!(
            lang,
            "{op}{at} wrote into that memory after the tensor was packed and before {reader} had read it",
            "텐서를 맡긴 뒤 {reader}이(가) 읽기 전에 {op}{at} 연산이 그 메모리에 값을 씀"
        ));
    }
    let sure = writer.is_some() && course.ledger.faithful;
    let confidence = if sure { Confidence::Proved } else { Confidence::Likely };
    Some(Finding { confidence, weight: 9, evidence })
}
