use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{TripSummary, Where};

/// `the gradient of encoder.weight was nan at step 4`.
pub(crate) fn trip(trip: &TripSummary, world_size: u32, lang: Lang) -> String {
    let what = what(trip, lang);
    let TripSummary { step, rank, .. } = trip;
    if world_size > 1 {
        say!(
            lang,
            "{what} at step {step} on rank {rank} of {world_size}",
            "스텝 {step}, 랭크 {rank} (전체 {world_size}개)에서 {what}"
        )
    } else {
        say!(lang, "{what} at step {step}", "스텝 {step}에서 {what}")
    }
}

fn what(trip: &TripSummary, lang: Lang) -> String {
    let kind = &trip.kind;
    let name = trip.name.as_deref().map(|name| match name {
        // The one name that is a phrase.
        "a tensor without a name" => lang.pick(name, "이름 없는 텐서"),
        name => name,
    });
    match (trip.where_, name) {
        (Where::Loss, _) => say!(lang, "the loss was {kind}", "손실이 {kind}"),
        (Where::Gradient, Some(name)) => {
            say!(lang, "the gradient of `{name}` was {kind}", "`{name}`의 기울기가 {kind}")
        }
        (Where::Gradient, None) => say!(lang, "a gradient was {kind}", "어떤 기울기가 {kind}"),
        (Where::Parameter, Some(name)) => {
            say!(lang, "parameter `{name}` was {kind}", "파라미터 `{name}`의 값이 {kind}")
        }
        (Where::Parameter, None) => say!(lang, "a parameter was {kind}", "어떤 파라미터의 값이 {kind}"),
        (Where::Buffer, Some(name)) => say!(lang, "buffer `{name}` was {kind}", "버퍼 `{name}`의 값이 {kind}"),
        (Where::Buffer, None) => say!(lang, "a buffer was {kind}", "어떤 버퍼의 값이 {kind}"),
        (Where::State, Some(name)) => {
            say!(lang, "optimizer state `{name}` was {kind}", "옵티마이저 상태 `{name}`의 값이 {kind}")
        }
        (Where::State, None) => say!(lang, "optimizer state was {kind}", "옵티마이저 상태의 값이 {kind}"),
        (Where::Output, Some(name)) => say!(lang, "the output of `{name}` was {kind}", "`{name}`의 출력이 {kind}"),
        (Where::Output, None) => say!(lang, "a module's output was {kind}", "어떤 모듈의 출력이 {kind}"),
        (Where::Scale, _) => lang.pick("the loss scale kept falling", "손실 스케일이 계속 떨어짐").into(),
        (Where::Trend, Some(name)) => say!(lang, "{name} left its trend", "{name} 값이 추세를 벗어남"),
        (Where::Trend, None) => {
            lang.pick("loss or gradient norm left its trend", "손실이나 기울기 노름이 추세를 벗어남").into()
        }
        (Where::Recompute, Some(name)) => say!(
            lang,
            "`{name}` computed something else when it was run again",
            "`{name}`의 재계산 결과가 처음 계산과 다름"
        ),
        (Where::Recompute, None) => lang
            .pick("a recomputed block gave something else than its forward", "어떤 블록의 재계산 결과가 순전파와 다름")
            .into(),
        (Where::Rank, Some(name)) => say!(lang, "ranks disagree about `{name}`", "`{name}`의 값이 랭크마다 다름"),
        (Where::Rank, None) => lang.pick("ranks disagree", "값이 랭크마다 다름").into(),
    }
}
