use nanscope_trace::schema::Operand;

use super::number::{count, index, number};

/// `float16[24, 48], 3 of 1152 nan, largest 6.2e4; 5.9e4 at [3, 17]`.
pub(crate) fn operand(operand: &Operand) -> String {
    let mut parts = vec![format!("{}{}", operand.dtype, index(&operand.shape))];
    if let Some(census) = &operand.census {
        let bad: Vec<String> = [("nan", census.nan), ("inf", census.posinf), ("-inf", census.neginf)]
            .iter()
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| format!("{n} {name}"))
            .collect();
        if !bad.is_empty() {
            parts.push(format!("{} of {}", bad.join(" and "), census.n));
        }
        if let Some(largest) = census.max_abs {
            parts.push(format!("largest {}", number(largest)));
        }
        if census.zero > 0 && census.zero < census.n {
            parts.push(count(census.zero, "zero"));
        }
        if census.n == 0 {
            parts.push("empty".into());
        }
    }
    let mut text = parts.join(", ");
    if let Some(value) = operand.value {
        match &operand.index {
            Some(at) if !at.is_empty() => text += &format!("; {} at {}", number(value.0), index(at)),
            _ => text += &format!("; value {}", number(value.0)),
        }
    }
    text
}
