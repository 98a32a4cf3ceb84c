//! What is said of attention: its heads, its scale, its mask.

use nanscope_lang::{Lang, say};
use nanscope_numeric::Format;
use nanscope_trace::schema::{Attention, Entry, Ledger};

use crate::text;

/// Steps of the past that are told.
const PAST: usize = 4;

/// The call of attention that an operator belongs to, or whose derivative it is part of.
pub(crate) fn of<'a>(ledger: &'a Ledger, entry: &Entry) -> Option<&'a Attention> {
    let belongs = |index: usize| ledger.attention.iter().find(move |call| call.members.contains(&index));
    belongs(entry.index).or_else(|| belongs(entry.forward?))
}

/// The head with the largest logit, how sharply it looks, what logits are scaled by, and how they have grown.
pub(crate) fn logits(call: &Attention, lang: Lang) -> Vec<String> {
    let mut found = vec![];
    if let Some(head) = call.largest() {
        let largest = text::number(head.largest.0);
        let end = Format::named(&call.dtype).filter(|format| format.bits <= 16 && format.max_finite < 1e6);
        let ends = end.map_or_else(String::new, |format| {
            let (dtype, end) = (&call.dtype, text::number(format.max_finite));
            say!(lang, " ({dtype} ends at {end})", " ({dtype}의 최댓값은 {end})")
        });
        let spread = match (head.entropy, head.even) {
            (Some(entropy), Some(even)) => {
                let (entropy, even) = (text::number(rounded(entropy)), text::number(rounded(even)));
                say!(lang, ", entropy {entropy} of at most {even}", ", 엔트로피 {entropy} (최대 {even})")
            }
            _ => String::new(),
        };
        let name = head_of(call, head.head, lang);
        found.push(say!(
            lang,
            "{name}: largest logit {largest}{ends}{spread}",
            "{name}: 가장 큰 로짓 {largest}{ends}{spread}"
        ));
    }
    found.extend(scale(call, lang));
    found.extend(growth(call, lang));
    found
}

/// How many rows see no key, and what excludes keys.
pub(crate) fn mask(call: &Attention, lang: Lang) -> Vec<String> {
    let mut found = vec![];
    if let Some(head) = call.heads.iter().max_by_key(|head| head.keyless).filter(|head| head.keyless > 0) {
        let (name, rows) = (head_of(call, head.head, lang), head.keyless);
        let percent = text::number(rounded(head.masked * 100.0));
        found.push(say!(
            lang,
            "{name}: rows that see no key: {rows}; masked keys: {percent} %",
            "{name}: 키가 하나도 없는 행 {rows}개; 키의 {percent} %가 가려짐"
        ));
    }
    if let Some((mask, constant)) = call.mask.as_ref().and_then(|mask| Some((mask, mask.constant?))) {
        let (constant, dtype) = (text::number(constant.0), &mask.dtype);
        found.push(if mask.kind == "filled" {
            say!(
                lang,
                "masked logits are set to {constant} in {dtype}",
                "가려진 로짓은 {dtype} {constant}(으)로 채워짐"
            )
        } else {
            say!(lang, "the mask adds {constant} in {dtype}", "마스크가 {dtype} {constant}을(를) 더함")
        });
    }
    found
}

/// `head 3 of blocks.2.attn`, without the number where there is one head.
fn head_of(call: &Attention, head: u64, lang: Lang) -> String {
    let module = call.module.as_deref();
    match (call.heads.len(), module) {
        (0 | 1, Some(module)) => say!(lang, "attention in {module}", "{module}의 어텐션"),
        (0 | 1, None) => lang.pick("attention", "어텐션").to_owned(),
        (_, Some(module)) => say!(lang, "head {head} of {module}", "{module}의 head {head}"),
        (_, None) => say!(lang, "head {head}", "head {head}"),
    }
}

/// Logits of a dot product of `width` numbers grow with its square root unless they are divided by it.
fn scale(call: &Attention, lang: Lang) -> Option<String> {
    let (scale, width) = (call.scale?, call.width);
    let usual = (width as f64).sqrt().recip();
    if call.width < 2 || (scale / usual - 1.0).abs() < 0.01 {
        return None;
    }
    let (scale, usual) = (text::number(rounded(scale)), text::number(rounded(usual)));
    Some(say!(
        lang,
        "logits are multiplied by {scale}; 1/sqrt({width}) is {usual}",
        "로짓에 {scale}을(를) 곱함; 1/sqrt({width})은 {usual}"
    ))
}

fn growth(call: &Attention, lang: Lang) -> Option<String> {
    let now = text::number(call.largest()?.largest.0);
    let skipped = call.past.len().saturating_sub(PAST);
    let steps = call.past.iter().skip(skipped).map(|(step, logit)| {
        let logit = text::number(logit.0);
        say!(lang, "{logit} in step {step}", "스텝 {step}에서 {logit}")
    });
    let before = steps.collect::<Vec<_>>().join(", ");
    (!before.is_empty()).then(|| say!(lang, "largest logit: {before}, now {now}", "가장 큰 로짓: {before}, 지금 {now}"))
}

/// With three decimals: more would be noise, and `-0` no number.
fn rounded(x: f64) -> f64 {
    if x.abs() < 5e-4 { 0.0 } else { (x * 1e6).round() / 1e6 }
}
