//! One input over the steps.

use std::collections::VecDeque;

use nanscope_numeric::Dtype;
use nanscope_trace::schema::{Batch, InputHistory, Num, Odd};

use super::Input;
use super::features::{Features, KEPT, Layout};
use super::series::{Series, middle};

/// Latest batches that are kept.
const RECENT: usize = 32;
/// Elements that a batch's typical magnitude is read from.
const SAMPLE: usize = 255;
/// Times the typical magnitude from which the largest of a first batch is odd.
pub(crate) const OUT_OF_PROPORTION: f64 = 1e4;

#[derive(Debug, Default)]
pub(super) struct Slot {
    dtype: Option<Dtype>,
    shape: Vec<usize>,
    batches: u64,
    /// log10 of the largest magnitude of every batch before the latest.
    magnitudes: Series,
    latest: Option<f64>,
    recent: VecDeque<Batch>,
    features: Option<Features>,
    odd: VecDeque<Odd>,
}

impl Slot {
    pub(super) fn observe(&mut self, step: u64, input: &Input) {
        let dtype = input.view.dtype();
        if dtype == Dtype::Bool || dtype.is_complex() {
            return;
        }
        if self.dtype.replace(dtype).is_some_and(|before| before != dtype) {
            // Another kind of input has taken the place.
            *self = Slot { dtype: Some(dtype), ..Slot::default() };
        }
        self.shape.clear();
        self.shape.extend(input.shape);
        self.batches += 1;
        if let Some(magnitude) = self.latest.take() {
            self.magnitudes.push(magnitude);
        }
        // Labels and ids have a range, and features are not theirs.
        let layout = if dtype.is_floating() { Layout::of(input.shape) } else { Layout::of(&[input.view.len()]) };
        let features = self.features.get_or_insert_with(|| Features::new(layout));
        features.fit(layout, input);
        let spread = features.read(input);
        self.latest = spread.largest().filter(|largest| *largest > 0.0).map(f64::log10);
        let typical = if dtype.is_floating() { typical(input) } else { None };
        if dtype.is_floating() {
            let mut odd = features.odd(step, input);
            let out_of_proportion = spread.largest() > typical.map(|typical| OUT_OF_PROPORTION * typical);
            if self.batches == 1 && typical.is_some() && out_of_proportion {
                odd.push(features.largest(step, input));
            }
            for odd in odd.into_iter().rev() {
                if self.odd.len() == KEPT {
                    self.odd.pop_front();
                }
                self.odd.push_back(odd);
            }
        }
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        let any = spread.count > 0;
        self.recent.push_back(Batch {
            step,
            min: any.then_some(spread.min),
            max: any.then_some(spread.max),
            rms: spread.rms(),
            typical,
        });
    }

    pub(super) fn history(&self, slot: u32, name: Option<String>) -> InputHistory {
        let before = self.features.as_ref().and_then(Features::before);
        let usual = self.magnitudes.median_and_mad();
        InputHistory {
            slot,
            name,
            dtype: self.dtype.map_or("", Dtype::name).to_owned(),
            shape: self.shape.iter().map(|size| *size as u64).collect(),
            batches: self.batches,
            median: usual.map(|(median, _)| 10f64.powf(median)),
            mad: usual.map(|(_, mad)| mad),
            low: before.map(|(low, _)| Num(low)),
            high: before.map(|(_, high)| Num(high)),
            recent: self.recent.iter().copied().collect(),
            constant: self.features.as_ref().map(Features::constant).unwrap_or_default(),
            odd: self.odd.iter().copied().collect(),
        }
    }
}

/// Median magnitude of elements spread evenly over the input, zeros left out.
fn typical(input: &Input) -> Option<f64> {
    let elements = input.view.len();
    let count = elements.min(SAMPLE);
    let mut sample = [0.0; SAMPLE];
    let mut kept = 0;
    for at in 0..count {
        let magnitude = input.view.get((at as u128 * elements as u128 / count as u128) as usize).abs();
        if magnitude > 0.0 && magnitude.is_finite() {
            sample[kept] = magnitude;
            kept += 1;
        }
    }
    middle(&mut sample[..kept])
}
