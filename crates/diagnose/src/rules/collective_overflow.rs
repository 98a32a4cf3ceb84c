use nanscope_lang::say;
use nanscope_numeric::Format;

use crate::case::Case;
use crate::rules::{Finding, memory_corruption};
use crate::text;

rule! {
    /// ## What happened
    /// Every rank gave finite values to a reduction, and what came out is not finite: the sum of the parts leaves the format
    /// in which they were sent.
    ///
    /// ## Why
    /// A sum over N ranks is up to N times as large as its parts. Gradients that are compressed to float16 for the transport
    /// lie under a loss scale as well, and 65504 is soon passed when the division by the number of ranks comes after the
    /// reduction. All ranks get the same infinity, so that none looks guilty.
    ///
    /// ## What to do
    /// Divide by the number of ranks before the reduction, not after it; reduce in bfloat16 or float32; lower the loss scale.
    /// `torch.distributed.algorithms.ddp_comm_hooks.default_hooks.fp16_compress_hook` divides first.
    ///
    /// ## Example
    /// ```python
    /// buffer = bucket.buffer().half().div_(dist.get_world_size())      # before the reduction
    /// future = dist.all_reduce(buffer, async_op=True).get_future()
    /// ```
    CollectiveOverflow, "collective-overflow", "every rank's part is finite, their reduction is not",
    "divide by the number of ranks before the reduction instead of after it, or reduce in bfloat16 or float32",

    /// ## 무슨 일이 일어났나
    /// 모든 랭크가 리덕션에 유한한 값을 냈는데 결과가 유한하지 않습니다. 각 랭크 값의 합이 전송에 쓰인 자료형의 범위를
    /// 벗어났습니다.
    ///
    /// ## 왜
    /// 랭크 N개의 합은 각 값의 최대 N배가 됩니다. 전송을 위해 float16으로 압축한 기울기에는 손실 스케일도 곱해져 있으므로,
    /// 랭크 수로 나누는 일이 리덕션 뒤에 오면 65504를 쉽게 넘습니다. 모든 랭크가 같은 무한대를 받기 때문에 어느 랭크도
    /// 원인처럼 보이지 않습니다.
    ///
    /// ## 어떻게 하나
    /// 랭크 수로 나누는 일을 리덕션 앞으로 옮기거나, bfloat16이나 float32로 리덕션하거나, 손실 스케일을 줄이십시오.
    /// `torch.distributed.algorithms.ddp_comm_hooks.default_hooks.fp16_compress_hook`은 먼저 나눕니다.
    ///
    /// ## 예
    /// ```python
    /// buffer = bucket.buffer().half().div_(dist.get_world_size())      # before the reduction
    /// future = dist.all_reduce(buffer, async_op=True).get_future()
    /// ```
    "모든 랭크의 값은 유한한데 리덕션 결과가 유한하지 않음",
    "랭크 수로 나누는 일을 리덕션 앞으로 옮기거나, bfloat16이나 float32로 리덕션하십시오",
    check;
    apart "run the reduction in float32: finite then means that the format of the transport is too narrow",
    "리덕션을 float32로 실행해 보십시오: 그때 유한하면 전송에 쓴 자료형의 범위가 문제입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if case.outside().is_some() {
        return None;
    }
    let entry = case.entry();
    let comm = entry.comm.as_ref().filter(|comm| comm.reduction.is_some() && !comm.parts.is_empty())?;
    if comm.parts.iter().any(|part| part.counts.bad() > 0) {
        return None;
    }
    if memory_corruption::arrived_otherwise(entry) {
        return None;
    }
    let largest = comm.parts.iter().filter_map(|part| part.counts.max_abs).reduce(f64::max)?;
    let out = case.bad_output()?;
    let mut evidence = vec![say!(
        case.lang,
        "the parts of all {count} ranks are finite, of magnitude up to {largest}; their reduction: {bad}",
        "랭크 {count}개의 값은 모두 유한함, 최대 크기 {largest}; 리덕션 결과: {bad}",
        count = comm.parts.len(),
        largest = text::number(largest),
        bad = text::bad_of(out, case.lang)
    )];
    let reference = entry.reference.as_ref().filter(|reference| reference.finite).and_then(|reference| reference.largest);
    let end = Format::named(&out.dtype).map(|format| format.max_finite);
    let (Some(sum), Some(end)) = (reference, end) else { return Finding::likely(8, evidence) };
    evidence.push(say!(
        case.lang,
        "the same in float64 is finite, of magnitude up to {sum}; {dtype} ends at {end}",
        "float64에서는 같은 리덕션의 결과가 유한함, 최대 크기 {sum}; {dtype}의 최댓값은 {end}",
        sum = text::number(sum),
        dtype = out.dtype,
        end = text::number(end)
    ));
    let mean = sum / f64::from(comm.world.max(1));
    if mean <= end {
        evidence.push(say!(
            case.lang,
            "divided by {world} before the reduction it would be at most {mean}",
            "리덕션 전에 {world}(으)로 나누면 최대 {mean}",
            world = comm.world,
            mean = text::number(mean)
        ));
    }
    Finding::sure(sum > end, 9, evidence)
}
