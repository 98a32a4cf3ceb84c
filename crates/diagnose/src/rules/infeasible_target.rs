use nanscope_lang::say;

use crate::case::Case;
use crate::rules::Finding;

rule! {
    /// ## What happened
    /// The target cannot be reached from the input: its probability is exactly 0 whatever the model says, and the loss is
    /// infinite.
    ///
    /// ## Why
    /// CTC needs at least one frame per label and one more between equal labels. A short clip, a wide stride or a long text
    /// breaks this for one sample of a batch.
    ///
    /// ## What to do
    /// Pass `zero_infinity=True`, which leaves such samples out of loss and gradient, or drop samples whose input is
    /// shorter than target length plus number of equal neighbours in the target.
    ///
    /// ## Example
    /// ```python
    /// loss = F.ctc_loss(logp, targets, input_lengths, target_lengths, zero_infinity=True)
    /// ```
    InfeasibleTarget, "infeasible-target", "a target that cannot be reached",
    "pass zero_infinity=True, or drop samples whose input has fewer frames than labels plus repeats",

    /// ## 무슨 일이 일어났나
    /// 입력으로부터 타깃에 도달할 수 없습니다. 모델의 출력이 무엇이든 그 확률은 정확히 0이고 손실은 무한대입니다.
    ///
    /// ## 왜
    /// CTC에는 레이블마다 적어도 한 프레임이 필요하고, 같은 레이블이 이어지면 그 사이에 한 프레임이 더 필요합니다. 짧은
    /// 클립, 넓은 스트라이드, 긴 텍스트 때문에 배치의 한 샘플에서 이 조건이 깨집니다.
    ///
    /// ## 어떻게 하나
    /// 그런 샘플을 손실과 기울기에서 제외하는 `zero_infinity=True`를 넘기거나, 입력 길이가 타깃 길이와 이웃한 같은
    /// 레이블 수의 합보다 짧은 샘플을 제외하십시오.
    ///
    /// ## 예
    /// ```python
    /// loss = F.ctc_loss(logp, targets, input_lengths, target_lengths, zero_infinity=True)
    /// ```
    "도달할 수 없는 타깃",
    "zero_infinity=True를 넘기거나, 입력 프레임이 레이블 수와 반복 횟수의 합보다 적은 샘플을 제외하십시오",
    check;
    apart "compare the target with its limits (length, number of classes): beyond them decides",
    "목표값을 한계(길이, 클래스 수)와 비교해 보십시오: 한계를 넘으면 이것이 원인입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || !matches!(case.op(), "_ctc_loss" | "_cudnn_ctc_loss") {
        return None;
    }
    let out = case.bad_output()?;
    let sample = out.index.as_deref().and_then(|at| at.first()).copied().unwrap_or(0);
    let counts = out.counts?;
    let mut evidence = vec![
        say!(
            case.lang,
            "samples of probability 0: {bad} of {of}, the first is sample {sample}",
            "샘플 {of}개 중 {bad}개의 확률이 0; 첫 샘플: {sample}",
            bad = counts.bad(),
            of = out.shape.first()?
        ),
        case.lang.pick("the log-probabilities that went in are finite", "입력된 로그 확률은 유한함").to_owned(),
    ];
    if let (Some(frames), Some(labels)) = (case.value("input_lengths"), case.value("target_lengths")) {
        evidence.push(say!(
            case.lang,
            "sample {sample} has {frames} frames for {labels} labels; each label needs one, and one more between equal labels",
            "샘플 {sample}: 레이블 {labels}개에 프레임 {frames}개; 레이블마다 한 프레임, 같은 레이블 사이에는 한 프레임이 더 필요함"
        ));
    }
    Finding::proved(8, evidence)
}
