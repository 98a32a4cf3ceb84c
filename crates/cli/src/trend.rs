//! Where loss and gradient norm were heading when the log stopped.

use nanscope_lang::{Lang, say};
use nanscope_report::number;
use nanscope_trace::schema::StepRecord;

/// Steps that a growth is measured over.
const WINDOW: usize = 10;
/// Growth over the window worth a sentence; noise of a healthy run stays below it.
const NOTABLE: f64 = 3.0;

/// The last step, and what grew over the last few.
pub(crate) fn sentences(steps: &[StepRecord], lang: Lang) -> Vec<String> {
    let Some(last) = steps.last() else {
        return vec![lang.pick("no step was completed", "완료된 스텝이 없습니다").to_owned()];
    };
    let (loss_name, norm_name) = (lang.pick("loss", "손실"), lang.pick("gradient norm", "기울기 노름"));
    let signals =
        [(loss_name, last.loss), (norm_name, last.grad_norm), (lang.pick("loss scale", "손실 스케일"), last.scale)];
    let known = signals.iter().filter_map(|(name, value)| value.map(|value| format!(", {name} {}", number(value))));
    let mut out = vec![say!(
        lang,
        "the last step recorded is {step}{known}",
        "마지막으로 기록된 스텝: {step}{known}",
        step = last.step,
        known = known.collect::<String>()
    )];
    let window = &steps[steps.len().saturating_sub(WINDOW)..];
    let loss = growth(window.iter().filter_map(|step| step.loss));
    let norm = growth(window.iter().filter_map(|step| step.grad_norm));
    for (name, growth) in [(loss_name, loss), (norm_name, norm)] {
        if let Some(factor) = growth.filter(|factor| *factor >= NOTABLE) {
            out.push(say!(
                lang,
                "the {name} grew {factor}-fold over the last {steps} steps",
                "최근 {steps}개 스텝 동안 {name} 값이 {factor}배로 커졌습니다",
                factor = number(factor),
                steps = window.len()
            ));
        }
    }
    out
}

/// Last over first magnitude; None where either is 0 or not finite, or there is only one.
fn growth(mut values: impl Iterator<Item = f64>) -> Option<f64> {
    let first = values.next()?;
    let factor = (values.last()? / first).abs();
    factor.is_normal().then_some(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(losses: &[f64]) -> Vec<StepRecord> {
        let record =
            |(step, loss): (usize, &f64)| StepRecord { step: step as u64, loss: Some(*loss), ..Default::default() };
        losses.iter().enumerate().map(record).collect()
    }

    #[test]
    fn only_growth_is_told() {
        let korean = sentences(&steps(&[0.5, 2.0, 50.0]), Lang::Ko);
        assert_eq!(korean, ["마지막으로 기록된 스텝: 2, 손실 50", "최근 3개 스텝 동안 손실 값이 100배로 커졌습니다"]);
        assert_eq!(sentences(&[], Lang::En), ["no step was completed"]);
        assert_eq!(sentences(&steps(&[0.7]), Lang::En), ["the last step recorded is 0, loss 0.7"]);
        assert_eq!(sentences(&steps(&[0.7, 0.6]), Lang::En).len(), 1);
        assert_eq!(sentences(&steps(&[0.5, 2.0, 50.0]), Lang::En)[1], "the loss grew 100-fold over the last 3 steps");
        assert_eq!(sentences(&steps(&[0.5, f64::NAN]), Lang::En), ["the last step recorded is 1, loss nan"]);
        assert_eq!(sentences(&steps(&[0.0, 1.0]), Lang::En).len(), 1);
    }
}
