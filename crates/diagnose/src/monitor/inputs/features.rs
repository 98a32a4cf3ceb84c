//! The range of every feature over all batches before the latest, and in the latest.

use nanscope_numeric::spread::{self, Spread};
use nanscope_trace::schema::{Constant, Odd};

use super::Input;

/// Features that are told apart; an input with more has none.
const FEATURES_MAX: usize = 1024;
/// Times the largest magnitude of a feature so far from which an element is odd.
const ODD: f64 = 10.0;
/// A feature smaller than this part of the input's largest magnitude is measured against that part.
const SMALL: f64 = 1e-3;
/// Odd elements and constant features that are kept.
pub(super) const KEPT: usize = 8;

/// Where the features of an input lie: as many, each of `inner` elements side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    count: usize,
    inner: usize,
}

impl Layout {
    /// The last of two dimensions, the second of three to five; one feature for one dimension, and for what has too many.
    pub(super) fn of(shape: &[usize]) -> Layout {
        match shape {
            [_, count, inner @ ..] if shape.len() <= 5 && *count <= FEATURES_MAX => {
                Layout { count: *count, inner: inner.iter().product() }
            }
            _ => Layout::single_of(shape),
        }
    }

    fn single_of(shape: &[usize]) -> Layout {
        let elements: usize = shape.iter().product();
        Layout { count: 1, inner: (elements / shape.first().unwrap_or(&1).max(&1)).max(1) }
    }

    fn single(self) -> bool {
        self.count == 1
    }
}

#[derive(Debug)]
pub(super) struct Features {
    layout: Layout,
    /// Lowest and highest of all batches before the latest.
    low: Vec<f64>,
    high: Vec<f64>,
    /// Of the latest.
    now_low: Vec<f64>,
    now_high: Vec<f64>,
    /// Samples seen, the latest batch among them.
    samples: u64,
}

impl Features {
    pub(super) fn new(layout: Layout) -> Features {
        let (low, high) = (vec![f64::INFINITY; layout.count], vec![f64::NEG_INFINITY; layout.count]);
        Features { layout, now_low: low.clone(), now_high: high.clone(), low, high, samples: 0 }
    }

    /// Before a batch of this layout is read. An input whose number of features changes (padded sequences) has one range for
    /// all of them from then on.
    pub(super) fn fit(&mut self, layout: Layout, input: &Input) {
        if layout.count == self.layout.count {
            self.layout = layout;
            return;
        }
        for range in [&mut self.low, &mut self.now_low] {
            *range = vec![range.iter().copied().fold(f64::INFINITY, f64::min)];
        }
        for range in [&mut self.high, &mut self.now_high] {
            *range = vec![range.iter().copied().fold(f64::NEG_INFINITY, f64::max)];
        }
        self.layout = Layout::single_of(input.shape);
    }

    /// Reads a batch; what was the latest joins those before it.
    pub(super) fn read(&mut self, input: &Input) -> Spread {
        for (low, now) in self.low.iter_mut().zip(&mut self.now_low) {
            *low = low.min(std::mem::replace(now, f64::INFINITY));
        }
        for (high, now) in self.high.iter_mut().zip(&mut self.now_high) {
            *high = high.max(std::mem::replace(now, f64::NEG_INFINITY));
        }
        self.samples += input.shape.first().map_or(1, |samples| *samples as u64);
        spread::features(&input.view, self.layout.inner, &mut self.now_low, &mut self.now_high)
    }

    /// Lowest and highest of all features, before the latest batch.
    pub(super) fn before(&self) -> Option<(f64, f64)> {
        let low = self.low.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.high.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (low <= high).then_some((low, high))
    }

    /// Elements of the latest batch that are far larger than any of their feature before, the farthest first.
    ///
    /// Allocates only when there is one, and reads the batch once more for each.
    pub(super) fn odd(&self, step: u64, input: &Input) -> Vec<Odd> {
        let Some((low, high)) = self.before() else { return vec![] };
        let least = SMALL * low.abs().max(high.abs());
        let mut far: Vec<(f64, usize, f64)> = vec![];
        for feature in 0..self.layout.count {
            let known = self.low[feature] <= self.high[feature] && self.now_low[feature] <= self.now_high[feature];
            let value = farther(self.now_low[feature], self.now_high[feature]);
            let usual = farther(self.low[feature], self.high[feature]).abs();
            // A feature that was 0 so far is measured against the whole input: a rare flag is not odd.
            let usual = if usual == 0.0 { low.abs().max(high.abs()) } else { usual.max(least) };
            if known && usual > 0.0 && value.abs() >= ODD * usual {
                far.push((value.abs() / usual, feature, value));
            }
        }
        far.sort_by(|a, b| b.0.total_cmp(&a.0));
        far.truncate(KEPT);
        let place = |(_, feature, value): (f64, usize, f64)| {
            let (low, high) = (Some(self.low[feature]), Some(self.high[feature]));
            self.place(step, input, feature, value, (low, high))
        };
        far.into_iter().map(place).collect()
    }

    /// The largest element of the latest batch, when nothing came before it.
    pub(super) fn largest(&self, step: u64, input: &Input) -> Odd {
        let value = |feature: usize| farther(self.now_low[feature], self.now_high[feature]);
        let finite = (0..self.layout.count).filter(|feature| value(*feature).is_finite());
        let feature = finite.max_by(|&a, &b| value(a).abs().total_cmp(&value(b).abs())).unwrap_or(0);
        self.place(step, input, feature, value(feature), (None, None))
    }

    fn place(&self, step: u64, input: &Input, feature: usize, value: f64, before: (Option<f64>, Option<f64>)) -> Odd {
        let Layout { count, inner } = self.layout;
        let is_it = |at: u64, x: f64| x == value && at as usize / inner % count == feature;
        let at = spread::find(&input.view, is_it);
        let sample = at.filter(|_| !input.shape.is_empty()).map(|at| at / (inner * count) as u64);
        let feature = (!self.layout.single()).then_some(feature as u64);
        Odd { step, sample, feature, value, low: before.0, high: before.1 }
    }

    /// Features that had one value only, over two batches and 16 samples at least.
    pub(super) fn constant(&self) -> Vec<Constant> {
        if self.samples < 16 || self.layout.single() || self.before().is_none() {
            return vec![];
        }
        let one = |feature: &usize| {
            let f = *feature;
            self.low[f] == self.high[f] && self.now_low[f] == self.low[f] && self.now_high[f] == self.low[f]
        };
        let constant = (0..self.layout.count).filter(one).take(KEPT);
        constant.map(|feature| Constant { feature: feature as u64, value: self.low[feature] }).collect()
    }
}

/// The one of the larger magnitude.
fn farther(low: f64, high: f64) -> f64 {
    if low.abs() > high.abs() { low } else { high }
}
