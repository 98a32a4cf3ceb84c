use nanscope_lang::say;
use nanscope_trace::schema::{AlarmKind, Entry, Phase};

use crate::case::Case;
use crate::course::Course;
use crate::meant::base;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A value that matters became exactly 0 because it was too small for its number format, and a logarithm or a division met
    /// it; or every gradient did, and the parameters stay as they are without a word.
    ///
    /// ## Why
    /// exp(-104) is 0 in float32, exp(-17.4) in float16; a softmax or softplus of a large negative number, a product
    /// of many probabilities, a squared gradient in float16. Gradients below 3e-8 are 0 in float16 unless the loss is
    /// scaled.
    ///
    /// ## What to do
    /// Work with logarithms (logsumexp, log_softmax), add a floor that exists in the format, or use a wider format. For
    /// gradients: scale the loss (`torch.amp.GradScaler`), or use bfloat16, which has the range of float32.
    ///
    /// ## Example
    /// ```python
    /// std = F.softplus(x) + 1e-4
    /// ```
    Underflow, "underflow", "a value that matters became 0 in its number format",
    "work with logarithms (logsumexp, log_softmax), add a floor that exists in this format, or use a wider format; for gradients: scale the loss (GradScaler), or use bfloat16",

    /// ## 무슨 일이 일어났나
    /// 의미 있는 값이 자료형에 비해 너무 작아 정확히 0이 되었고, 로그나 나눗셈이 그 0을 만났습니다. 모든 기울기가 그렇게
    /// 0이 되어 아무 표시 없이 파라미터가 바뀌지 않는 경우도 있습니다.
    ///
    /// ## 왜
    /// exp(-104)는 float32에서, exp(-17.4)는 float16에서 0입니다. 큰 음수의 softmax나 softplus, 많은 확률의 곱,
    /// float16에서 제곱한 기울기도 그렇습니다. 손실을 스케일하지 않으면 3e-8보다 작은 기울기는 float16에서 0입니다.
    ///
    /// ## 어떻게 하나
    /// 로그로 계산하거나(logsumexp, log_softmax), 해당 자료형에서 표현되는 하한을 더하거나, 더 넓은 자료형을 쓰십시오.
    /// 기울기라면 손실을 스케일하거나(`torch.amp.GradScaler`) 표현 범위가 float32와 같은 bfloat16을 쓰십시오.
    ///
    /// ## 예
    /// ```python
    /// std = F.softplus(x) + 1e-4
    /// ```
    "의미 있는 값이 언더플로로 0이 됨",
    "로그로 계산하거나(logsumexp, log_softmax), 이 자료형에서 표현되는 하한을 더하거나, 더 넓은 자료형을 쓰십시오; 기울기라면 손실을 스케일하거나(GradScaler) bfloat16을 쓰십시오",
    check; steps every_gradient;
    apart "run the line in float64 (for gradients: one step with a loss scale of 65536): what is other than 0 then had underflowed",
    "해당 줄을 float64로 실행해 보십시오(기울기라면 손실 스케일을 65536으로 두고 한 스텝): 그때 0이 아니면 언더플로였던 것입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if !case.in_forward() {
        return None;
    }
    let name = match case.op() {
        "div" => "other",
        "log" | "log2" | "log10" | "reciprocal" | "rsqrt" | "pow" => "self",
        _ => return None,
    };
    if case.value(name)? != 0.0 {
        return None;
    }
    if let Some(finding) = proved(case, name) {
        return Some(finding);
    }
    let mut writer = case.input(name)?.from;
    for _ in 0..4 {
        let entry = &case.ledger.entries[writer?];
        match base(&entry.op) {
            "exp" | "_softmax" | "softplus" | "sigmoid" | "exp2" | "cumprod" | "prod" => {
                let format = nanscope_numeric::Format::named(&entry.outputs.first()?.dtype)?;
                let largest = entry.inputs.first().and_then(|arg| arg.counts?.max_abs)?;
                // What is below exp(-this) is 0. A softmax subtracts the largest first, which at most doubles the distance.
                let needed = -format.min_subnormal.ln() / 2.0;
                if largest < needed && !base(&entry.op).contains("prod") {
                    return None;
                }
                let read = entry.inputs.first().and_then(|arg| arg.counts?.max_abs).map(text::number).unwrap_or_default();
                return Finding::likely(4, vec![
                    say!(
                        case.lang,
                        "{} gives exactly 0; its argument reaches {read} in magnitude",
                        "{} 연산의 결과가 정확히 0; 인자의 최대 크기는 {read}",
                        text::operator(&entry.op)
                    ),
                    match base(&entry.op) {
                        "prod" | "cumprod" => say!(
                            case.lang,
                            "{} has no positive number below {}",
                            "{}의 가장 작은 양수는 {}",
                            entry.outputs.first()?.dtype,
                            text::number(format.min_subnormal)
                        ),
                        _ => say!(
                            case.lang,
                            "in {} exp(x) is 0 for x below {}",
                            "{}에서는 x가 {}보다 작으면 exp(x)가 0",
                            entry.outputs.first()?.dtype,
                            text::number((format.min_subnormal / 2.0).ln())
                        ),
                    },
                ]);
            }
            "mm" | "bmm" | "mv" | "sum" | "mul" | "add" | "clone" | "_to_copy" | "pow" => {
                writer = entry.inputs.first().and_then(|arg| arg.from);
            }
            _ => return None,
        }
    }
    None
}

/// Operators through which a product or a sum of zeros is 0.
const ZERO_STAYS: &[&str] = &[
    "mm", "bmm", "mv", "addmm", "dot", "sum", "mean", "mul", "add", "clone", "_to_copy", "pow", "sqrt", "neg", "div", "index",
    "gather", "linalg_vector_norm", "exp", "prod", "cumprod", "sigmoid", "_softmax", "softplus", "square",
];

/// The whole step in float64 has a number here that the format of the run does not.
fn proved(case: &Case, name: &str) -> Option<Finding> {
    let lang = case.lang;
    let (arg, reference) = (case.input(name)?, case.reference(name)?);
    let format = nanscope_numeric::Format::named(&arg.dtype)?;
    if reference == 0.0 || !format.rounds_to_zero(reference) {
        return None;
    }
    let there = say!(
        lang,
        "{} gets 0; with the whole step in float64 it gets {}, and the smallest number of {} is {}",
        "{} 연산이 받은 값은 0; 스텝 전체를 float64로 계산하면 {}이고, {}의 가장 작은 양수는 {}",
        case.entry().op,
        text::number(reference),
        arg.dtype,
        text::number(format.min_subnormal)
    );
    let evidence = match arg.from.and_then(|from| first_lost(case, from)) {
        Some((entry, reference)) => {
            let place = entry.place.as_ref().map(|place| format!("{}:{}", place.file, place.line)).unwrap_or_default();
            vec![
                say!(
                    lang,
                    "{} became 0 in {}{}",
                    "{}에 해당하는 값이 {} 연산에서 0이 됨{}",
                    text::number(reference),
                    entry.op,
                    if place.is_empty() { place } else { format!(" ({place})") }
                ),
                there,
            ]
        }
        None => vec![there],
    };
    // A logarithm of 0 is named for itself.
    Finding::proved(if case.op().starts_with("log") { 3 } else { 6 }, evidence)
}

/// The earliest operator before `from` whose 0 should be a number, and that number.
fn first_lost<'a>(case: &Case<'a>, from: usize) -> Option<(&'a Entry, f64)> {
    let (mut todo, mut seen, mut found) = (vec![from], std::collections::BTreeSet::new(), None);
    while let Some(index) = todo.pop() {
        if !seen.insert(index) || seen.len() > 256 {
            continue;
        }
        let entry = &case.ledger.entries[index];
        if let Some(drift) = entry.drift.as_ref().filter(|drift| drift.lost_zeros > 0)
            && let (Some(value), Some(reference)) = (drift.value, drift.reference)
            && value.0 == 0.0
            && found.is_none_or(|(earlier, _): (&Entry, f64)| index < earlier.index)
        {
            found = Some((entry, reference.0));
        }
        if ZERO_STAYS.contains(&base(&entry.op)) {
            todo.extend(entry.inputs.iter().filter_map(|arg| arg.from).filter(|&from| from < index));
        }
    }
    found
}

/// Gradients that are 0 throughout, step after step.
fn every_gradient(course: &Course) -> Option<Finding> {
    let lang = course.lang;
    let alarm = course.alarm(AlarmKind::SilentZero).filter(|_| course.tripped_on(AlarmKind::SilentZero))?;
    let number = |name| alarm.fact(name).map(text::number);
    let mut evidence = vec![say!(
        lang,
        "every gradient was exactly 0 in all {steps} steps from step {first} on; the loss is {loss}",
        "스텝 {first}부터 {steps}개 스텝 내내 모든 기울기가 정확히 0; 손실은 {loss}",
        steps = number("steps")?,
        first = alarm.step,
        loss = number("loss")?
    )];
    if let (Some(norm), Some(step)) = (number("last_norm"), number("last_norm_step")) {
        evidence.push(say!(
            lang,
            "the last gradient norm above 0 was {norm}, at step {step}",
            "0이 아니었던 마지막 기울기 노름은 스텝 {step}의 {norm}"
        ));
    }
    evidence.push(match number("scale") {
        Some(scale) => say!(lang, "the loss scale is {scale}", "손실 스케일은 {scale}"),
        None => lang.pick("the loss is not scaled", "손실을 스케일하지 않음").to_owned(),
    });
    let backward = |entry: &&Entry| entry.phase == Phase::Backward;
    match course.ledger.entries.iter().filter(backward).find_map(vanishing) {
        Some((entry, dtype)) => {
            evidence.push(say!(
                lang,
                "{}: what it gets is not 0, what it gives is 0 throughout, in {dtype}",
                "{}: 입력은 0이 아닌데 {dtype} 결과가 모두 0",
                text::operator(&entry.op)
            ));
            Finding::likely(7, evidence)
        }
        // Without a replay nothing is known of formats.
        None if course.ledger.entries.is_empty() => Finding::possible(4, evidence),
        None => None,
    }
}

/// A 16- or 8-bit result that is 0 throughout, of inputs that are not.
fn vanishing(entry: &Entry) -> Option<(&Entry, &str)> {
    let largest = |arg: &nanscope_trace::schema::Arg| arg.counts.and_then(|counts| counts.max_abs);
    let out = entry.outputs.first().filter(|out| largest(out) == Some(0.0))?;
    let narrow = nanscope_numeric::Format::named(&out.dtype).is_some_and(|format| format.bits <= 16);
    let fed = !entry.inputs.is_empty() && entry.inputs.iter().all(|arg| largest(arg) > Some(0.0));
    (narrow && fed).then_some((entry, &out.dtype[..]))
}
