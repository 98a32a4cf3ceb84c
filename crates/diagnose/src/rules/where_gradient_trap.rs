use nanscope_lang::{Lang, say};
use nanscope_trace::schema::Entry;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A bad value was computed in forward and thrown away there (`where`, a mask, `nan_to_num`, `clamp`), so the loss is
    /// finite. The derivative at that value was not thrown away: 0 * inf is NaN.
    ///
    /// ## Why
    /// `torch.where(ok, f(x), y)` sends a gradient of 0 into the branch that was not taken, and f'(x) is infinite there. The
    /// same for `nan_to_num(f(x))` and for a clamp after the function.
    ///
    /// ## What to do
    /// Make the argument safe before the function, and select afterwards.
    ///
    /// ## Example
    /// ```python
    /// safe = torch.where(x > 0, x, torch.ones_like(x))
    /// y = torch.where(x > 0, torch.log(safe), torch.zeros_like(x))
    /// ```
    WhereGradientTrap, "where-gradient-trap", "a bad value is thrown away in forward and comes back in backward",
    "make the argument safe before the function and select afterwards: f(where(ok, x, 1)), then where(ok, ..., y)",

    /// ## 무슨 일이 일어났나
    /// 순전파에서 비정상 값이 계산되었지만 그 자리에서 버려져(`where`, 마스크, `nan_to_num`, `clamp`) 손실은 유한합니다.
    /// 그러나 그 값에서의 도함수는 버려지지 않았습니다. 0 * inf는 NaN입니다.
    ///
    /// ## 왜
    /// `torch.where(ok, f(x), y)`는 선택되지 않은 분기에도 기울기 0을 보내는데, 그곳에서 f'(x)는 무한대입니다.
    /// `nan_to_num(f(x))`나 함수 뒤의 clamp도 마찬가지입니다.
    ///
    /// ## 어떻게 하나
    /// 함수에 들어가기 전에 인자를 안전하게 만들고, 선택은 그 뒤에 하십시오.
    ///
    /// ## 예
    /// ```python
    /// safe = torch.where(x > 0, x, torch.ones_like(x))
    /// y = torch.where(x > 0, torch.log(safe), torch.zeros_like(x))
    /// ```
    "순전파에서 버려진 비정상 값이 역전파에서 되돌아옴",
    "함수 앞에서 인자를 안전하게 만들고 선택은 그 뒤에 하십시오: f(where(ok, x, 1)) 다음에 where(ok, ..., y)",
    check;
    apart "make the argument safe before the function: finite gradients then mean that the branch thrown away was at fault",
    "함수에 넣기 전에 인자를 안전한 값으로 바꿔 보십시오: 그때 기울기가 유한하면 버려진 분기가 문제입니다"
}

fn check(case: &Case) -> Option<Finding> {
    let surfaced = &case.ledger.entries[case.located.surfaced.or_else(|| crossing(case))?];
    if !case.in_forward() || case.trip.loss.is_none_or(|loss| !loss.0.is_finite()) {
        return None;
    }
    let entry = case.entry();
    let out = case.bad_output()?;
    let lang = case.lang;
    let given = say!(
        lang,
        "{} gives {} in forward, and the loss is finite",
        "{} 연산의 순전파 결과: {}; 손실은 유한함",
        text::operator(&entry.op),
        text::bad_of(out, lang)
    );
    let node = surfaced.node.as_deref().unwrap_or(lang.pick("the backward pass", "역전파"));
    let bad = surfaced.outputs.iter().find(|arg| crate::meant::is_bad(arg)).map(|arg| text::bad_of(arg, lang));
    let back = match (bad, read(surfaced, lang)) {
        (Some(bad), None) => say!(lang, "{node} turns it into {bad}", "{node}에서 되살아남: {bad}"),
        (Some(bad), Some(read)) => {
            say!(lang, "{node} turns it into {bad}: {read}", "{node}에서 되살아남: {bad}; {read}")
        }
        (None, _) => say!(lang, "{node} meets it again", "{node}에서 다시 만남"),
    };
    Finding::proved(5, vec![given, back])
}

/// The arguments of the forward operator as autograd kept them; without any, all that the backward operator read.
fn read(surfaced: &Entry, lang: Lang) -> Option<String> {
    let saved = surfaced.inputs.iter().filter(|arg| arg.name.starts_with("saved"));
    text::operands(saved, lang).or_else(|| text::operands(&surfaced.inputs, lang))
}

/// The first backward entry on the path whose gradient was still finite: there the healed value came back.
fn crossing(case: &Case) -> Option<usize> {
    let path = &case.located.path;
    let first = path.iter().position(|&i| case.ledger.entries[i].phase == nanscope_trace::schema::Phase::Backward)?;
    (first > 0).then(|| path[first])
}
