use nanscope_lang::say;
use nanscope_trace::schema::{Phase, Source};

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A value that is not finite was already in the batch, in a target or in another tensor from outside the step when the
    /// first operator met it. The operator and its layer are not to blame.
    ///
    /// ## Why
    /// NaN in a file, a division by zero in the preprocessing, the logarithm of 0 in a feature, padding filled with NaN. A
    /// weight of 0 does not protect from it: 0 * nan is nan, so a masked position still reaches the sum and the gradient.
    ///
    /// ## What to do
    /// Look at the sample named in the report. Reject or repair it before the forward pass; zero padded slots with
    /// `masked_fill` before the first layer, not after it. `torch.nan_to_num` is no repair by itself: it turns inf
    /// into the largest value of the format, which overflows in the next sum.
    ///
    /// ## Example
    /// ```python
    /// if not torch.isfinite(x).all():     # in the Dataset, where the index is known
    ///     raise ValueError(f"sample {index} holds nan or inf")
    /// ```
    BadInput, "bad-input", "a value was already bad when it came in with the data",
    "look at the sample named above, and reject or repair it before the forward pass; a mask applied later does not help, since 0 * nan is nan",

    /// ## 무슨 일이 일어났나
    /// 배치나 타깃처럼 스텝 밖에서 들어온 텐서에 유한하지 않은 값이 이미 들어 있었고, 첫 번째 연산이 그 값을
    /// 만났습니다. 그 연산이나 레이어의 잘못이 아닙니다.
    ///
    /// ## 왜
    /// 파일에 들어 있던 NaN, 전처리 과정의 0으로 나누기, 특징값에 취한 0의 로그, NaN으로 채운 패딩 등이 출처입니다.
    /// 가중치를 0으로 두어도 막을 수 없습니다. 0 * nan은 nan이므로, 마스크로 가린 위치의 값도 합과 기울기까지 전달됩니다.
    ///
    /// ## 어떻게 하나
    /// 보고서에 나온 샘플을 확인하십시오. 그 샘플은 순전파 전에 걸러 내거나 고치고, 패딩 자리는 첫 레이어 뒤가 아니라
    /// 앞에서 `masked_fill`로 0을 채우십시오. `torch.nan_to_num`만으로는 해결되지 않습니다. inf를 자료형의 최댓값으로
    /// 바꾸므로 다음 덧셈에서 다시 오버플로합니다.
    ///
    /// ## 예
    /// ```python
    /// if not torch.isfinite(x).all():     # in the Dataset, where the index is known
    ///     raise ValueError(f"sample {index} holds nan or inf")
    /// ```
    "데이터가 들어올 때 값이 이미 비정상이었음",
    "위에 표시된 샘플을 확인하고 순전파 전에 걸러 내거나 고치십시오 (0 * nan은 nan이므로 나중에 적용하는 마스크로는 막을 수 없습니다)",
    check;
    apart "check the batch before it enters the model: bad already there, the model has no part in it",
    "모델에 들어가기 전의 배치를 확인해 보십시오: 거기서 이미 비정상이면 모델과는 관계가 없습니다"
}

fn check(case: &Case) -> Option<Finding> {
    if case.writes_nan() && case.phase() == Phase::Data {
        let out = case.bad_output()?;
        return Finding::proved(5, vec![say!(
            case.lang,
            "the program itself writes nan here: {}",
            "프로그램이 여기에서 직접 nan을 씀: {}",
            text::bad_of(out, case.lang)
        )]);
    }
    if case.outside().is_none() {
        // A number of Python that is not finite: a factor, a learning rate, a weight decay.
        let (name, x) = case.entry().scalars.iter().find(|(name, x)| !x.0.is_finite() && !case.is_fill(name))?;
        return Finding::proved(3, vec![say!(
            case.lang,
            "{op} was given the number {x} as {name}; every tensor it read was finite",
            "{op}에 {name}(으)로 넘긴 숫자가 {x}; 읽은 텐서는 모두 유한",
            op = text::operator(&case.entry().op),
            x = text::number(x.0)
        )]);
    }
    let arg = case.outside()?;
    let Some(Source::Data { name, .. }) = &arg.source else { return None };
    if case.phase() != Phase::Data {
        return None;
    }
    Finding::proved(5, vec![say!(
        case.lang,
        "{name}, as it arrived: {bad}",
        "{name}, 들어올 때 이미: {bad}",
        name = text::data(name, case.lang),
        bad = text::bad_of(arg, case.lang)
    )])
}
