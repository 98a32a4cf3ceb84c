//! Numbers and places as sentences use them.

use nanscope_trace::schema::{Arg, Source};

/// A number with three significant digits: `65504`, `1.70e5`, `0.0313`, `inf`.
pub(crate) fn number(x: f64) -> String {
    let magnitude = x.abs();
    if !x.is_finite() || x == 0.0 {
        return if x == 0.0 { "0".to_owned() } else { format!("{x}").to_lowercase() };
    }
    if magnitude.fract() == 0.0 && magnitude < 1e6 {
        return format!("{x:.0}");
    }
    if (1e-3..1e5).contains(&magnitude) {
        let digits = (2 - magnitude.log10().floor() as i32).max(0) as usize;
        return format!("{x:.digits$}");
    }
    format!("{x:.2e}")
}

/// An index: `[3, 17]`, and `[]` for a scalar.
pub(crate) fn index(index: &[u64]) -> String {
    format!("[{}]", index.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}

/// `48 of 1152 values are inf` and the like.
pub(crate) fn bad_of(arg: &Arg) -> String {
    let Some(counts) = arg.counts else { return "its values could not be read".to_owned() };
    let of: u64 = arg.shape.iter().product();
    let mut parts = vec![];
    for (count, name) in [(counts.nan, "nan"), (counts.posinf, "inf"), (counts.neginf, "-inf")] {
        if count > 0 {
            parts.push(format!("{count} {name}"));
        }
    }
    match (of, parts.as_slice()) {
        (_, []) => "all values are finite".to_owned(),
        (1, [one]) => format!("the value is {}", one.trim_start_matches("1 ")),
        _ => format!("{} of {of} values", parts.join(" and ")),
    }
}

/// Where a value from outside came from.
pub(crate) fn source(source: &Source) -> String {
    match source {
        Source::Param { name, .. } => format!("parameter {name}"),
        Source::Buffer { name } => format!("buffer {name}"),
        Source::State { name } => format!("optimizer state {name}"),
        Source::Unwritten { .. } => "memory that was never written".to_owned(),
        Source::Data { name, .. } => name.clone(),
    }
}

/// `x = 0 at [3, 17]` for an input with a known value.
pub(crate) fn operand(arg: &Arg) -> Option<String> {
    let value = arg.value?.0;
    let name = arg.name.replace("saved ", "");
    match arg.index.as_deref() {
        Some([]) | None => Some(format!("{name} = {}", number(value))),
        Some(at) => Some(format!("{name} = {} at {}", number(value), index(at))),
    }
}
