//! How far a magnitude lies from all that was seen.

/// Makes the median absolute deviation of a normal distribution its standard deviation.
const NORMAL: f64 = 1.4826;
/// Spread, in decades, below which batches count as alike: the largest of a batch varies by as much by chance.
const FLOOR: f64 = 0.05;

/// Robust z-score of a magnitude: |log10 magnitude - log10 median| / (1.4826 MAD + 0.05), the MAD being that of log10.
///
/// The modified z-score of Iglewicz and Hoaglin (How to Detect and Handle Outliers, 1993), who call 3.5 an outlier, on a
/// logarithmic scale, with a floor against a MAD of 0.
pub fn score(magnitude: f64, median: f64, mad: f64) -> f64 {
    if magnitude <= 0.0 || median <= 0.0 {
        return 0.0;
    }
    (magnitude.log10() - median.log10()).abs() / (NORMAL * mad + FLOOR)
}

#[cfg(test)]
mod tests {
    use super::score;

    #[test]
    fn counts_decades_in_units_of_the_usual_spread() {
        assert_eq!(score(1.0, 1.0, 0.1), 0.0);
        assert!((score(10.0, 1.0, 0.0) - 20.0).abs() < 1e-9);
        assert!((score(1e3, 1.0, 0.2) - 3.0 / 0.34652).abs() < 1e-6);
        assert_eq!(score(0.0, 1.0, 0.1), 0.0);
    }
}
