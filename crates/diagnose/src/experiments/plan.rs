//! What to try on the replay of a failing step, the most telling first.

use std::collections::BTreeMap;

use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Entry, Ledger, Phase, Place, Report, Text, Where};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::loss_scale;
use crate::meant::base;
use crate::text;

/// One experiment to be run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planned {
    /// Its id in the report.
    pub id: String,
    /// The family of change that knows how to make it: a file of `python/nanscope/experiments`.
    pub family: &'static str,
    /// What the family needs to know.
    pub arguments: BTreeMap<&'static str, Value>,
    /// What is changed, for a person.
    pub change: Text,
}

/// What was seen of the step besides its ledger, by the first replay without observation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Scouted {
    /// Formats of autocast that were in force at any call.
    autocast: Vec<String>,
    /// Scaled dot-product attention was called.
    attention: bool,
    /// Backends of it that exist here, besides the one that torch chooses.
    backends: Vec<String>,
    /// Samples in the batch; absent where no batch was made out.
    batch: Option<u64>,
}

const NARROW: [&str; 2] = ["float16", "bfloat16"];
const REPEAT_SAFE: [&str; 2] = ["uninitialised-memory", "buffer-reused"];

/// The plan for a step whose trip has been reported. Only what can apply is in it.
pub fn plan(report: &Report, ledger: &Ledger, scouted: &Scouted) -> Vec<Planned> {
    let mut plan = vec![];
    let step = Step { report, ledger, scouted };
    step.precision(&mut plan);
    step.loss_scale(&mut plan);
    step.update(&mut plan);
    step.kernels(&mut plan);
    step.batch(&mut plan);
    step.repetition(&mut plan);
    plan
}

struct Step<'a> {
    report: &'a Report,
    ledger: &'a Ledger,
    scouted: &'a Scouted,
}

/// One sentence in every language.
macro_rules! text {
    ($($arguments:tt)*) => {
        Text { en: say!(Lang::En, $($arguments)*), ko: say!(Lang::Ko, $($arguments)*) }
    };
}

fn planned<const N: usize>(
    id: impl Into<String>,
    family: &'static str,
    arguments: [(&'static str, Value); N],
    change: Text,
) -> Planned {
    Planned { id: id.into(), family, arguments: arguments.into(), change }
}

impl Step<'_> {
    fn origin(&self) -> Option<&str> {
        self.report.origin.as_ref()?.dtype.as_deref()
    }

    /// Whether float64 is known to heal the step, or not to.
    fn heals(&self) -> Option<bool> {
        self.report.replay.as_ref()?.whole.as_ref()?.finite
    }

    fn dtypes(&self) -> impl Iterator<Item = &str> {
        self.ledger.entries.iter().flat_map(|entry| &entry.outputs).map(|arg| arg.dtype.as_str())
    }

    fn cause(&self, ids: &[&str]) -> bool {
        self.report.causes.first().is_some_and(|cause| ids.contains(&cause.id.as_str()))
    }

    fn phase(&self) -> Option<Phase> {
        self.report.origin.as_ref().map(|origin| origin.phase)
    }

    /// The operator that gave birth, where the origin is one.
    fn birth(&self) -> Option<&Entry> {
        let origin = self.report.born()?;
        let same = |entry: &&Entry| {
            Some(&entry.op) == origin.op.as_ref()
                && entry.place == origin.place
                && entry.outputs.iter().any(crate::meant::is_bad)
        };
        self.ledger.entries.iter().find(same)
    }

    fn precision(&self, plan: &mut Vec<Planned>) {
        if self.dtypes().any(|dtype| dtype != "float64") {
            let change = text!("float64 throughout", "모두 float64로");
            plan.push(planned("float64", "precision", [("dtype", json!("float64"))], change));
        }
        if self.heals() == Some(false) || matches!(self.phase(), Some(Phase::Data | Phase::Param)) {
            return; // a wider format does not help
        }
        let narrow = self.origin().filter(|dtype| NARROW.contains(dtype));
        let wide = if narrow.is_some() { "float32" } else { "float64" };
        let scaled = self.cause(&["loss-scale-overflow", "loss-scale-collapse"]); // then no part of the model is to blame
        if !scaled {
            self.island(plan);
        }
        if let Some(entry) =
            self.birth().filter(|_| !scaled).filter(|_| narrow.is_some() || self.origin() == Some("float32"))
        {
            self.places(entry, wide, plan);
        }
        if !self.scouted.autocast.is_empty() {
            let change = text!("autocast off", "autocast 끄기");
            plan.push(planned("autocast-off", "autocast", [("enabled", json!(false))], change));
        } else if self.dtypes().any(|dtype| NARROW.contains(&dtype)) {
            let change = text!("float32 throughout", "모두 float32로");
            plan.push(planned("float32", "precision", [("dtype", json!("float32"))], change));
        }
        if self.scouted.autocast.iter().any(|dtype| dtype == "float16") {
            let change = text!("autocast in bfloat16", "autocast를 bfloat16으로");
            plan.push(planned("autocast-bfloat16", "autocast", [("dtype", json!("bfloat16"))], change));
        } else if self.dtypes().any(|dtype| dtype == "float16") {
            let change = text!("bfloat16 instead of float16", "float16 대신 bfloat16");
            let arguments = [("dtype", json!("bfloat16")), ("instead_of", json!("float16"))];
            plan.push(planned("bfloat16", "precision", arguments, change));
        }
    }

    /// The origin's line, operator and module in a wider format; the search for an island tries line and module itself.
    fn places(&self, entry: &Entry, wide: &str, plan: &mut Vec<Planned>) {
        if let Some(place) = &entry.place {
            let on_line = |other: &&Entry| other.place.as_ref().is_some_and(|at| same_statement(at, place));
            let several = self.ledger.entries.iter().filter(on_line).map(|other| base(&other.op));
            let mut operators: Vec<&str> = several.filter(|op| *op != "_to_copy").collect();
            operators.sort_unstable();
            operators.dedup();
            let (first, last) = place.lines.unwrap_or((place.line, place.line));
            let (file, line) = (&place.file, place.line);
            let at = [("dtype", json!(wide)), ("file", json!(file)), ("lines", json!([first, last]))];
            if wide == "float64" {
                let change = text!("{file}:{line} in {wide}", "{file}:{line}만 {wide}로");
                plan.push(planned(format!("line-{wide}"), "precision", at.clone(), change));
            }
            if operators.len() > 1 {
                let op = text::operator(&entry.op);
                let mut one: BTreeMap<&'static str, Value> = at.into();
                one.insert("op", json!(entry.op));
                let change = text!("{op} in {file}:{line} in {wide}", "{file}:{line}의 {op}만 {wide}로");
                plan.push(Planned { id: format!("operator-{wide}"), family: "precision", arguments: one, change });
            }
        }
        if let Some(module) = entry.module.as_ref().filter(|_| wide == "float64") {
            let change = text!("module {module} in {wide}", "모듈 {module}만 {wide}로");
            let arguments = [("dtype", json!(wide)), ("module", json!(module))];
            plan.push(planned(format!("module-{wide}"), "precision", arguments, change));
        }
    }

    fn loss_scale(&self, plan: &mut Vec<Planned>) {
        let backward = matches!(self.phase(), Some(Phase::Backward | Phase::Hook | Phase::Unscale));
        let Some(scale) = loss_scale::scale_of(self.ledger).filter(|_| backward) else { return };
        for (id, factor) in loss_scale::factors(self.ledger) {
            let (now, new) = (text::number(scale), text::number(scale * factor));
            let change = text!("loss scale {new} instead of {now}", "손실 스케일 {now} 대신 {new}");
            plan.push(planned(id, "loss_scale", [("factor", json!(factor))], change));
        }
    }

    /// What can be changed of an update that made parameters or state bad.
    fn update(&self, plan: &mut Vec<Planned>) {
        let trip = self.report.trip.as_ref().map(|trip| trip.where_);
        if !matches!(trip, Some(Where::Parameter | Where::State)) {
            return;
        }
        let fact = |name: &str| self.ledger.facts.get(name).and_then(Value::as_f64);
        let clip = text!("gradients clipped to norm 1", "기울기를 노름 1로 클리핑");
        plan.push(planned("clip", "update", [("clip", json!(1.0))], clip));
        if let Some(eps) = fact("optimizer.eps") {
            let larger = (eps * 1e4).max(1e-4);
            let (old, new) = (text::number(eps), text::number(larger));
            let change = text!("optimizer eps {new} instead of {old}", "옵티마이저 eps {old} 대신 {new}");
            plan.push(planned("eps", "update", [("eps", json!(larger))], change));
        }
        if let Some(lr) = fact("optimizer.lr").filter(|&lr| lr > 0.0) {
            let (old, new) = (text::number(lr), text::number(lr / 10.0));
            let change =
                text!("learning rate {new} instead of {old}, this update", "이번 업데이트만 학습률 {old} 대신 {new}");
            plan.push(planned("lr", "update", [("lr", json!(lr / 10.0))], change));
        }
    }

    fn kernels(&self, plan: &mut Vec<Planned>) {
        if self.scouted.attention {
            for backend in &self.scouted.backends {
                let name = backend.to_lowercase().replace('_', "-");
                let change = text!("attention backend {name}", "어텐션 백엔드 {name}");
                plan.push(planned(format!("attention-{name}"), "attention", [("backend", json!(backend))], change));
            }
        }
        if self.ledger.entries.iter().any(|entry| entry.phase == Phase::Recompute) {
            let change = text!("checkpointing off", "체크포인팅 끄기");
            plan.push(planned("checkpointing-off", "checkpointing", [], change));
        }
    }

    fn batch(&self, plan: &mut Vec<Planned>) {
        let Some(samples) = self.scouted.batch.filter(|&samples| samples > 1) else { return };
        if matches!(self.phase(), Some(Phase::Param | Phase::Optimizer)) {
            return;
        }
        let change = text!("the batch without some of its {samples} samples", "배치의 샘플 {samples}개 중 일부 제외");
        plan.push(planned("batch-without", "batch", [("samples", json!(samples))], change));
    }

    fn island(&self, plan: &mut Vec<Planned>) {
        if self.dtypes().any(|dtype| NARROW.contains(&dtype)) {
            let change = text!("the smallest float32 island", "가장 작은 float32 부분");
            plan.push(planned("island-float32", "island", [], change));
        }
    }

    fn repetition(&self, plan: &mut Vec<Planned>) {
        let change = text!("the same step again", "같은 스텝 다시 실행");
        plan.push(planned("again", "repetition", [], change));
        let device = |arg: &nanscope_trace::schema::Arg| arg.device.starts_with("cuda");
        if self.cause(&REPEAT_SAFE) || self.ledger.entries.iter().flat_map(|entry| &entry.outputs).any(device) {
            let change = text!("deterministic algorithms", "결정론적 알고리즘");
            plan.push(planned("deterministic", "repetition", [("deterministic", json!(true))], change));
        }
    }
}

fn same_statement(a: &Place, b: &Place) -> bool {
    let lines = |place: &Place| place.lines.unwrap_or((place.line, place.line));
    a.file == b.file && lines(a) == lines(b)
}

#[cfg(test)]
mod tests {
    use nanscope_trace::schema::{Confidence, RunInfo, Trip};

    use super::*;
    use crate::report::report;

    /// The plan for a ledger of one operator that overflowed; `more` goes into the ledger, `out` into its result.
    fn ids(out: Value, trip: &str, more: Value, scouted: &Scouted) -> Vec<String> {
        let mut tensor = json!({"name": "out", "dtype": "float16", "shape": [4], "device": "cpu",
            "counts": {"nan": 0, "posinf": 1, "neginf": 0}});
        merge(&mut tensor, out);
        let mut ledger = json!({"entries": [{"index": 0, "event": 1, "phase": "forward", "op": "aten.mm.default",
            "place": {"file": "train.py", "line": 7, "function": "f"}, "module": "net.fc", "inputs": [], "outputs": [tensor]}],
            "events": 1, "operators": 1, "faithful": true, "method": "tape", "seconds": 0.0});
        merge(&mut ledger, more);
        let ledger: Ledger = serde_json::from_value(ledger).unwrap();
        let trip: Trip =
            serde_json::from_value(json!({"step": 3, "rank": 0, "where": trip, "kind": "inf", "entry": 0})).unwrap();
        let report = report(&RunInfo::default(), &[], &trip, &ledger, None, Lang::En);
        assert!(report.causes.iter().all(|cause| cause.confidence != Confidence::Proved));
        plan(&report, &ledger, scouted).into_iter().map(|planned| planned.id).collect()
    }

    fn merge(into: &mut Value, more: Value) {
        for (key, value) in more.as_object().into_iter().flatten() {
            into[key] = value.clone();
        }
    }

    #[test]
    fn a_half_overflow_under_autocast_is_tried_in_wider_formats() {
        let scouted = Scouted { autocast: vec!["float16".into()], ..Scouted::default() };
        let found = ids(json!({}), "loss", json!({}), &scouted);
        assert_eq!(found, ["float64", "island-float32", "autocast-off", "autocast-bfloat16", "again"]);
    }

    #[test]
    fn what_float64_does_not_heal_is_tried_in_no_other_format() {
        let whole = json!({"whole": {"finite": false, "operators": 1, "seconds": 0.0}});
        let found = ids(json!({"dtype": "float32"}), "loss", whole, &Scouted { batch: Some(8), ..Scouted::default() });
        assert_eq!(found, ["float64", "batch-without", "again"]);
    }

    #[test]
    fn an_update_is_tried_with_other_settings() {
        let facts = json!({"facts": {"optimizer.eps": 1e-8, "optimizer.lr": 0.5}});
        let found = ids(json!({"dtype": "float64"}), "parameter", facts, &Scouted::default());
        assert_eq!(found, ["clip", "eps", "lr", "again"]);
    }

    #[test]
    fn kernels_that_exist_are_tried_where_attention_was_called() {
        let scouted = Scouted { attention: true, backends: vec!["MATH".into()], ..Scouted::default() };
        assert!(ids(json!({}), "loss", json!({}), &scouted).contains(&"attention-math".to_owned()));
        let silent = Scouted { attention: false, ..scouted };
        assert!(!ids(json!({}), "loss", json!({}), &silent).contains(&"attention-math".to_owned()));
    }

    #[test]
    fn every_change_is_told_in_every_language() {
        let report: Report = serde_json::from_value(json!({"schema": "", "verdict": "nonfinite", "run": {"script": "",
            "argv": [], "python": "", "torch": "", "nanscope": "", "devices": [], "world_size": 1, "steps": 0}}))
        .unwrap();
        for planned in plan(&report, &Ledger::default(), &Scouted { batch: Some(4), ..Scouted::default() }) {
            assert!(planned.change.ko.chars().any(|c| ('가'..='힣').contains(&c)), "{:?}", planned.change);
            assert!(planned.change.en.is_ascii(), "{:?}", planned.change);
        }
    }
}
