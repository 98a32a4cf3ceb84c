//! Dead units: some parameters get a gradient of exactly 0 for a long time, while others learn.
//!
//! Frozen and unused parameters have no gradient at all and are not looked at. The alarm is given for parameters
//! - that learned before, after 100 taken steps in a row of exact zeros (30 where half of all gradients are zero together: no
//!   single head or expert), and at least 10 times as many as ever before in a row, so that those with rare work stay quiet;
//! - that never learned, after 300 taken steps from their first: a loss term whose weight is 0 at first is warmed up by then,
//!   or is not, which is worth a word.
//!
//! Steps in which every gradient is 0 count for nobody: that is another fault.
//!
//! Facts: `steps` (of the longest row), `dead` (such parameters), `of` (parameters with a gradient), `learned` (1 when the
//! first of them learned before, else 0), `norm` (over all gradients). Tensors: the first 16.

use nanscope_trace::schema::{Alarm, AlarmKind};

use super::Signals;

const AFTER_LEARNING: u64 = 100;
const HALF_AFTER_LEARNING: u64 = 30;
const NEVER: u64 = 300;
/// Over the longest earlier row.
const LONGER: u64 = 10;
/// Parameters that are told apart.
const TENSORS_MAX: usize = 1 << 16;
const TOLD: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    began: u64,
    /// Steps with a zero gradient up to `last`, without a gap.
    length: u64,
    /// The count of taken steps at its end.
    last: u64,
    /// Longest earlier row.
    longest: u64,
    /// It was seen with another gradient, or was not seen from the first step on.
    learned: bool,
}

impl Row {
    fn due(&self, half: bool) -> bool {
        let after = if half { HALF_AFTER_LEARNING } else { AFTER_LEARNING };
        self.length >= if self.learned { after.max(LONGER * self.longest) } else { NEVER }
    }
}

#[derive(Debug, Default)]
pub(super) struct Dead {
    /// By position of the parameter; only as long as the last that ever had a zero gradient.
    rows: Vec<Row>,
    taken: u64,
    any_due: bool,
    given: bool,
}

impl Dead {
    pub(super) fn see(&mut self, signals: &Signals) {
        if self.given || signals.skipped || signals.all_zero() || signals.zeros.len() >= signals.tensors as usize {
            return;
        }
        self.taken += 1;
        let half = signals.half_zero();
        for &at in signals.zeros.iter().filter(|at| (**at as usize) < TENSORS_MAX) {
            let at = at as usize;
            if at >= self.rows.len() {
                self.rows.resize(at + 1, Row::default());
            }
            let row = &mut self.rows[at];
            if row.last + 1 != self.taken {
                row.learned = true;
                row.longest = row.longest.max(row.length);
                row.length = 0;
            }
            if row.length == 0 {
                row.began = signals.step;
            }
            row.length += 1;
            row.last = self.taken;
            self.any_due |= row.due(half);
        }
    }

    pub(super) fn alarm(&mut self, signals: &Signals) -> Option<Alarm> {
        if self.given || !self.any_due {
            return None;
        }
        self.any_due = false;
        let (taken, half) = (self.taken, signals.half_zero());
        let due = |row: &Row| row.last == taken && row.due(half);
        let first = *self.rows.iter().find(|row| due(row))?;
        self.given = true;
        let dead = || self.rows.iter().enumerate().filter(|(_, row)| due(row));
        let mut alarm = signals.alarm(
            AlarmKind::DeadUnits,
            dead().map(|(_, row)| row.began).min()?,
            [
                ("steps", dead().map(|(_, row)| row.length).max().map(|steps| steps as f64)),
                ("dead", Some(dead().count() as f64)),
                ("of", Some(f64::from(signals.tensors))),
                ("learned", Some(f64::from(u8::from(first.learned)))),
                ("norm", signals.grad_norm),
            ],
        );
        alarm.tensors = dead().map(|(at, _)| at as u32).take(TOLD).collect();
        Some(alarm)
    }
}
