//! The loss scale that a step would have needed, from the exponents of its float16 gradients in float64.

use std::iter;

use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Fix, Ledger, Phase, Safety};
use serde::Deserialize;

use crate::rules::loss_scale_overflow;
use crate::text;

/// Exponents of magnitudes: from 2^16 on a number leaves float16, below 2^-24 it has no number for it.
const OVERFLOWS: i32 = 16;
const SMALLEST: i32 = -24;
/// Powers of two left free above the largest gradient: the next step is not this one.
const HEADROOM: i32 = 1;

/// Every gradient that backward wrote in float16, as it is when the whole step is computed in float64. The key
/// `gradient_exponents` of the facts in a ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
struct Histogram {
    /// `(floor(log2 |x|), count)`, zeros left out.
    exponents: Vec<(i32, u64)>,
}

/// A loss scale, and what it costs beside the present one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Advice {
    /// The loss scale in force; 1 where there is none.
    pub(crate) present: f64,
    /// The power of two that loses least to underflow without overflow.
    pub(crate) scale: f64,
    /// Shares of all gradients that are lost at the present scale: to 0, and to infinity.
    pub(crate) before: (f64, f64),
    /// Those at the advised scale.
    pub(crate) after: (f64, f64),
}

/// `None` where backward wrote nothing in float16, or nobody looked.
pub(crate) fn advise(ledger: &Ledger) -> Option<Advice> {
    let found = ledger.facts.get("gradient_exponents")?;
    let Histogram { exponents } = serde_json::from_value(found.clone()).ok()?;
    let (largest, _) = exponents.iter().filter(|(_, count)| *count > 0).max()?;
    let present = scale_of(ledger).unwrap_or(1.0);
    // The histogram is that of gradients times the present scale.
    let shift = OVERFLOWS - 1 - HEADROOM - largest;
    let scale = present.log2().round().exp2() * f64::from(shift).exp2();
    let moved = (scale / present).log2();
    let all: u64 = exponents.iter().map(|(_, count)| count).sum();
    let lost = |shift: f64| {
        let share = |lost: &dyn Fn(f64) -> bool| {
            let count: u64 =
                exponents.iter().filter(|(e, _)| lost(f64::from(*e) + shift)).map(|(_, count)| count).sum();
            count as f64 / all as f64
        };
        (share(&|e| e < f64::from(SMALLEST)), share(&|e| e >= f64::from(OVERFLOWS)))
    };
    Some(Advice { present, scale, before: lost(0.0), after: lost(moved) })
}

/// The factor that the loss is multiplied with: that of a GradScaler, or of a multiplication in forward.
pub(crate) fn scale_of(ledger: &Ledger) -> Option<f64> {
    let scaler = ledger.facts.get("loss_scale").and_then(serde_json::Value::as_f64);
    scaler.or_else(|| {
        ledger.entries.iter().rev().filter(|e| e.phase == Phase::Forward).find_map(loss_scale_overflow::scale_of)
    })
}

/// The advice in words, for the causes that a loss scale decides.
pub(crate) fn fix(ledger: &Ledger, cause: Option<&str>, lang: Lang) -> Option<Fix> {
    if !matches!(cause, Some("loss-scale-overflow" | "loss-scale-collapse" | "underflow")) {
        return None;
    }
    let advice = advise(ledger)?;
    let present = scale_of(ledger);
    if present.is_none() && advice.scale <= 1.0 {
        return None;
    }
    let sentences = [
        say!(
            lang,
            "a loss scale of {scale} loses least: {zero} of the float16 gradients of this step become 0 and {inf} infinite",
            "손실이 가장 적은 스케일은 {scale}: 이 스텝의 float16 기울기 중 {zero}가 0이 되고 {inf}가 무한대가 됨",
            scale = text::number(advice.scale),
            zero = percent(advice.after.0),
            inf = percent(advice.after.1)
        ),
        match present {
            Some(scale) => say!(
                lang,
                "at {scale} it is {zero} and {inf}",
                "{scale}에서는 각각 {zero}, {inf}",
                scale = text::number(scale),
                zero = percent(advice.before.0),
                inf = percent(advice.before.1)
            ),
            None => say!(
                lang,
                "without one it is {zero} and {inf}",
                "스케일이 없으면 각각 {zero}, {inf}",
                zero = percent(advice.before.0),
                inf = percent(advice.before.1)
            ),
        },
    ];
    Some(Fix {
        id: "loss-scale".to_owned(),
        summary: sentences.join("; "),
        safety: Safety::Advice,
        diff: None,
        files: vec![],
        proof: None,
        note: None,
    })
}

/// `0`, `12.5 %`, `< 0.01 %`.
fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        x if x < 0.01 => "< 0.01 %".to_owned(),
        x if x < 10.0 => format!("{x:.2} %"),
        x => format!("{x:.1} %"),
    }
}

/// Factors for a smaller and a larger loss scale to try: the advised one where it lies on that side, otherwise 2^10.
pub(super) fn factors(ledger: &Ledger) -> impl Iterator<Item = (&'static str, f64)> {
    let advised = advise(ledger).map(|advice| advice.scale / advice.present);
    let smaller = advised.filter(|&factor| factor < 1.0).unwrap_or(1.0 / 1024.0);
    let larger = advised.filter(|&factor| factor > 1.0).unwrap_or(1024.0);
    iter::once(("loss-scale-smaller", smaller)).chain(iter::once(("loss-scale-larger", larger)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ledger(exponents: &[(i32, u64)], scale: Option<f64>) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.facts.insert("gradient_exponents".into(), json!({"exponents": exponents}));
        if let Some(scale) = scale {
            ledger.facts.insert("loss_scale".into(), json!(scale));
        }
        ledger
    }

    #[test]
    fn the_advised_scale_is_the_largest_with_room_to_spare() {
        // The largest gradient is 2^20 times 1 to 2 at a scale of 65536; at 2^14 in float16 it may double once.
        let advice = advise(&ledger(&[(20, 1), (-22, 3)], Some(65536.0))).unwrap();
        assert_eq!(advice.scale, 1024.0);
        assert_eq!(advice.before, (0.0, 0.25));
        assert_eq!(advice.after, (0.75, 0.0));
    }

    #[test]
    fn gradients_that_vanish_ask_for_a_scale() {
        let ledger = ledger(&[(-30, 4)], None);
        let advice = advise(&ledger).unwrap();
        assert_eq!((advice.present, advice.scale), (1.0, 44.0_f64.exp2()));
        assert_eq!((advice.before, advice.after), ((1.0, 0.0), (0.0, 0.0)));
        let fix = fix(&ledger, Some("underflow"), Lang::En).unwrap();
        assert!(fix.summary.ends_with("without one it is 100.0 % and 0 %"), "{}", fix.summary);
    }

    #[test]
    fn other_causes_have_no_use_for_it() {
        let ledger = ledger(&[(20, 1)], Some(65536.0));
        assert_eq!(fix(&ledger, Some("half-overflow"), Lang::En), None);
        assert!(fix(&ledger, Some("loss-scale-overflow"), Lang::Ko).is_some());
        assert_eq!(advise(&Ledger::default()), None);
    }

    #[test]
    fn what_is_tried_is_what_is_advised() {
        let found: Vec<_> = factors(&ledger(&[(20, 1)], Some(65536.0))).collect();
        assert_eq!(found, [("loss-scale-smaller", 1.0 / 64.0), ("loss-scale-larger", 1024.0)]);
    }
}
