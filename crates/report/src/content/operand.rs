use nanscope_lang::{Lang, say};
use nanscope_trace::schema::Operand;

use super::number::{count, index, number};

/// `float16[24, 48], 3 nan of 1152, magnitude up to 6.2e4; 5.9e4 at [3, 17]`.
pub(crate) fn operand(operand: &Operand, lang: Lang) -> String {
    let mut parts = vec![format!("{}{}", operand.dtype, index(&operand.shape))];
    if let Some(census) = &operand.census {
        let bad: Vec<String> = [("nan", census.nan), ("inf", census.posinf), ("-inf", census.neginf)]
            .iter()
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| say!(lang, "{n} {name}", "{name} {n}개"))
            .collect();
        if !bad.is_empty() {
            let bad = bad.join(lang.pick(" and ", ", "));
            parts.push(say!(lang, "{bad} of {n}", "{n}개 중 {bad}", n = census.n));
        }
        if let Some(largest) = census.max_abs {
            parts.push(say!(lang, "magnitude up to {}", "최대 크기 {}", number(largest)));
        }
        if census.zero > 0 && census.zero < census.n {
            parts.push(lang.pick(count(census.zero, "zero"), format!("0이 {}개", census.zero)));
        }
        if census.n == 0 {
            parts.push(lang.pick("empty", "비어 있음").into());
        }
    }
    let mut text = parts.join(", ");
    if let Some(value) = operand.value {
        let mut value = number(value.0);
        if let Some(wide) = operand.reference.map(|x| number(x.0)).filter(|wide| *wide != value) {
            value += &say!(lang, " ({wide} in float64)", " (float64: {wide})");
        }
        text += &match &operand.index {
            Some(at) if !at.is_empty() => say!(lang, "; {value} at {at}", "; {at} 위치의 값 {value}", at = index(at)),
            _ => say!(lang, "; value {value}", "; 값 {value}"),
        };
    }
    text
}
