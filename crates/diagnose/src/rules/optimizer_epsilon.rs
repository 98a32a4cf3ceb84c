use nanscope_lang::say;
use nanscope_numeric::Format;
use nanscope_trace::schema::Phase;

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// Loss and gradients were finite; the optimizer itself divided by 0 and wrote a value that is not finite into a parameter.
    ///
    /// ## Why
    /// Adam and its relatives divide by sqrt(v) + eps. In float16 the default eps = 1e-8 is 0, and so is v after the
    /// first step, 0.001 * g^2, for gradients below 0.0055. The same happens in any format with eps = 0 and a
    /// gradient that is exactly 0.
    ///
    /// ## What to do
    /// Keep the trained parameters in float32 and use autocast for the forward pass. Otherwise an eps that exists in the
    /// format: 1e-4 in float16.
    ///
    /// ## Example
    /// ```python
    /// opt = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)   # parameters in float16
    /// ```
    OptimizerEpsilon, "optimizer-epsilon", "the optimizer divides by zero: its eps is lost",
    "keep the trained parameters in float32 (autocast for the forward pass), or give the optimizer an eps that exists in their format: 1e-4 in float16",

    /// ## 무슨 일이 일어났나
    /// 손실과 기울기는 유한했지만, 옵티마이저 자신이 0으로 나누어 파라미터에 유한하지 않은 값을 썼습니다.
    ///
    /// ## 왜
    /// Adam 계열은 sqrt(v) + eps로 나눕니다. float16에서는 기본값 eps = 1e-8이 0이 되고, 첫 스텝 뒤의 v = 0.001 *
    /// g^2도 기울기가 0.0055보다 작으면 0이 됩니다. 어떤 자료형에서든 eps = 0이고 기울기가 정확히 0이면 같은 일이
    /// 일어납니다.
    ///
    /// ## 어떻게 하나
    /// 학습하는 파라미터는 float32로 두고 순전파에 autocast를 쓰십시오. 그럴 수 없다면 해당 자료형에서 표현되는 eps를
    /// 쓰십시오. float16이라면 1e-4입니다.
    ///
    /// ## 예
    /// ```python
    /// opt = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1e-4)   # parameters in float16
    /// ```
    "옵티마이저가 0으로 나눔: eps가 사라짐",
    "학습하는 파라미터를 float32로 두거나(순전파에는 autocast), 파라미터의 자료형에서 표현되는 eps를 옵티마이저에 주십시오 (float16이라면 1e-4)",
    check;
    apart "keep the parameters in float32 for one step: finite then means that eps was lost in their format",
    "한 스텝만 파라미터를 float32로 두어 보십시오: 그때 유한하면 eps가 파라미터의 자료형에서 사라진 것입니다"
}

fn check(case: &Case) -> Option<Finding> {
    if case.phase() != Phase::Optimizer || case.outside().is_some() {
        return None;
    }
    let denominator = match case.op() {
        "addcdiv" => "tensor2",
        "div" => "other",
        "_foreach_addcdiv" | "_foreach_div" => "tensor2[0]",
        _ => return None,
    };
    let out = case.bad_output()?;
    let value = case.value(denominator);
    if value.is_some_and(|x| x != 0.0) && case.entry().reference.as_ref().is_some_and(|r| !r.finite) {
        return None;
    }
    let mut evidence = vec![];
    if let (Some(0.0), Some(arg)) = (value, case.input(denominator)) {
        evidence.push(match arg.index.as_deref().filter(|at| !at.is_empty()) {
            Some(at) => say!(
                case.lang,
                "the denominator sqrt(v) + eps (input {}) is 0 at {}",
                "분모 sqrt(v) + eps(입력 {})의 값이 {} 위치에서 0",
                denominator,
                text::index(at)
            ),
            None => {
                case.lang.pick("the denominator sqrt(v) + eps is 0", "분모 sqrt(v) + eps의 값이 0").to_owned()
            }
        });
    }
    if let (Some(eps), Some(format)) = (case.fact("optimizer.eps"), Format::named(&out.dtype)) {
        if eps == 0.0 {
            evidence.push(case.lang.pick("eps is 0", "eps가 0").to_owned());
        } else if format.rounds_to_zero(eps) {
            evidence.push(say!(
                case.lang,
                "eps = {eps:e} is 0 in {}, whose smallest positive value is {}",
                "eps = {eps:e} 값이 {}에서는 0 (가장 작은 양수: {})",
                out.dtype,
                text::number(format.min_subnormal)
            ));
        }
    }
    if evidence.is_empty() {
        return None;
    }
    Finding::sure(value == Some(0.0), 7, evidence)
}
