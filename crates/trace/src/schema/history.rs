use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{InputHistory, Num};

/// What a run remembers of its steps when a step is diagnosed: bounded, however long the run was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// Steps in order: a thinned record of the early ones, then the latest without a gap, the failing one among them if
    /// it came as far as its gradients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<PastStep>,
    /// What was usual, one for each optimizer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub baselines: Vec<Baseline>,
    /// The latest changes of the loss scale.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scales: Vec<ScaleChange>,
    /// Every alarm that was given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<Alarm>,
    /// What came in from outside, one for each input.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputHistory>,
}

/// One step as it is remembered. A signal that was not read is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PastStep {
    /// Optimizer steps completed before it.
    pub step: u64,
    /// Which optimizer, in the order in which they were first seen; absent for the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub optimizer: u32,
    /// Value of the tensor on which backward was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Num>,
    /// 2-norm over all gradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grad_norm: Option<Num>,
    /// Largest gradient magnitude.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grad_max: Option<Num>,
    /// 2-norm of the gradients of each parameter group, 64 groups at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Num>,
    /// Largest learning rate of all parameter groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lr: Option<Num>,
    /// Loss scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Num>,
    /// True when the update was left out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skipped: bool,
    /// True when its gradients contain those of the step before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub carried: bool,
}

/// Medians over the remembered steps of one optimizer, the latest 12 left out; of magnitudes that are finite and not 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Baseline {
    /// Which optimizer; absent for the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub optimizer: u32,
    /// Steps of it that were taken.
    pub steps: u64,
    /// Median magnitude of the loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Num>,
    /// Median gradient norm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grad_norm: Option<Num>,
}

/// The loss scale became another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleChange {
    /// The first step that had the new one.
    pub step: u64,
    /// The old one.
    pub from: Num,
    /// The new one.
    pub to: Num,
}

/// What an alarm is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlarmKind {
    /// Loss and gradient norm grow from step to step, far beyond all that was usual.
    Divergence,
    /// The loss scale falls below every use, and no update is made.
    LossScaleCollapse,
    /// Every gradient is exactly 0 while there is a loss to lower.
    SilentZero,
    /// The gradients of earlier steps are still in those of later ones.
    PileUp,
    /// The learning rate is 0 for a long time.
    ZeroRate,
    /// Some parameters get a gradient of exactly 0 for a long time, while others learn.
    DeadUnits,
}

impl AlarmKind {
    /// As it is written: `loss-scale-collapse`.
    pub fn name(self) -> &'static str {
        match self {
            AlarmKind::Divergence => "divergence",
            AlarmKind::LossScaleCollapse => "loss-scale-collapse",
            AlarmKind::SilentZero => "silent-zero",
            AlarmKind::PileUp => "pile-up",
            AlarmKind::ZeroRate => "zero-rate",
            AlarmKind::DeadUnits => "dead-units",
        }
    }
}

/// A fault that shows over several steps, while every value is still finite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alarm {
    /// What it is about.
    pub kind: AlarmKind,
    /// Which optimizer; absent for the first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub optimizer: u32,
    /// Where it began.
    pub step: u64,
    /// Where it was certain enough to be told.
    pub seen: u64,
    /// The numbers it rests on; which there are is told where each is raised, in `crates/diagnose/src/monitor`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Num>,
    /// Parameters it is about, by position among those of the optimizer; the first 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tensors: Vec<u32>,
    /// Their names, where they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

impl Alarm {
    /// A number by name.
    pub fn fact(&self, name: &str) -> Option<f64> {
        self.facts.get(name).map(|x| x.0)
    }
}

fn is_zero(x: &u32) -> bool {
    *x == 0
}

fn is_false(x: &bool) -> bool {
    !*x
}
