use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{AlarmKind, PastStep};

use crate::course::Course;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// Loss and gradients grew from step to step; left alone, they leave the number format and become inf, then NaN.
    /// No single operator is to blame.
    ///
    /// ## Why
    /// A learning rate that is too high for the scale of inputs or weights, a missing warm-up, an initialisation that amplifies,
    /// gradients that are not clipped in a recurrent network.
    ///
    /// ## What to do
    /// Lower the learning rate (to a tenth, say) or warm it up, bring the inputs to unit scale, clip the gradient
    /// norm.
    ///
    /// ## Example
    /// ```python
    /// loss.backward()                         # with a GradScaler: scaler.unscale_(optimizer) before clipping
    /// torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    /// optimizer.step()
    /// ```
    Divergence, "divergence", "loss and gradients grow from step to step",
    "lower the learning rate (to a tenth, say) or warm it up, bring the inputs to unit scale, or clip the gradient norm between backward and the update",

    /// ## 무슨 일이 일어났나
    /// 손실과 기울기가 스텝마다 커졌습니다. 그대로 두면 부동소수점 자료형의 범위를 벗어나 inf가 되고, 이어서 NaN이
    /// 됩니다. 어느 한 연산의 잘못이 아닙니다.
    ///
    /// ## 왜
    /// 입력이나 가중치의 크기에 비해 학습률이 너무 높거나, 워밍업이 없거나, 초기화가 값을 증폭하거나, 순환 신경망에서
    /// 기울기를 클리핑하지 않은 경우입니다.
    ///
    /// ## 어떻게 하나
    /// 학습률을 낮추거나(예를 들어 10분의 1로) 워밍업을 두고, 입력의 스케일을 1 정도로 맞추고, 기울기 노름을
    /// 클리핑하십시오.
    ///
    /// ## 예
    /// ```python
    /// loss.backward()                         # with a GradScaler: scaler.unscale_(optimizer) before clipping
    /// torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    /// optimizer.step()
    /// ```
    "손실과 기울기가 스텝마다 커짐",
    "학습률을 낮추거나 워밍업을 두고, 입력의 스케일을 맞추거나 기울기 노름을 클리핑하십시오",
    steps check;
    apart "run the same steps with a tenth of the learning rate: growth that stays is not the learning rate's",
    "학습률을 10분의 1로 낮추어 같은 스텝을 실행해 보십시오: 그래도 커지면 학습률 때문이 아닙니다"
}

/// Factor over the remembered steps from which growth is divergence, and the norm that it must have reached.
const GROWTH: f64 = 1e6;
/// Inputs of the origin this large have grown with the rest: the operator only came first.
const EXTREME: f64 = 1e4;
/// Steps back from the trip that are looked at.
const STEPS: usize = 32;

fn check(course: &Course) -> Option<Finding> {
    let lang = course.lang;
    let (growths, from) = match course.alarm(AlarmKind::Divergence) {
        Some(alarm) => {
            let steps = alarm.seen.saturating_sub(alarm.step).max(1);
            let growth = |from, to| Some(Growth { from: alarm.fact(from)?, to: alarm.fact(to)?, steps });
            ([growth("loss_from", "loss_to"), growth("norm_from", "norm_to")], alarm.step)
        }
        None => {
            let (norm, first) = remembered(course)?;
            ([None, Some(norm)], first)
        }
    };
    let [loss, norm] = &growths;
    let mut evidence: Vec<String> = vec![];
    evidence.extend(loss.as_ref().map(|growth| growth.sentence(lang.pick("loss", "손실"), lang)));
    evidence.extend(norm.as_ref().map(|growth| growth.sentence(lang.pick("gradient norm", "기울기 노름"), lang)));
    evidence.push(say!(lang, "it began at step {from}", "스텝 {from}에서 시작됨"));
    if let Some(lr) = course.lr().map(text::number) {
        evidence.push(say!(lang, "the learning rate is {lr}", "학습률은 {lr}"));
    }
    if course.tripped_on(AlarmKind::Divergence) {
        return Finding::proved(8, evidence);
    }
    match course.case {
        // An operator whose arguments are as large as ever must be named first.
        Some(case) if case.largest_input().is_some_and(|largest| largest < EXTREME) => Finding::likely(3, evidence),
        Some(_) => Finding::sure(course.ledger.faithful, 8, evidence),
        None => Finding::likely(8, evidence),
    }
}

struct Growth {
    from: f64,
    to: f64,
    steps: u64,
}

impl Growth {
    fn sentence(&self, what: &str, lang: Lang) -> String {
        let factor = (self.to / self.from).powf(1.0 / self.steps as f64);
        say!(
            lang,
            "the {what} grew from {from} to {to} over {steps} steps, by a factor of {factor} per step",
            "{what}: {steps}개 스텝 동안 {from}에서 {to}까지, 스텝마다 {factor}배로 커짐",
            from = text::number(self.from),
            to = text::number(self.to),
            steps = self.steps,
            factor = text::number(factor)
        )
    }
}

/// Growth of the gradient norm over the latest steps, and its first step, where no alarm was given: a run may leave its format
/// within few steps.
fn remembered(course: &Course) -> Option<(Growth, u64)> {
    let norm = |past: &PastStep| past.grad_norm.map(|norm| norm.0).filter(|norm| norm.is_finite() && *norm > 0.0);
    let mut latest: Vec<(u64, f64)> = course.steps().rev().filter_map(|past| Some((past.step, norm(past)?))).take(STEPS).collect();
    latest.reverse();
    let begin = begin(&latest)?;
    let norms = &latest[begin..];
    let ((first, from), (_, to)) = (*norms.first()?, *norms.last()?);
    let count = norms.len();
    // A jump that follows healthy steps is no growth; at the start of a run two steps may be all there is.
    let least = if begin == 0 { 2 } else { 4 };
    if count < least || to < from * GROWTH.min(10f64.powi(2 * count as i32)) || to < 1e6 {
        return None;
    }
    Some((Growth { from, to, steps: count as u64 - 1 }, first))
}

/// Where the rise to the last norm began, single steps against it allowed.
fn begin(norms: &[(u64, f64)]) -> Option<usize> {
    let mut at = norms.len().checked_sub(1)?;
    let below = |at: usize, back: usize| at >= back && norms[at - back].1 < norms[at].1;
    while at > 0 {
        match (below(at, 1), below(at, 2)) {
            (true, _) => at -= 1,
            (false, true) => at -= 2,
            (false, false) => break,
        }
    }
    Some(at)
}
