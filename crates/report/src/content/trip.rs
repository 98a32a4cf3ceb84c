use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{AlarmKind, TripSummary, Where};

/// `the gradient of encoder.weight was nan at step 4`.
pub(crate) fn trip(trip: &TripSummary, world_size: u32, lang: Lang) -> String {
    let what = what(trip, lang);
    let TripSummary { step, rank, .. } = trip;
    let of_rank = if world_size > 1 {
        say!(lang, " on rank {rank} of {world_size}", ", 랭크 {rank} (전체 {world_size}개)")
    } else {
        String::new()
    };
    match trip.seen {
        Some(seen) => say!(
            lang,
            "{what} from step {step} on, certain at step {seen}{of_rank}",
            "스텝 {step}부터{of_rank} {what} (스텝 {seen}에서 확인됨)"
        ),
        None => say!(lang, "{what} at step {step}{of_rank}", "스텝 {step}{of_rank}에서 {what}"),
    }
}

/// Without step and rank.
pub(crate) fn what(trip: &TripSummary, lang: Lang) -> String {
    if let Some(alarm) = trip.alarm {
        return over_steps(alarm, lang).to_owned();
    }
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
        (Where::Rate, _) => lang.pick("the learning rate was 0", "학습률이 0이었음").into(),
        (Where::Recompute, Some(name)) => say!(
            lang,
            "`{name}` computed something else when it was run again",
            "`{name}`의 재계산 결과가 처음 계산과 다름"
        ),
        (Where::Recompute, None) => lang
            .pick("backward was given something else than forward had", "역전파가 받은 값이 순전파의 값과 다름")
            .into(),
        (Where::Kernel, _) => {
            lang.pick("a kernel gave something else than its formula", "커널의 결과가 식과 다름").into()
        }
        (Where::Repeat, _) => lang
            .pick("the step gave something else when it was run twice", "같은 스텝을 두 번 실행한 결과가 다름")
            .into(),
        (Where::Rank, Some(name)) => say!(lang, "ranks disagree about `{name}`", "`{name}`의 값이 랭크마다 다름"),
        (Where::Rank, None) => lang.pick("ranks disagree", "값이 랭크마다 다름").into(),
    }
}

fn over_steps(alarm: AlarmKind, lang: Lang) -> &'static str {
    match alarm {
        AlarmKind::Divergence => {
            lang.pick("loss and gradients grew from step to step", "손실과 기울기가 스텝마다 커짐")
        }
        AlarmKind::LossScaleCollapse => lang.pick("the loss scale kept falling", "손실 스케일이 계속 떨어짐"),
        AlarmKind::SilentZero => lang.pick("every gradient was exactly 0", "모든 기울기가 정확히 0"),
        AlarmKind::PileUp => {
            lang.pick("gradients of earlier steps were not zeroed", "이전 스텝의 기울기가 지워지지 않음")
        }
        AlarmKind::ZeroRate => lang.pick("the learning rate was 0", "학습률이 0"),
        AlarmKind::DeadUnits => {
            lang.pick("some parameters had a gradient of exactly 0", "일부 파라미터의 기울기가 정확히 0")
        }
    }
}
