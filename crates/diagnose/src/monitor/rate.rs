//! Zero rate: the learning rate of every parameter group is 0 for a long time.
//!
//! Whether it is meant cannot be seen from the signals: a schedule may end at 0 some steps before the loop does, a warm-up
//! begins at 0, and a schedule that is stepped once an epoch leaves it there for the whole first epoch. The alarm is given
//! after 50 steps at 0 that followed steps above it, and after 200 from the first step on: a loop that overruns its schedule
//! by rounding is over by then, and a scheduler that is never stepped is not. Whoever trains at a rate of 0 on purpose (to
//! calibrate statistics) is told something true and harmless, so rules call it possible, never more.
//!
//! Facts: `steps`, `lr_before` (absent when it was 0 from the first step on).

use nanscope_trace::schema::{Alarm, AlarmKind};

use super::Signals;

const STEPS_AFTER: u64 = 50;
const STEPS_FROM_START: u64 = 200;

#[derive(Debug, Default)]
pub(super) struct Rate {
    row: u64,
    began: u64,
    before: Option<f64>,
    given: bool,
}

impl Rate {
    pub(super) fn see(&mut self, signals: &Signals) {
        match signals.lr {
            Some(0.0) => {
                if self.row == 0 {
                    self.began = signals.step;
                }
                self.row += 1;
            }
            Some(lr) => (self.row, self.before) = (0, Some(lr)),
            None => self.row = 0,
        }
    }

    pub(super) fn alarm(&mut self, signals: &Signals) -> Option<Alarm> {
        let needed = if self.before.is_some() { STEPS_AFTER } else { STEPS_FROM_START };
        if self.given || self.row < needed {
            return None;
        }
        self.given = true;
        Some(signals.alarm(
            AlarmKind::ZeroRate,
            self.began,
            [("steps", Some(self.row as f64)), ("lr_before", self.before)],
        ))
    }
}
