//! Silent zero: every gradient is exactly 0 while there is a loss to lower.
//!
//! The alarm is given after 20 taken steps in a row whose loss is finite and not 0, whose learning rate is not 0 and whose
//! gradients are all exactly 0: from the first step on (underflow in a narrow format, a graph cut off by `detach`), or after
//! steps that had some. A hinge loss that is exactly 0 has nothing to lower. Clipped objectives (PPO) give no gradient for
//! a few steps in a row, not for 20 across new data.
//!
//! Facts: `steps`, `loss`, `scale`, `last_norm` and `last_norm_step` (of the last gradient that was not 0, absent without one).

use nanscope_trace::schema::{Alarm, AlarmKind};

use super::Signals;

const STEPS: u64 = 20;

#[derive(Debug, Default)]
pub(super) struct Silence {
    row: u64,
    began: u64,
    last: Option<(u64, f64)>,
    given: bool,
}

impl Silence {
    pub(super) fn see(&mut self, signals: &Signals) {
        if signals.skipped {
            return;
        }
        if signals.all_zero() && signals.has_loss() && signals.learns() {
            if self.row == 0 {
                self.began = signals.step;
            }
            self.row += 1;
            return;
        }
        self.row = 0;
        if let Some(norm) = signals.grad_norm.filter(|norm| norm.is_finite() && *norm > 0.0) {
            self.last = Some((signals.step, norm));
        }
    }

    pub(super) fn alarm(&mut self, signals: &Signals) -> Option<Alarm> {
        if self.given || self.row < STEPS || signals.skipped {
            return None;
        }
        self.given = true;
        Some(signals.alarm(
            AlarmKind::SilentZero,
            self.began,
            [
                ("steps", Some(self.row as f64)),
                ("loss", signals.loss),
                ("scale", signals.scale),
                ("last_norm", self.last.map(|last| last.1)),
                ("last_norm_step", self.last.map(|last| last.0 as f64)),
            ],
        ))
    }
}
