use nanscope_lang::say;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// Loss and gradients grew from step to step until they left the number format. No single operator is to blame.
    ///
    /// ## Why
    /// A learning rate that is too high for the scale of inputs or weights, a missing warm-up, an initialisation that amplifies,
    /// gradients that are not clipped in a recurrent network.
    ///
    /// ## What to do
    /// Lower the learning rate or warm it up, bring the inputs to unit scale, clip the gradient norm.
    ///
    /// ## Example
    /// ```python
    /// torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    /// ```
    Divergence, "divergence", "loss and gradients grow from step to step until they leave the format",
    "lower the learning rate (or warm it up), scale the inputs, or clip the gradient norm",

    /// ## 무슨 일이 일어났나
    /// 손실과 기울기가 스텝마다 커지다가 부동소수점 형식의 범위를 벗어났습니다. 어느 한 연산의 잘못이 아닙니다.
    ///
    /// ## 왜
    /// 입력이나 가중치의 크기에 비해 학습률이 너무 높거나, 워밍업이 없거나, 초기화가 값을 증폭하거나, 순환 신경망에서
    /// 기울기를 클리핑하지 않은 경우입니다.
    ///
    /// ## 어떻게 하나
    /// 학습률을 낮추거나 워밍업을 두고, 입력의 스케일을 1 정도로 맞추고, 기울기 노름을 클리핑하십시오.
    ///
    /// ## 예
    /// ```python
    /// torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    /// ```
    "손실과 기울기가 스텝마다 커져 형식의 범위를 벗어남",
    "학습률을 낮추거나 워밍업을 두고, 입력의 스케일을 맞추거나 기울기 노름을 클리핑하십시오",
    check
}

/// Factor over the recorded steps from which growth is divergence.
const GROWTH: f64 = 1e6;

fn check(case: &Case) -> Option<Finding> {
    let history = case.ledger.facts.get("history")?.as_array()?;
    let norms: Vec<f64> = history.iter().filter_map(|step| step.get("grad_norm")?.as_f64()).filter(|x| *x > 0.0).collect();
    let (first, last) = (*norms.first()?, *norms.last()?);
    let rising = norms.windows(2).filter(|w| w[1] > w[0]).count() + 1 >= norms.len().saturating_sub(norms.len() / 4);
    if norms.len() < 2 || !rising || last < first * GROWTH.min(10f64.powi(2 * norms.len() as i32)) || last < 1e6 {
        return None;
    }
    let per_step = (last / first).powf(1.0 / (norms.len() - 1) as f64);
    let mut evidence = vec![
        say!(
            case.lang,
            "the gradient norm grew from {first} to {last} over {steps} steps",
            "{steps}개 스텝 동안 기울기 노름이 {first}에서 {last}까지 커짐",
            first = text::number(first),
            last = text::number(last),
            steps = norms.len()
        ),
        say!(case.lang, "a factor of {} per step", "스텝마다 {}배", text::number(per_step)),
    ];
    if let Some(lr) = case.fact("optimizer.lr") {
        evidence.push(say!(case.lang, "the learning rate is {}", "학습률: {}", text::number(lr)));
    }
    Finding::sure(true, 8, evidence)
}
