//! Numbers as a person reads them.

use nanscope_lang::{Lang, say};

/// Up to four digits: `65504`, `0.7125`, `1.7e5`, `nan`, `-inf`.
pub fn number(x: f64) -> String {
    let magnitude = x.abs();
    if x.is_nan() {
        "nan".into()
    } else if x.is_infinite() {
        if x > 0.0 { "inf".into() } else { "-inf".into() }
    } else if x == x.trunc() && magnitude < 1e6 {
        format!("{x:.0}")
    } else if (1e-3..1e4).contains(&magnitude) {
        let decimals = (3 - magnitude.log10().floor() as i32).max(0) as usize;
        without_trailing_zeros(&format!("{x:.decimals$}")).to_owned()
    } else {
        let text = format!("{x:.2e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{exponent}", without_trailing_zeros(mantissa))
    }
}

fn without_trailing_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// `0.21 s`, `3 min 20 s`.
pub(crate) fn seconds(x: f64, lang: Lang) -> String {
    if x < 10.0 {
        say!(lang, "{x:.2} s", "{x:.2}초")
    } else if x < 120.0 {
        say!(lang, "{x:.0} s", "{x:.0}초")
    } else {
        say!(lang, "{:.0} min {:.0} s", "{:.0}분 {:.0}초", (x / 60.0).floor(), x % 60.0)
    }
}

/// `[3, 17]`; a scalar's empty index is `[]`.
pub(crate) fn index(sizes: &[u64]) -> String {
    let items: Vec<String> = sizes.iter().map(u64::to_string).collect();
    format!("[{}]", items.join(", "))
}

/// `1 step`, `7 steps`: English.
pub(crate) fn count(n: u64, singular: &str) -> String {
    if n == 1 { format!("1 {singular}") } else { format!("{n} {singular}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_what_matters() {
        let cases = [
            (65504.0, "65504"),
            (171_234.5, "1.71e5"),
            (1e-8, "1e-8"),
            (0.712_549, "0.7125"),
            (-0.0, "-0"),
            (9999.96, "10000"),
            (0.001, "0.001"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::MAX, "1.8e308"),
            (5e-324, "4.94e-324"),
        ];
        for (x, expected) in cases {
            assert_eq!(number(x), expected, "{x:e}");
        }
    }
}
