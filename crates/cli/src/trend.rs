//! Where loss and gradient norm were heading when the log stopped.

use nanscope_report::number;
use nanscope_trace::schema::StepRecord;

/// Steps that a growth is measured over.
const WINDOW: usize = 10;
/// Growth over the window worth a sentence; noise of a healthy run stays below it.
const NOTABLE: f64 = 3.0;

/// The last step, and what grew over the last few.
pub(crate) fn sentences(steps: &[StepRecord]) -> Vec<String> {
    let Some(last) = steps.last() else { return vec!["no step was completed".to_owned()] };
    let signals = [("loss", last.loss), ("gradient norm", last.grad_norm), ("loss scale", last.scale)];
    let known = signals.iter().filter_map(|(name, value)| value.map(|value| format!(", {name} {}", number(value))));
    let mut out = vec![format!("the last step recorded is {}{}", last.step, known.collect::<String>())];
    let window = &steps[steps.len().saturating_sub(WINDOW)..];
    let loss = growth(window.iter().filter_map(|step| step.loss));
    let norm = growth(window.iter().filter_map(|step| step.grad_norm));
    for (name, growth) in [("loss", loss), ("gradient norm", norm)] {
        if let Some(factor) = growth.filter(|factor| *factor >= NOTABLE) {
            out.push(format!("the {name} grew {}-fold over the last {} steps", number(factor), window.len()));
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
        assert_eq!(sentences(&[]), ["no step was completed"]);
        assert_eq!(sentences(&steps(&[0.7])), ["the last step recorded is 0, loss 0.7"]);
        assert_eq!(sentences(&steps(&[0.7, 0.6])).len(), 1);
        assert_eq!(sentences(&steps(&[0.5, 2.0, 50.0]))[1], "the loss grew 100-fold over the last 3 steps");
        assert_eq!(sentences(&steps(&[0.5, f64::NAN])), ["the last step recorded is 1, loss nan"]);
        assert_eq!(sentences(&steps(&[0.0, 1.0])).len(), 1);
    }
}
