use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Operand, Origin, Phase};

use super::number::{count, index};

/// What stands under the line: how many values are bad, and the first of them.
pub(crate) fn label(origin: &Origin, lang: Lang) -> String {
    let Origin { bad, of, .. } = origin;
    let kind = kind(origin, lang);
    let first = match &origin.first_index {
        Some(at) if !at.is_empty() => say!(lang, ", the first at {at}", ", 첫 위치 {at}", at = index(at)),
        _ => String::new(),
    };
    let values = lang.pick(count(*of, "value"), format!("값 {of}개"));
    match origin.phase {
        Phase::Data | Phase::Param => {
            let unnamed = || lang.pick("a tensor", "어떤 텐서").to_owned();
            let tensor = origin.tensor.as_deref().map_or_else(unnamed, |name| format!("`{name}`"));
            if *of <= 1 {
                return say!(
                    lang,
                    "{tensor} was already {kind} when it got here",
                    "여기에 왔을 때 이미 {kind}: {tensor}"
                );
            }
            say!(
                lang,
                "{tensor} was already bad when it got here: {bad} of {values} {kind}{first}",
                "여기에 왔을 때 이미 비정상이었던 텐서: {tensor}; {values} 중 {bad}개가 {kind}{first}"
            )
        }
        Phase::Backward if writes(origin) => say!(
            lang,
            "this wrote {kind} into {bad} of {values}{first}",
            "여기에서 {values} 중 {bad}개에 {kind} 값을 씀{first}"
        ),
        Phase::Backward if !is_own(origin) && *of <= 1 => {
            say!(lang, "the gradient of this is {kind}", "이 식의 기울기가 {kind}")
        }
        Phase::Backward if !is_own(origin) => say!(
            lang,
            "the gradient of this is {kind} in {bad} of {values}{first}",
            "이 식의 기울기: {values} 중 {bad}개가 {kind}{first}"
        ),
        Phase::Optimizer => say!(
            lang,
            "the update wrote {kind} into {bad} of {values}{first}",
            "업데이트로 {values} 중 {bad}개가 {kind}{first}"
        ),
        _ if *of <= 1 => say!(lang, "the result is {kind}", "결과가 {kind}"),
        _ if *bad == 1 => say!(lang, "1 of {values} is {kind}{first}", "{values} 중 1개가 {kind}{first}"),
        _ => say!(lang, "{bad} of {values} are {kind}{first}", "{values} 중 {bad}개가 {kind}{first}"),
    }
}

/// `nan`, `-inf`, `nan or inf`: what the bad values are, from their census where there is one.
fn kind(origin: &Origin, lang: Lang) -> String {
    let tensors = origin.outputs.iter().chain(&origin.inputs);
    let mut censuses = tensors.filter_map(|operand| operand.census.as_ref());
    let same = censuses.find(|c| c.n == origin.of && c.nan + c.posinf + c.neginf == origin.bad);
    let Some(census) = same else { return origin.kind.clone() };
    let counts = [("nan", census.nan), ("inf", census.posinf), ("-inf", census.neginf)];
    let kinds: Vec<&str> = counts.iter().filter(|(_, n)| *n > 0).map(|(name, _)| *name).collect();
    match kinds.as_slice() {
        [] => origin.kind.clone(),
        [only] => (*only).to_owned(),
        [others @ .., last] => {
            format!("{}{}{last}", others.join(", "), lang.pick(" or ", " 또는 "))
        }
    }
}

/// The program's own `autograd.Function`: torch numbers its nodes (`DivBackward0`), the program does not.
fn is_own(origin: &Origin) -> bool {
    origin.node.as_deref().is_some_and(|node| node.ends_with("Backward"))
}

/// Code of the program that writes into memory while the backward pass runs: what is bad is no gradient.
fn writes(origin: &Origin) -> bool {
    let op = origin.op.as_deref().and_then(|op| op.split('.').nth(1)).unwrap_or_default();
    matches!(op, "fill_" | "copy_" | "zero_" | "set_" | "normal_" | "uniform_")
}

/// What stands under the line where ranks came to disagree.
pub(crate) fn apart(origin: &Origin, lang: Lang) -> String {
    match origin.phase {
        Phase::Comm => lang.pick("read before this was over", "끝나기 전에 값이 읽힘"),
        _ => lang.pick("from here on the ranks differ", "여기에서부터 랭크마다 다름"),
    }
    .to_owned()
}

/// What stands under the line that wrote into memory which backward had still to read.
pub(crate) fn overwritten(lang: Lang) -> String {
    lang.pick("this memory was still needed", "아직 필요한 메모리임").to_owned()
}

/// What stands under the line of an operator that gave something else the second time.
pub(crate) fn parted(origin: &Origin, lang: Lang) -> String {
    let Origin { bad, of, .. } = origin;
    if *bad == 0 || *of == 0 {
        return lang.pick("run again, this is not what it was", "다시 실행했을 때의 결과가 처음과 다름").to_owned();
    }
    let values = lang.pick(count(*of, "value"), format!("값 {of}개"));
    say!(
        lang,
        "run again, {bad} of {values} compared are others",
        "다시 실행했을 때 비교한 {values} 중 {bad}개가 처음과 다름"
    )
}

/// What stands under the line of a kernel that gave something else than its formula.
pub(crate) fn computed(origin: &Origin, lang: Lang) -> String {
    let Origin { bad, of, .. } = origin;
    let name = origin.tensor.as_deref().unwrap_or("out");
    let values = lang.pick(count(*of, "value"), format!("값 {of}개"));
    say!(
        lang,
        "`{name}`: {bad} of {values} compared are not what the formula gives",
        "`{name}`: 비교한 {values} 중 {bad}개가 식과 다름"
    )
}

/// For a tensor that arrived bad: `the first is in row 3 of 32`. None where shape or index are unknown.
pub(crate) fn row(origin: &Origin, lang: Lang) -> Option<String> {
    let row = *origin.first_index.as_ref()?.first()?;
    let holds = |operand: &&Operand| operand.shape.iter().product::<u64>() == origin.of && operand.shape.len() > 1;
    let rows = *origin.inputs.iter().find(holds)?.shape.first()?;
    Some(say!(
        lang,
        "the first is in row {row} of {rows}, counting from 0",
        "첫 위치는 전체 {rows}개 행 중 {row}번 행 (0부터 셈)"
    ))
}

#[cfg(test)]
mod tests {
    use nanscope_lang::Lang;
    use serde_json::{Value, json};

    use super::label;

    /// The English label of an origin with these keys besides: 3 of 8 values are bad, the result's census is given.
    fn of(census: [u64; 3], more: &Value) -> String {
        let [nan, posinf, neginf] = census;
        let census = json!({
            "n": 8, "nan": nan, "posinf": posinf, "neginf": neginf, "zero": 0, "subnormal": 0, "exponents": [],
        });
        let out = json!({"name": "out", "dtype": "float32", "shape": [8], "census": census});
        let mut origin = json!({
            "phase": "forward", "rank": 0, "step": 0, "kind": "inf", "bad": 3, "of": 8, "outputs": [out],
        });
        for (key, value) in more.as_object().into_iter().flatten() {
            origin[key] = value.clone();
        }
        label(&serde_json::from_value(origin).unwrap(), Lang::En)
    }

    #[test]
    fn what_is_bad_is_told_by_sign_and_kind() {
        assert_eq!(of([0, 0, 3], &json!({})), "3 of 8 values are -inf");
        assert_eq!(
            of([1, 1, 1], &json!({"phase": "optimizer"})),
            "the update wrote nan, inf or -inf into 3 of 8 values"
        );
        assert_eq!(of([0, 2, 0], &json!({})), "3 of 8 values are inf", "a census of something else is not believed");
    }

    #[test]
    fn only_a_gradient_is_called_one() {
        let backward = |op, node| json!({"phase": "backward", "op": op, "node": node});
        let gradient = "the gradient of this is inf in 3 of 8 values";
        assert_eq!(of([0, 3, 0], &backward("aten.div.Tensor", "SqrtBackward0")), gradient);
        assert_eq!(of([0, 3, 0], &backward("aten.div.Tensor", "SafeNormBackward")), "3 of 8 values are inf");
        let wrote = "this wrote inf into 3 of 8 values";
        assert_eq!(of([0, 3, 0], &backward("aten.fill_.Scalar", "NllLossBackward0")), wrote);
    }
}
