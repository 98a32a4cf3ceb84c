//! Divergence: loss and gradient norm grow from step to step, far beyond all that was usual.
//!
//! The alarm is given when all of this holds for the magnitude of the loss and for the gradient norm alike:
//! - it rose in at least 10 of the latest 12 steps;
//! - it is at least 10 times the highest level that was ever held for three steps in a row before those 12, which warm-up
//!   bumps, single bad batches and a loss that had come down to 1e-9 do not reach;
//! - it is at least 1e4 times the median of all remembered steps before those 12;
//!
//! and the loss is at least 1e3: Adam on data that it knows by heart, at a loss of 1e-8, leaps to 10 now and then and comes back.
//!
//! So growth of a factor of 2.2 a step or more is seen within 15 steps, growth of 1.25 within 75. Slower growth is left to
//! the trip on a value that is not finite.
//!
//! Facts: `loss_from`, `loss_to`, `norm_from`, `norm_to`, `loss_usual`, `norm_usual` (medians), `loss_growth` and
//! `norm_growth` (factor per step since the begin), `lr`.

use nanscope_trace::schema::{Alarm, AlarmKind, PastStep};

use super::Signals;
use super::record::Record;

/// Steps over which growth is judged.
pub(super) const WINDOW: usize = 12;
/// Rises among them.
const RISES: u32 = 10;
/// Below this a loss is none to worry about, whatever it was before.
const FLOOR: f64 = 1e3;
/// Over the median.
const FAR: f64 = 1e4;
/// Over the highest level held before.
const BEYOND: f64 = 10.0;
/// Steps in a row that may go against a trend.
const AGAINST: usize = 3;
/// Steps that make a level.
const HELD: usize = 3;

#[derive(Debug, Default)]
pub(super) struct Trend {
    loss: Course,
    norm: Course,
    given: bool,
}

impl Trend {
    pub(super) fn see(&mut self, signals: &Signals) {
        if let (Some(loss), Some(norm), false) = (signals.loss, signals.grad_norm, signals.skipped)
            && loss.is_finite()
            && norm.is_finite()
        {
            self.loss.push(loss.abs());
            self.norm.push(norm);
        }
    }

    pub(super) fn alarm(&mut self, signals: &Signals, record: &Record) -> Option<Alarm> {
        if self.given || !self.loss.grows() || !self.norm.grows() {
            return None;
        }
        if self.loss.latest() < FLOOR {
            return None;
        }
        // Rarely reached: a median costs some microseconds.
        let loss_usual = record.median(WINDOW, |past| past.loss)?;
        let norm_usual = record.median(WINDOW, |past| past.grad_norm)?;
        if self.loss.latest() < FAR * loss_usual || self.norm.latest() < FAR * norm_usual {
            return None;
        }
        self.given = true;
        let steps = begin(record, loss_usual);
        let first = record.back(steps)?;
        let (loss_from, norm_from) = (first.loss?.0.abs(), first.grad_norm?.0);
        let growth = |from: f64, to: f64| Some((to / from).powf(1.0 / steps.max(1) as f64)).filter(|x| x.is_finite());
        Some(signals.alarm(
            AlarmKind::Divergence,
            first.step,
            [
                ("loss_from", Some(loss_from)),
                ("loss_to", Some(self.loss.latest())),
                ("loss_usual", Some(loss_usual)),
                ("loss_growth", growth(loss_from, self.loss.latest())),
                ("norm_from", Some(norm_from)),
                ("norm_to", Some(self.norm.latest())),
                ("norm_usual", Some(norm_usual)),
                ("norm_growth", growth(norm_from, self.norm.latest())),
                ("lr", signals.lr),
            ],
        ))
    }
}

/// How many steps ago the growth began: back from the latest as long as the loss falls, three steps against it allowed,
/// and no further than a usual loss that no much smaller one came before.
fn begin(record: &Record, usual: f64) -> usize {
    let loss = |past: &PastStep| past.loss.filter(|loss| !past.skipped && loss.0 != 0.0).map(|loss| loss.0.abs());
    let (mut at, mut lowest) = (0, f64::INFINITY);
    let mut against = 0;
    for steps in 0.. {
        let Some(past) = record.back(steps) else { break };
        match loss(past) {
            Some(value) if lowest <= 2.0 * usual && value * 1.5 > lowest => break,
            Some(value) if value < lowest && past.grad_norm.is_some() => (at, lowest, against) = (steps, value, 0),
            _ if against == AGAINST => break,
            _ => against += 1,
        }
    }
    at
}

/// One signal: its latest magnitudes, and the highest level before them.
#[derive(Debug, Default)]
struct Course {
    /// A ring; `WINDOW + HELD` of it are looked at.
    latest: [f64; 16],
    count: usize,
    /// One bit a step, the latest lowest: it rose.
    rises: u32,
    /// Highest of the minima of three steps in a row, all older than the window.
    held: f64,
}

impl Course {
    fn push(&mut self, x: f64) {
        let rose = self.count > 0 && x > self.latest();
        self.rises = (self.rises << 1 | u32::from(rose)) & ((1 << WINDOW) - 1);
        self.latest[self.count % 16] = x;
        self.count += 1;
        if let Some(from) = self.count.checked_sub(WINDOW + HELD) {
            let level = (from..from + HELD).map(|at| self.latest[at % 16]).fold(f64::INFINITY, f64::min);
            self.held = self.held.max(level);
        }
    }

    fn latest(&self) -> f64 {
        self.latest[(self.count + 15) % 16]
    }

    fn grows(&self) -> bool {
        self.rises.count_ones() >= RISES && self.count >= WINDOW + HELD && self.latest() >= BEYOND * self.held
    }
}
