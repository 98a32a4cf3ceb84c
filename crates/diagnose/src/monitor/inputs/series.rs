//! A number of every batch, thinned so that memory stays bounded and the whole run counts alike.

const KEPT: usize = 256;

/// Keeps every `stride`-th number; the stride doubles whenever the places run out.
#[derive(Debug)]
pub(super) struct Series {
    kept: Vec<f64>,
    stride: u64,
    seen: u64,
}

impl Default for Series {
    fn default() -> Self {
        Series { kept: Vec::with_capacity(KEPT), stride: 1, seen: 0 }
    }
}

impl Series {
    pub(super) fn push(&mut self, x: f64) {
        if self.seen.is_multiple_of(self.stride) {
            if self.kept.len() == KEPT {
                for at in 0..KEPT / 2 {
                    self.kept[at] = self.kept[2 * at];
                }
                self.kept.truncate(KEPT / 2);
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.kept.push(x);
            }
        }
        self.seen += 1;
    }

    /// Median, and median absolute deviation from it.
    pub(super) fn median_and_mad(&self) -> Option<(f64, f64)> {
        let mut sorted = self.kept.clone();
        let median = middle(&mut sorted)?;
        sorted.iter_mut().for_each(|x| *x = (*x - median).abs());
        Some((median, middle(&mut sorted)?))
    }
}

/// The median, the lower of two; reorders the numbers.
pub(super) fn middle(numbers: &mut [f64]) -> Option<f64> {
    let middle = numbers.len().checked_sub(1)? / 2;
    Some(*numbers.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_series_keeps_its_median() {
        let mut series = Series::default();
        (0..100_001).for_each(|x| series.push(f64::from(x)));
        let (median, mad) = series.median_and_mad().unwrap();
        assert!((median - 50_000.0).abs() < 1000.0 && (mad - 25_000.0).abs() < 1000.0, "{median} {mad}");
        assert!(series.kept.len() <= KEPT);
        assert_eq!(Series::default().median_and_mad(), None);
    }
}
