use nanscope_lang::say;

use crate::attention;
use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A softmax, a logsumexp or an attention row was taken over nothing but -inf. There is no largest element to subtract:
    /// -inf - (-inf) is NaN.
    ///
    /// ## Why
    /// A padded query under a causal mask, a sample that is all padding, a disabled head, a state that cannot be reached, the
    /// first tile of a tiled softmax. The NaN often sits in rows that the loss never looks at, and comes back in the gradient.
    ///
    /// ## What to do
    /// Let every row see at least one position (the diagonal, say), mask with a finite value such as -1e4, or select the rows
    /// that have one before the softmax.
    ///
    /// ## Example
    /// ```python
    /// visible = visible | torch.eye(t, dtype=torch.bool)
    /// scores = scores.masked_fill(~visible, -torch.inf)
    /// ```
    FullyMaskedRow, "fully-masked-row", "a softmax or logsumexp over nothing but -inf",
    "let every row see at least one position (the diagonal, say), or mask with a large finite value instead of -inf",

    /// ## 무슨 일이 일어났나
    /// softmax, logsumexp 또는 어텐션의 한 행이 -inf로만 이루어져 있었습니다. 빼 줄 최댓값이 없으므로 -inf - (-inf), 즉
    /// NaN이 됩니다.
    ///
    /// ## 왜
    /// causal 마스크가 걸린 패딩 쿼리, 전체가 패딩인 샘플, 꺼 둔 head, 도달할 수 없는 상태, 타일로 나눈 softmax의 첫
    /// 타일에서 생깁니다. 이 NaN은 손실이 보지 않는 행에 있다가 기울기로 되돌아오는 경우가 많습니다.
    ///
    /// ## 어떻게 하나
    /// 모든 행이 적어도 한 위치(예를 들어 대각 위치)는 보게 하거나, -1e4 같은 유한한 값으로 마스킹하거나, softmax 전에 볼
    /// 위치가 있는 행만 고르십시오.
    ///
    /// ## 예
    /// ```python
    /// visible = visible | torch.eye(t, dtype=torch.bool)
    /// scores = scores.masked_fill(~visible, -torch.inf)
    /// ```
    "-inf로만 이루어진 행의 softmax 또는 logsumexp",
    "모든 행이 적어도 한 위치(예를 들어 대각 위치)를 보게 하거나, -inf 대신 크기가 큰 유한한 값으로 마스킹하십시오",
    check;
    apart "count the positions that the mask leaves in each row: none decides",
    "마스크가 행마다 남기는 위치의 수를 세어 보십시오: 하나도 없는 행이 있으면 이것이 원인입니다"
}

const FORWARD: &[&str] = &[
    "_softmax",
    "_log_softmax",
    "_safe_softmax",
    "softmax",
    "logsumexp",
    "logaddexp",
    "sub",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_attention_math",
    "_masked_softmax",
];

fn check(case: &Case) -> Option<Finding> {
    if case.in_backward() {
        let node = case.node()?;
        let forward = case.forward()?;
        let masked = forward.outputs.iter().filter_map(|arg| arg.counts).map(|c| c.neginf).sum::<u64>();
        if !matches!(node, "Logsumexp" | "Softmax" | "LogSoftmax" | "Logaddexp" | "Logcumsumexp") || masked == 0 {
            return None;
        }
        return Finding::proved(7, vec![
            say!(
                case.lang,
                "{masked} results of the forward operator are -inf: every one of their terms is -inf",
                "순전파 연산의 결과 {masked}개가 -inf: 각각의 모든 항이 -inf"
            ),
            case.lang
                .pick(
                    "its derivative computes exp(-inf - (-inf)), which is nan",
                    "그 도함수가 계산하는 exp(-inf - (-inf))는 nan",
                )
                .to_owned(),
        ]);
    }
    if !case.in_forward() || !case.reads_neginf() || !FORWARD.contains(&case.op()) {
        return None;
    }
    let out = case.bad_output()?;
    let counts = out.counts.filter(|c| c.nan > 0)?;
    if case.op() == "sub" {
        let (a, b) = (case.value("self")?, case.value("other")?);
        if a != f64::NEG_INFINITY || b != f64::NEG_INFINITY {
            return None;
        }
        let at = out.index.as_deref().map(text::index).unwrap_or_default();
        return Finding::proved(7, vec![say!(
            case.lang,
            "-inf - (-inf) at {at}: the maximum over the visible positions is -inf",
            "{at} 위치에서 -inf - (-inf): 보이는 위치들의 최댓값이 -inf"
        )]);
    }
    let length = out.shape.last().copied().unwrap_or(1).max(1);
    let mut evidence = vec![];
    let row = out.index.as_deref().and_then(|at| at.split_last()).map(|(_, row)| text::index(row));
    if counts.nan % length == 0 {
        evidence.push(say!(
            case.lang,
            "rows of {length} scores that are nothing but -inf: {rows}",
            "점수 {length}개짜리 행 {rows}개가 -inf로만 이루어짐",
            rows = counts.nan / length
        ));
    } else {
        evidence.push(say!(case.lang, "{} results are nan", "결과 {}개가 nan", counts.nan));
    }
    if let Some(row) = row {
        evidence.push(say!(case.lang, "the first is row {row}", "첫 행: {row}"));
    }
    if let Some(call) = attention::of(case.ledger, case.entry()) {
        evidence.extend(attention::mask(call, case.lang));
    }
    Finding::proved(7, evidence)
}
