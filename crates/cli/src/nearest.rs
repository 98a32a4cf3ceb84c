/// Up to three of the candidates that are close to a word: a typing error away, or containing it; the closest first.
pub(crate) fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut close: Vec<(usize, &str)> = candidates
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(edits, candidate)| *edits <= word.len() / 3 || (word.len() > 2 && candidate.contains(word)))
        .collect();
    close.sort();
    close.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// Levenshtein distance in bytes: ids are ASCII.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_and_parts_are_near() {
        let ids = ["half-overflow", "exp-overflow", "log-of-zero", "underflow"];
        let near = |word| nearest(word, ids.into_iter());
        assert_eq!(near("half-overfow"), ["half-overflow"]);
        assert_eq!(near("overflow"), ["exp-overflow", "half-overflow"]);
        assert_eq!(near("zero"), ["log-of-zero"]);
        assert!(near("").is_empty());
        assert!(near("qqqqqq").is_empty());
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
