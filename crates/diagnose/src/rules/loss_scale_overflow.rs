use nanscope_lang::say;
use nanscope_numeric::Format;
use nanscope_trace::schema::{Entry, Phase};

use crate::case::Case;
use crate::meant::base;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// The gradients are finite; multiplied with the loss scale they leave float16.
    ///
    /// ## Why
    /// A fixed loss scale that is too large for this model or this batch. Every gradient on the way back carries the factor;
    /// the first that is stored in float16 and larger than 65504 becomes infinite.
    ///
    /// ## What to do
    /// Use `torch.amp.GradScaler`, which starts at 65536, leaves an update out and halves the scale whenever a
    /// gradient overflows; or a smaller scale; or bfloat16, which needs none.
    ///
    /// ## Example
    /// ```python
    /// scaler = torch.amp.GradScaler("cuda")
    /// scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
    /// ```
    LossScaleOverflow, "loss-scale-overflow", "the loss scale pushes finite gradients out of float16",
    "use torch.amp.GradScaler, which finds a scale that fits and leaves bad updates out, or lower the fixed scale",

    /// ## 무슨 일이 일어났나
    /// 기울기는 유한하지만 손실 스케일을 곱하면 float16의 범위를 벗어납니다.
    ///
    /// ## 왜
    /// 고정된 손실 스케일이 이 모델이나 이 배치에는 너무 큽니다. 역전파되는 모든 기울기에 이 배수가 곱해져 있고,
    /// float16으로 저장되는 기울기 가운데 처음으로 65504를 넘는 것이 무한대가 됩니다.
    ///
    /// ## 어떻게 하나
    /// 65536에서 시작하여 기울기가 오버플로할 때마다 업데이트를 건너뛰고 스케일을 절반으로 줄이는
    /// `torch.amp.GradScaler`를 쓰거나, 더 작은 스케일을 쓰거나, 손실 스케일이 필요 없는 bfloat16을 쓰십시오.
    ///
    /// ## 예
    /// ```python
    /// scaler = torch.amp.GradScaler("cuda")
    /// scaler.scale(loss).backward(); scaler.step(opt); scaler.update()
    /// ```
    "손실 스케일 때문에 유한한 기울기가 float16의 범위를 벗어남",
    "알맞은 스케일을 찾고 비정상 업데이트를 건너뛰는 torch.amp.GradScaler를 쓰거나, 고정된 스케일을 낮추십시오",
    check;
    apart "run the step with a loss scale of 1: finite then means that only the scale is too large",
    "손실 스케일을 1로 두고 스텝을 실행해 보십시오: 그때 유한하면 스케일만 너무 큰 것입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_backward() {
        return None;
    }
    let out = case.bad_output()?;
    let format = Format::named(&out.dtype).filter(|f| f.bits <= 16 && f.max_finite < 1e6)?;
    let largest = case.entry().reference.as_ref().filter(|r| r.finite)?.largest?;
    let scale = case.ledger.entries.iter().rev().filter(|e| e.phase == Phase::Forward).find_map(scale_of)?;
    let unscaled = largest / scale;
    if unscaled >= format.max_finite {
        return None;
    }
    Finding::proved(8, vec![
        say!(case.lang, "the loss is multiplied with {}", "손실에 곱해진 스케일: {}", text::number(scale)),
        say!(
            case.lang,
            "the gradient would be {} without it, and is {} with it; {} ends at {}",
            "기울기는 스케일이 없으면 {}, 있으면 {}; {}의 최댓값은 {}",
            text::number(unscaled),
            text::number(largest),
            out.dtype,
            text::number(format.max_finite)
        ),
    ])
}

/// Factor of a multiplication of a scalar with a number, large enough to be a loss scale.
pub(crate) fn scale_of(entry: &Entry) -> Option<f64> {
    let scalar = base(&entry.op) == "mul" && entry.outputs.first()?.shape.iter().product::<u64>() == 1;
    if !scalar {
        return None;
    }
    let factor = entry.scalars.get("other").map(|x| x.0).or_else(|| {
        let largest = |i: usize| entry.inputs.get(i).and_then(|arg| arg.counts?.max_abs);
        Some(largest(0)?.max(largest(1)?))
    })?;
    (factor.abs() >= 64.0).then_some(factor.abs())
}
