//! What shows only over steps: looked at once per optimizer step, at a cost far below that of the step.
//!
//! Each detector is a file: it counts at every step and has a condition for its alarm. All prefer a missed fault to a
//! false alarm, since a value that is not finite trips anyway. Same signals, same alarms: there is no clock and no random
//! number. Memory is bounded, and nothing is allocated once every buffer has been filled; an alarm itself allocates.

mod collapse;
mod dead;
mod inputs;
mod pileup;
mod rate;
mod record;
mod score;
mod silence;
mod track;
mod trend;

use std::collections::VecDeque;

use nanscope_trace::schema::{Alarm, AlarmKind, History, Num, Place, ScaleChange, Trip, Where};

pub use inputs::Input;
pub use score::score;

/// Optimizers that are told apart; steps of further ones are left out.
const OPTIMIZERS_MAX: usize = 8;
/// Changes of the loss scale that are remembered.
const SCALES_MAX: usize = 64;

/// What is read at one optimizer step. What was not read is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals<'a> {
    /// Optimizer steps completed before this one.
    pub step: u64,
    /// Which optimizer, counted from 0 in the order in which they were first seen. Optimizers that take turns (a GAN's) have
    /// losses and norms of their own.
    pub optimizer: u32,
    /// Value of the tensor on which backward was called last.
    pub loss: Option<f64>,
    /// 2-norm over all gradients.
    pub grad_norm: Option<f64>,
    /// Largest gradient magnitude.
    pub grad_max: Option<f64>,
    /// 2-norm of the gradients of each parameter group; may be empty.
    pub groups: &'a [f64],
    /// Number of gradient tensors.
    pub tensors: u32,
    /// Those whose every element is exactly 0, by position of the parameter among all of the optimizer, ascending. A
    /// parameter without a gradient (frozen, unused) is not among them.
    pub zeros: &'a [u32],
    /// Largest learning rate of all parameter groups.
    pub lr: Option<f64>,
    /// Loss scale.
    pub scale: Option<f64>,
    /// True when the update was left out.
    pub skipped: bool,
    /// True when the gradients contain those of the previous step: nobody zeroed or replaced them in between.
    pub carried: bool,
}

/// A loss below this has been learned: that its gradients are 0 is no fault.
const LEARNED: f64 = 1e-7;

impl Signals<'_> {
    fn learns(&self) -> bool {
        self.lr != Some(0.0)
    }

    fn has_loss(&self) -> bool {
        self.loss.is_some_and(|loss| loss.is_finite() && loss.abs() > LEARNED)
    }

    /// Every gradient was read, and there is not one number other than 0 in them.
    fn all_zero(&self) -> bool {
        self.tensors > 0 && self.grad_max == Some(0.0)
    }

    fn half_zero(&self) -> bool {
        2 * self.zeros.len() >= self.tensors as usize
    }

    fn alarm<const N: usize>(&self, kind: AlarmKind, step: u64, facts: [(&str, Option<f64>); N]) -> Alarm {
        let facts = facts.into_iter().filter_map(|(name, x)| Some((name.to_owned(), Num(x?)))).collect();
        Alarm { kind, optimizer: self.optimizer, step, seen: self.step, facts, tensors: vec![], names: vec![] }
    }
}

/// The trip that an alarm is, told by a rank; `place` is the line that called backward or the optimizer's step.
pub fn trip(alarm: &Alarm, rank: u32, place: Option<Place>) -> Trip {
    Trip {
        step: alarm.step,
        rank,
        where_: match alarm.kind {
            AlarmKind::Divergence => Where::Trend,
            AlarmKind::LossScaleCollapse => Where::Scale,
            AlarmKind::SilentZero | AlarmKind::PileUp | AlarmKind::DeadUnits => Where::Gradient,
            AlarmKind::ZeroRate => Where::Rate,
        },
        name: alarm.names.first().cloned(),
        kind: "finite".to_owned(),
        loss: None,
        entry: None,
        also: vec![],
        alarm: Some(alarm.clone()),
        place,
        apart: None,
    }
}

/// The memory of a run over its steps and inputs.
#[derive(Debug)]
pub struct Monitor {
    tracks: Vec<track::Track>,
    scale: Option<f64>,
    scales: VecDeque<ScaleChange>,
    alarms: Vec<Alarm>,
    inputs: inputs::Inputs,
}

impl Default for Monitor {
    fn default() -> Self {
        Monitor::new()
    }
}

impl Monitor {
    /// A monitor that has seen nothing.
    pub fn new() -> Monitor {
        Monitor {
            tracks: Vec::with_capacity(OPTIMIZERS_MAX),
            scale: None,
            scales: VecDeque::with_capacity(SCALES_MAX),
            alarms: Vec::new(),
            inputs: inputs::Inputs::default(),
        }
    }

    /// Looks at one optimizer step, taken or skipped; steps of one optimizer come in order. Gives each kind of alarm once
    /// per optimizer; of two that are due at once the second comes with the next step.
    pub fn observe(&mut self, signals: &Signals) -> Option<Alarm> {
        self.note_scale(signals);
        let index = signals.optimizer as usize;
        if index >= OPTIMIZERS_MAX {
            return None;
        }
        while self.tracks.len() <= index {
            self.tracks.push(track::Track::default());
        }
        let alarm = self.tracks[index].observe(signals)?;
        self.alarms.push(alarm.clone());
        Some(alarm)
    }

    /// Looks at what comes into a step from outside: once before its forward pass, the inputs always in one order.
    pub fn inputs(&mut self, step: u64, inputs: &[Input]) {
        self.inputs.observe(step, inputs);
    }

    /// Names of the inputs, in the order in which they are given to [`Monitor::inputs`].
    pub fn name_inputs(&mut self, names: Vec<String>) {
        self.inputs.names = names;
    }

    /// Names of the parameters of an optimizer, in its order, for alarms that are about parameters.
    pub fn name_parameters(&mut self, optimizer: u32, names: &[String]) {
        for alarm in self.alarms.iter_mut().filter(|alarm| alarm.optimizer == optimizer) {
            alarm.names = alarm.tensors.iter().filter_map(|&at| names.get(at as usize).cloned()).collect();
        }
    }

    /// Every alarm that was given, in order.
    pub fn alarms(&self) -> &[Alarm] {
        &self.alarms
    }

    /// All that is remembered.
    pub fn history(&self) -> History {
        let mut steps: Vec<_> = self.tracks.iter().flat_map(|track| track.steps().cloned()).collect();
        steps.sort_by_key(|past| (past.step, past.optimizer));
        let baselines = self.tracks.iter().enumerate().filter(|(_, track)| track.steps().next().is_some());
        History {
            steps,
            baselines: baselines.map(|(index, track)| track.baseline(index as u32)).collect(),
            scales: self.scales.iter().copied().collect(),
            alarms: self.alarms.clone(),
            inputs: self.inputs.history(),
        }
    }

    fn note_scale(&mut self, signals: &Signals) {
        let Some(to) = signals.scale else { return };
        let from = self.scale.replace(to).unwrap_or(to);
        if from != to {
            if self.scales.len() == SCALES_MAX {
                self.scales.pop_front();
            }
            self.scales.push_back(ScaleChange { step: signals.step, from: Num(from), to: Num(to) });
        }
    }
}

#[cfg(test)]
mod tests;
