//! Loss scale collapse: no update is made, and the loss scale falls below every use.
//!
//! Dynamic scaling begins high (65536) and leaves out some updates until it has found a scale that fits; from then on it
//! leaves out one now and then. Gradients that overflow at a scale below 1 overflow without one: no scale will ever fit. The
//! alarm is given for a skipped step whose scale is below 1
//! - when at least 8 updates in a row were left out, or
//! - when the scale is at most 2^-14, having been 2^8 times that before, or
//! - when at least 24 of the latest 32 updates were left out, the scale falling over them;
//!
//! and, where the scale could not be read, after 40 updates left out in a row (65536 would have become 2^-24).
//!
//! Facts: `skipped` (in a row, or of the latest 32), `of` (32 in the latter case), `scale_from`, `scale_to`.

use nanscope_trace::schema::{Alarm, AlarmKind};

use super::Signals;

const IN_A_ROW: u64 = 8;
const IN_A_ROW_UNREAD: u64 = 40;
const WINDOW: usize = 32;
const MOST: u32 = 24;
const LOWEST: f64 = 1.0 / 16384.0;
const FALLEN: f64 = 256.0;

#[derive(Debug, Default)]
pub(super) struct Collapse {
    /// Skipped in a row, up to now.
    row: u64,
    row_began: u64,
    row_scale: Option<f64>,
    /// One bit a step, the latest lowest: it was skipped.
    skips: u32,
    /// Step and scale of the latest `WINDOW` steps, a ring.
    window: [(u64, f64); WINDOW],
    count: usize,
    highest: f64,
    given: bool,
}

impl Collapse {
    pub(super) fn see(&mut self, signals: &Signals) {
        if signals.skipped {
            if self.row == 0 {
                (self.row_began, self.row_scale) = (signals.step, signals.scale);
            }
            self.row += 1;
        } else {
            self.row = 0;
        }
        self.skips = self.skips << 1 | u32::from(signals.skipped);
        self.window[self.count % WINDOW] = (signals.step, signals.scale.unwrap_or(f64::NAN));
        self.count += 1;
        self.highest = self.highest.max(signals.scale.unwrap_or(0.0));
    }

    pub(super) fn alarm(&mut self, signals: &Signals) -> Option<Alarm> {
        if self.given || !signals.skipped {
            return None;
        }
        let (first, first_scale) = self.window[self.count % WINDOW];
        let skipped = self.skips.count_ones();
        let (in_a_row, mostly) = match signals.scale {
            None => (self.row >= IN_A_ROW_UNREAD, false),
            Some(scale) if scale >= 1.0 => return None,
            Some(scale) => (
                self.row >= IN_A_ROW || scale <= LOWEST && self.highest >= FALLEN * scale,
                self.count >= WINDOW && skipped >= MOST && scale < first_scale,
            ),
        };
        if !in_a_row && !mostly {
            return None;
        }
        self.given = true;
        let (step, skipped, of, scale_from) = match in_a_row {
            true => (self.row_began, self.row as f64, None, self.row_scale),
            false => (first, f64::from(skipped), Some(WINDOW as f64), Some(first_scale)),
        };
        Some(signals.alarm(
            AlarmKind::LossScaleCollapse,
            step,
            [("skipped", Some(skipped)), ("of", of), ("scale_from", scale_from), ("scale_to", signals.scale)],
        ))
    }
}
