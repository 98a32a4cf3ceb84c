use nanscope_lang::say;

use crate::case::Case;
use crate::rules::Finding;

rule! {
    /// ## What happened
    /// A mean was taken over nothing. The sum of nothing is 0, its count is 0, and 0 / 0 is NaN.
    ///
    /// ## Why
    /// A batch in which every label is ignored (-100), an image without positives, a mask that selects no element, an
    /// empty slice. `cross_entropy(..., reduction="mean")` divides by the number of labels that count, which is 0
    /// here; `mean()` of an empty tensor does the same.
    ///
    /// ## What to do
    /// Skip such a batch, or divide a sum by `max(count, 1)`. Where every rank must take part in the backward pass
    /// (DDP), multiply the term by 0 instead of leaving it out.
    ///
    /// ## Example
    /// ```python
    /// n = (target != -100).sum().clamp(min=1)
    /// loss = F.cross_entropy(logits, target, reduction="sum") / n
    /// ```
    EmptyReduction, "empty-reduction", "a mean over nothing",
    "skip the batch, or divide a sum (reduction=\"sum\") by max(count, 1) instead of taking a mean",

    /// ## 무슨 일이 일어났나
    /// 원소가 없는 것의 평균을 구했습니다. 합도 0, 개수도 0이므로 0 / 0, 즉 NaN이 됩니다.
    ///
    /// ## 왜
    /// 모든 레이블이 무시 대상(-100)인 배치, 양성 샘플이 없는 이미지, 아무 원소도 선택하지 않는 마스크, 빈
    /// 슬라이스에서 생깁니다. `cross_entropy(..., reduction="mean")`은 손실에 반영되는 레이블의 수로 나누는데,
    /// 여기서는 그 수가 0입니다. 빈 텐서의 `mean()`도 마찬가지입니다.
    ///
    /// ## 어떻게 하나
    /// 그런 배치는 건너뛰거나, 합을 `max(count, 1)`로 나누십시오. 모든 랭크가 역전파에 참여해야 하는 곳(DDP)에서는
    /// 항을 빼지 말고 0을 곱하십시오.
    ///
    /// ## 예
    /// ```python
    /// n = (target != -100).sum().clamp(min=1)
    /// loss = F.cross_entropy(logits, target, reduction="sum") / n
    /// ```
    "원소가 없는 것의 평균",
    "그런 배치를 건너뛰거나, 평균을 구하는 대신 합을 max(count, 1)로 나누십시오",
    check;
    apart "print how many elements enter the mean: none decides",
    "평균에 들어가는 원소의 수를 출력해 보십시오: 하나도 없으면 이것이 원인입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() {
        return None;
    }
    let entry = case.entry();
    match case.op() {
        "mean" | "nanmean" | "median" | "std" | "var" | "var_mean" | "std_mean" => {
            let input = case.input("self")?;
            if input.shape.iter().product::<u64>() != 0 {
                return None;
            }
            Finding::proved(8, vec![say!(
                case.lang,
                "{} over a tensor of shape {:?}: it has no elements",
                "{} 연산의 입력 텐서 크기가 {:?}: 원소가 없음",
                case.op(),
                input.shape
            )])
        }
        "nll_loss_forward" | "nll_loss2d_forward" => {
            let weight = entry.outputs.get(1)?.counts?;
            if weight.max_abs.unwrap_or(0.0) != 0.0 {
                return None;
            }
            let ignored = entry.scalars.get("ignore_index").map_or(-100.0, |x| x.0);
            let targets: u64 = case.input("target").map_or(0, |arg| arg.shape.iter().product());
            let text = if targets == 0 {
                case.lang
                    .pick("the loss was averaged over no targets at all", "타깃이 하나도 없는 채로 손실의 평균을 구함")
                    .to_owned()
            } else {
                say!(
                    case.lang,
                    "every one of {targets} targets is {ignored} (ignored): the loss was averaged over 0 of them",
                    "타깃 {targets}개가 모두 {ignored} (무시 대상): 손실의 평균에 들어간 타깃이 0개"
                )
            };
            Finding::proved(8, vec![text])
        }
        _ => None,
    }
}
