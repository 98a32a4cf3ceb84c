//! Pile-up: the gradients of earlier steps are still in those of later ones.
//!
//! The alarm is given after 3 taken steps in a row whose gradients contain those of the step before. Accumulation over
//! several backwards ends with a `zero_grad` before the next update, and carries nothing over a step. A single carried step
//! may be a slip of the loop's first iterations.
//!
//! Facts: `steps`, `norm_from` (before the first carried step, absent where it was not read), `norm_to`.

use nanscope_trace::schema::{Alarm, AlarmKind};

use super::Signals;

const STEPS: u64 = 3;

#[derive(Debug, Default)]
pub(super) struct PileUp {
    row: u64,
    began: u64,
    norm_before: Option<f64>,
    given: bool,
}

impl PileUp {
    pub(super) fn see(&mut self, signals: &Signals) {
        if signals.skipped {
            return;
        }
        if !signals.carried {
            self.row = 0;
            self.norm_before = signals.grad_norm;
            return;
        }
        if self.row == 0 {
            self.began = signals.step;
        }
        self.row += 1;
    }

    pub(super) fn alarm(&mut self, signals: &Signals) -> Option<Alarm> {
        if self.given || self.row < STEPS || signals.skipped {
            return None;
        }
        self.given = true;
        Some(signals.alarm(
            AlarmKind::PileUp,
            self.began,
            [("steps", Some(self.row as f64)), ("norm_from", self.norm_before), ("norm_to", signals.grad_norm)],
        ))
    }
}
