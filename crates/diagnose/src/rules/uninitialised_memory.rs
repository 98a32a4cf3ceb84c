use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Place, Source};

use crate::case::Case;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A parameter, buffer or temporary was allocated (`torch.empty`, `to_empty`) and read before anything was written to it.
    ///
    /// ## Why
    /// Such memory holds whatever was there before: often zeros, so that the fault hides for months, sometimes NaN. A
    /// parameter that the initialisation forgets, rows of a table that are never assigned, a meta-device model whose custom
    /// `reset_parameters` misses one tensor.
    ///
    /// ## What to do
    /// Initialise it. `torch.use_deterministic_algorithms(True, warn_only=True)` fills fresh memory with NaN and
    /// makes the fault certain (`warn_only`: operators without a deterministic form would raise otherwise).
    ///
    /// ## Example
    /// ```python
    /// self.token = nn.Parameter(torch.empty(1, d))
    /// nn.init.normal_(self.token, std=0.02)
    /// ```
    UninitialisedMemory, "uninitialised-memory", "memory was read that nothing had written",
    "initialise it: nn.init.* on every parameter made with torch.empty, zeros instead of empty for buffers",

    /// ## 무슨 일이 일어났나
    /// 파라미터, 버퍼 또는 임시 텐서를 할당만 하고(`torch.empty`, `to_empty`) 아무것도 쓰지 않은 채 읽었습니다.
    ///
    /// ## 왜
    /// 그런 메모리에는 이전에 있던 값이 그대로 남아 있습니다. 0인 경우가 많아 몇 달 동안 드러나지 않기도 하고, 때로는
    /// NaN입니다. 초기화에서 빠뜨린 파라미터, 한 번도 대입되지 않은 테이블의 행, 직접 작성한 `reset_parameters`가 텐서
    /// 하나를 빠뜨린 meta 디바이스 모델 등이 있습니다.
    ///
    /// ## 어떻게 하나
    /// 초기화하십시오. `torch.use_deterministic_algorithms(True, warn_only=True)`를 쓰면 새 메모리가 NaN으로
    /// 채워지므로 문제가 확실히 드러납니다(`warn_only`가 없으면 결정적 구현이 없는 연산에서 오류가 납니다).
    ///
    /// ## 예
    /// ```python
    /// self.token = nn.Parameter(torch.empty(1, d))
    /// nn.init.normal_(self.token, std=0.02)
    /// ```
    "아무것도 쓰지 않은 메모리를 읽음",
    "초기화하십시오: torch.empty로 만든 모든 파라미터에 nn.init.*를 적용하고, 버퍼는 empty 대신 zeros로 만드십시오",
    check;
    apart "fill the memory right after it is allocated (zeros instead of empty): finite then means that nothing had written it",
    "메모리를 할당하자마자 채워 보십시오(empty 대신 zeros): 그때 유한하면 값이 쓰이지 않았던 것입니다"
}

fn check(case: &Case) -> Option<Finding> {
    let arg = case.outside()?;
    let bad = text::bad_of(arg, case.lang);
    match arg.source.as_ref()? {
        Source::Param { name, unwritten: true, place } => {
            let evidence = say!(
                case.lang,
                "parameter {name} was allocated and never written: {bad}",
                "파라미터 {name}: 할당된 뒤 값이 한 번도 쓰이지 않음, {bad}"
            );
            Finding::proved(8, std::iter::once(evidence).chain(allocated(place.as_ref(), case.lang)).collect())
        }
        Source::Unwritten { place } => {
            let evidence = say!(
                case.lang,
                "memory was read that nothing had written: {bad}",
                "아무것도 쓰지 않은 메모리를 읽음: {bad}"
            );
            Finding::proved(8, std::iter::once(evidence).chain(allocated(place.as_ref(), case.lang)).collect())
        }
        Source::Param { name, .. } | Source::Buffer { name } if case.trip.step == 0 => {
            let filled = case.ledger.facts.get("deterministic_fill").and_then(|x| x.as_bool()).unwrap_or(false);
            let all = arg.counts.is_some_and(|c| c.nan == arg.shape.iter().product::<u64>());
            if !filled || !all {
                return None;
            }
            Finding::likely(6, vec![
                say!(
                    case.lang,
                    "{name} is nothing but nan before the first update",
                    "{name}: 첫 업데이트 전인데 모든 값이 nan"
                ),
                case.lang
                    .pick(
                        "torch's deterministic mode fills fresh memory with nan",
                        "torch의 deterministic 모드는 새 메모리를 nan으로 채움",
                    )
                    .to_owned(),
            ])
        }
        _ => None,
    }
}

fn allocated(place: Option<&Place>, lang: Lang) -> Option<String> {
    place.map(|Place { file, line, .. }| say!(lang, "allocated at {file}:{line}", "할당 위치: {file}:{line}"))
}
