//! What a rule that looks over steps reads.

use std::borrow::Cow;

use nanscope_lang::Lang;
use nanscope_trace::schema::{Alarm, AlarmKind, History, Ledger, PastStep, Trip};

use crate::case::Case;

/// Steps after which an alarm that the run went on from no longer explains a trip.
const RECENT: u64 = 64;

/// A run over its steps up to the trip; the located origin too, where a replay has shown one.
pub struct Course<'a> {
    /// All operators of the replay; none where the step was not run again.
    pub ledger: &'a Ledger,
    /// What tripped.
    pub trip: &'a Trip,
    /// The steps before it; empty where nothing was remembered.
    pub history: &'a History,
    /// The trip as located in the ledger.
    pub case: Option<&'a Case<'a>>,
    /// What a person reads is in this language.
    pub lang: Lang,
}

impl<'a> Course<'a> {
    /// The alarm of a kind: the trip itself, or one that was given not long before it.
    pub fn alarm(&self, kind: AlarmKind) -> Option<&'a Alarm> {
        let before = self.history.alarms.iter().filter(|alarm| self.trip.step <= alarm.seen + RECENT);
        self.trip.alarm.iter().chain(before).find(|alarm| alarm.kind == kind)
    }

    /// True when the run tripped on an alarm of this kind.
    pub fn tripped_on(&self, kind: AlarmKind) -> bool {
        self.trip.alarm.as_ref().is_some_and(|alarm| alarm.kind == kind)
    }

    /// The remembered steps of the optimizer that tripped (without an alarm: of the one that stepped last).
    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &'a PastStep> {
        let last = self.history.steps.last().map_or(0, |past| past.optimizer);
        let optimizer = self.trip.alarm.as_ref().map_or(last, |alarm| alarm.optimizer);
        self.history.steps.iter().filter(move |past| past.optimizer == optimizer)
    }

    /// The learning rate: of the last step that had one, else a fact of the run.
    pub fn lr(&self) -> Option<f64> {
        let read = self.steps().rev().find_map(|past| past.lr).map(|lr| lr.0);
        read.or_else(|| self.ledger.facts.get("optimizer.lr")?.as_f64())
    }
}

/// The history of a ledger; that of a folder of 0.1.0 from its `facts["history"]`, which has losses and norms alone.
pub(crate) fn history(ledger: &Ledger) -> Cow<'_, History> {
    if let Some(history) = &ledger.history {
        return Cow::Borrowed(history);
    }
    let steps = ledger.facts.get("history").and_then(|steps| serde_json::from_value(steps.clone()).ok());
    Cow::Owned(History { steps: steps.unwrap_or_default(), ..History::default() })
}

#[cfg(test)]
mod tests {
    use nanscope_trace::schema::Num;

    use super::*;

    #[test]
    fn the_history_of_an_old_folder_is_read_from_its_facts() {
        let old = r#"[{"step": 3, "loss": 0.5, "grad_norm": null}, {"step": 4, "loss": "nan", "grad_norm": 2}]"#;
        let mut ledger = Ledger::default();
        ledger.facts.insert("history".into(), serde_json::from_str(old).unwrap());
        let found = history(&ledger);
        assert_eq!((found.steps[0].step, found.steps[0].loss, found.steps[0].grad_norm), (3, Some(Num(0.5)), None));
        assert!(found.steps[1].loss.unwrap().0.is_nan());
        assert_eq!(history(&Ledger::default()).into_owned(), History::default());
    }
}
