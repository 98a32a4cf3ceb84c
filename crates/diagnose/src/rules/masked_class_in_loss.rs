use nanscope_lang::say;

use crate::case::Case;
use crate::meant::base;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A class (or position) was excluded with a logit of -inf, and a term of the loss takes its log-probability all the same.
    ///
    /// ## Why
    /// Label smoothing gives every class a share of the target, the excluded ones as well: share * -inf is infinite. The same
    /// for a KL divergence against a distribution that is not 0 there, and for a target that was itself excluded.
    ///
    /// ## What to do
    /// Exclude with a moderate finite logit (-30, say), or take the loss over the allowed classes only. The lowest
    /// value of the format is too much: a share of 0.01 of 3.4e38, summed over a batch, is inf again.
    ///
    /// ## Example
    /// ```python
    /// logits = logits.masked_fill(~allowed, -30.0)
    /// loss = F.cross_entropy(logits, y, label_smoothing=0.1)
    /// ```
    MaskedClassInLoss, "masked-class-in-loss", "a loss term takes a class that was masked to -inf",
    "mask with a finite logit (-30, say) instead of -inf, or take the loss over the allowed classes only",

    /// ## 무슨 일이 일어났나
    /// 로짓을 -inf로 하여 제외한 클래스(또는 위치)의 로그 확률을 손실의 한 항이 그대로 사용했습니다.
    ///
    /// ## 왜
    /// 레이블 스무딩은 제외된 클래스를 포함해 모든 클래스에 타깃의 몫을 나누어 주므로, 몫 * -inf가 무한대가 됩니다. 그
    /// 위치에서 0이 아닌 분포에 대한 KL 발산이나, 타깃 자체가 제외된 경우도 마찬가지입니다.
    ///
    /// ## 어떻게 하나
    /// 적당히 큰 유한한 로짓(예를 들어 -30)으로 제외하거나, 허용된 클래스에 대해서만 손실을 계산하십시오. 자료형의
    /// 최솟값은 너무 큽니다. 3.4e38의 0.01배만 되어도 배치에 대해 더하면 다시 inf가 됩니다.
    ///
    /// ## 예
    /// ```python
    /// logits = logits.masked_fill(~allowed, -30.0)
    /// loss = F.cross_entropy(logits, y, label_smoothing=0.1)
    /// ```
    "-inf로 마스킹한 클래스를 손실의 한 항이 사용함",
    "-inf 대신 유한한 로짓(예를 들어 -30)으로 마스킹하거나, 허용된 클래스에 대해서만 손실을 계산하십시오",
    check;
    apart "print the logit of the target class: -inf decides",
    "목표 클래스의 로짓을 출력해 보십시오: -inf이면 이것이 원인입니다"
}

const CONSUMES: &[&str] =
    &["sum", "mean", "neg", "mul", "dot", "nll_loss_forward", "nll_loss2d_forward", "gather", "sub", "rsub", "kl_div", "xlogy"];

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() || !CONSUMES.contains(&case.op()) || case.bad_output()?.counts?.nan > 0 && case.op() == "mul" {
        return None;
    }
    let arg = case.entry().inputs.iter().find(|arg| arg.counts.is_some_and(|c| c.neginf > 0 && c.nan == 0))?;
    let mut writer = arg.from;
    let mut normalised = false;
    for _ in 0..6 {
        let entry = &case.ledger.entries[writer?];
        match base(&entry.op) {
            "_log_softmax" => normalised = true,
            "masked_fill" | "masked_fill_" | "where" | "full" | "index_put_" | "fill_" | "add" if normalised => {
                let counts = arg.counts?;
                let mut evidence = vec![say!(
                    case.lang,
                    "{count} log-probabilities are -inf where {op} has masked them",
                    "{op} 연산으로 마스킹된 로그 확률 {count}개가 -inf",
                    count = counts.neginf,
                    op = text::operator(&entry.op)
                )];
                if let Some(out) = case.bad_output() {
                    evidence.push(say!(
                        case.lang,
                        "{} takes them into the loss: {}",
                        "{} 연산이 그 값을 손실에 포함함: {}",
                        text::operator(&case.entry().op),
                        text::bad_of(out, case.lang)
                    ));
                }
                return Finding::proved(8, evidence);
            }
            _ => {}
        }
        writer = entry.inputs.iter().find(|a| a.counts.is_some_and(|c| c.neginf > 0)).and_then(|a| a.from);
        if writer.is_none() {
            writer = entry.inputs.first().and_then(|a| a.from);
        }
    }
    None
}
