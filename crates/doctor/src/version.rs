/// A version as numbers that compare: `2.25.1+cuda12.2` is 2, 25, 1. Parts that are not there count as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version([u32; 3]);

impl Version {
    /// Whatever follows the numbers is left out. None where there is no number first.
    pub(crate) fn of(text: &str) -> Option<Version> {
        let mut numbers = [0; 3];
        let text = text.trim().trim_start_matches('v');
        for (at, part) in text.split('.').take(3).enumerate() {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            match part[..digits].parse() {
                Ok(number) => numbers[at] = number,
                Err(_) if at == 0 => return None,
                Err(_) => break,
            }
            if digits < part.len() {
                break;
            }
        }
        Some(Version(numbers))
    }

    /// Whether it lies in a range: from the first on, below the second.
    pub(crate) fn within(self, from: &str, below: &str) -> bool {
        Version::of(from).is_none_or(|from| from <= self) && Version::of(below).is_none_or(|below| self < below)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn numbers_compare_as_numbers() {
        let within = |text, from, below| Version::of(text).unwrap().within(from, below);
        assert!(within("2.25.1+cuda12.2", "2.25.1", "2.26.2"));
        assert!(!within("2.26.2", "2.25.1", "2.26.2"));
        assert!(within("2.7.0a0+git1", "2.7", "2.7.1"));
        assert!(within("2.10.0", "2.9", ""));
        assert!(within("560.35.03", "560", "561"));
        assert_eq!(Version::of("not installed"), None);
        assert_eq!(Version::of(""), None);
    }
}
