//! Numbers and places as sentences use them.

use nanscope_lang::{Lang, say};
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

/// A number with six significant digits, for values that are to be told apart.
pub(crate) fn precise(x: f64) -> String {
    if x == 0.0 || !x.is_finite() || (x.fract() == 0.0 && x.abs() < 1e6) {
        return number(x);
    }
    if (1e-3..1e6).contains(&x.abs()) {
        let digits = (5 - x.abs().log10().floor() as i32).max(0) as usize;
        return format!("{x:.digits$}");
    }
    format!("{x:.5e}")
}

/// A number with as many digits as tell it from its neighbours in `dtype`.
pub(crate) fn exact(x: f64, dtype: &str) -> String {
    let narrow = matches!(dtype, "float32" | "float16" | "bfloat16");
    match x.abs() {
        y if y != 0.0 && !(1e-4..1e9).contains(&y) => number(x),
        _ if narrow => format!("{}", x as f32),
        _ => format!("{x}"),
    }
}

/// Sizes: `[4, 12, 32]`.
pub(crate) fn shape(shape: &[u64]) -> String {
    index(shape)
}

/// An index: `[3, 17]`, and `[]` for a scalar.
pub(crate) fn index(index: &[u64]) -> String {
    format!("[{}]", index.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
}

/// A function at a value: `log(0) at [3, 17]`, without the place for a scalar.
pub(crate) fn call(op: &str, x: f64, at: Option<&[u64]>, lang: Lang) -> String {
    let call = format!("{op}({})", number(x));
    match at.unwrap_or_default() {
        [] => call,
        at => say!(lang, "{call} at {at}", "{call}, {at} 위치", at = index(at)),
    }
}

/// `48 inf of 1152 values` and the like.
pub(crate) fn bad_of(arg: &Arg, lang: Lang) -> String {
    let Some(counts) = arg.counts else {
        return lang.pick("its values could not be read", "값을 읽을 수 없음").to_owned();
    };
    let of: u64 = arg.shape.iter().product();
    let mut parts = vec![];
    for (count, name) in [(counts.nan, "nan"), (counts.posinf, "inf"), (counts.neginf, "-inf")] {
        if count > 0 {
            parts.push(say!(lang, "{count} {name}", "{name} {count}개"));
        }
    }
    match (of, parts.as_slice()) {
        (_, []) => lang.pick("all values are finite", "모든 값이 유한").to_owned(),
        (1, [_]) => {
            let value = if counts.nan > 0 {
                "nan"
            } else if counts.posinf > 0 {
                "inf"
            } else {
                "-inf"
            };
            say!(lang, "the value is {value}", "값이 {value}")
        }
        _ => say!(lang, "{bad} of {of} values", "값 {of}개 중 {bad}", bad = parts.join(lang.pick(" and ", ", "))),
    }
}

/// An operator's name for a person: `aten.mm` of `aten.mm.default`, as almost every one ends so.
pub(crate) fn operator(op: &str) -> &str {
    op.trim_end_matches(".default")
}

/// Where a value from outside came from.
pub(crate) fn source(source: &Source, lang: Lang) -> String {
    match source {
        Source::Param { name, .. } => say!(lang, "parameter {name}", "파라미터 {name}"),
        Source::Buffer { name } => say!(lang, "buffer {name}", "버퍼 {name}"),
        Source::State { name } => {
            // `exp_avg of encoder.weight`
            let (key, of) = name.split_once(" of ").unwrap_or((name, ""));
            let korean = if of.is_empty() { key.to_owned() } else { format!("{of}의 {key}") };
            say!(lang, "optimizer state {}", "옵티마이저 상태 {}", lang.pick(name, &korean))
        }
        Source::Unwritten { .. } => {
            lang.pick("memory that was never written", "한 번도 값이 쓰이지 않은 메모리").to_owned()
        }
        Source::Data { name, .. } => data(name, lang),
    }
}

/// The name of a tensor from outside the step. The ledger has it in English, in one of few forms.
pub(crate) fn data(name: &str, lang: Lang) -> String {
    if lang == Lang::En {
        return name.to_owned();
    }
    match name {
        "a number in the program" => "프로그램 안의 숫자".to_owned(),
        "a tensor made outside the step" => "스텝 밖에서 만들어진 텐서".to_owned(),
        _ => match name.strip_prefix("argument ").and_then(|rest| rest.split_once(" of ")) {
            Some((argument, function)) => format!("{function}의 인자 {argument}"),
            None => name.to_owned(),
        },
    }
}

/// `x = 0 at [3, 17]` for an input with a known value.
pub(crate) fn operand(arg: &Arg, lang: Lang) -> Option<String> {
    let value = number(arg.value?.0);
    let name = arg.name.replace("saved ", "");
    Some(match arg.index.as_deref() {
        Some([]) | None => format!("{name} = {value}"),
        Some(at) => say!(lang, "{name} = {value} at {at}", "{name} = {value} ({at} 위치)", at = index(at)),
    })
}

/// [`operand`] of each of these whose value is known, in one list, nothing said twice.
pub(crate) fn operands<'a>(args: impl IntoIterator<Item = &'a Arg>, lang: Lang) -> Option<String> {
    let mut known: Vec<String> = vec![];
    for text in args.into_iter().filter_map(|arg| operand(arg, lang)) {
        if !known.contains(&text) {
            known.push(text);
        }
    }
    (!known.is_empty()).then(|| known.join(", "))
}
