use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Apart, ApartKind, ApartReason, Num, RankValue};

use crate::course::Course;
use crate::rules::Finding;
use crate::{apart, text};

rule! {
    /// ## What happened
    /// Ranks that must hold the same values, or take the same decision, no longer do. Every value may be finite, and the loss
    /// of each rank looks healthy for a while.
    ///
    /// ## Why
    /// An update that one rank leaves out and others make, since each asks its own gradients only (`found_inf` of a plain
    /// `GradScaler` under a sharded optimizer); an asynchronous collective that nobody waits for, so that the optimizer reads
    /// gradients before they are reduced; `no_sync` in the wrong micro-batch; the module inside `DistributedDataParallel`
    /// called instead of the whole; clipping by a norm that is local; another seed; another number of batches.
    ///
    /// ## What to do
    /// Reduce whatever a decision depends on (a flag, a norm) over all ranks before it is taken. Wait for every handle
    /// of an asynchronous collective before its tensor is read.
    ///
    /// ## Example
    /// ```python
    /// for work in works:
    ///     work.wait()                                    # every handle, before the optimizer reads the gradients
    /// dist.all_reduce(found_inf, op=dist.ReduceOp.MAX)   # before the update is left out on one rank only
    /// ```
    RankDivergence, "rank-divergence", "ranks that must hold the same values do not",
    "reduce over all ranks whatever a decision depends on (found_inf, a norm), and wait for every asynchronous collective before its tensor is read",

    /// ## 무슨 일이 일어났나
    /// 같은 값을 가지거나 같은 결정을 내려야 하는 랭크들이 더 이상 그렇지 않습니다. 모든 값이 유한할 수도 있고, 각 랭크의
    /// 손실도 한동안 정상으로 보입니다.
    ///
    /// ## 왜
    /// 랭크마다 자기 기울기만 확인하기 때문에 한 랭크는 업데이트를 건너뛰고 다른 랭크는 수행하는 경우(샤딩된 옵티마이저와
    /// 일반 `GradScaler`의 `found_inf`), 아무도 기다리지 않은 비동기 집합 통신 때문에 옵티마이저가 리덕션 전의 기울기를 읽는
    /// 경우, 잘못된 마이크로배치의 `no_sync`, `DistributedDataParallel` 안의 모듈을 직접 호출하는 경우, 랭크별 노름에 의한
    /// 클리핑, 서로 다른 시드, 랭크마다 다른 배치 수 등입니다.
    ///
    /// ## 어떻게 하나
    /// 결정의 근거가 되는 값(플래그, 노름)은 결정하기 전에 모든 랭크에 걸쳐 리덕션하십시오. 비동기 집합 통신의 텐서를 읽기
    /// 전에 모든 핸들을 기다리십시오.
    ///
    /// ## 예
    /// ```python
    /// for work in works:
    ///     work.wait()                                    # every handle, before the optimizer reads the gradients
    /// dist.all_reduce(found_inf, op=dist.ReduceOp.MAX)   # before the update is left out on one rank only
    /// ```
    "같은 값을 가져야 하는 랭크들의 값이 서로 다름",
    "결정의 근거가 되는 값(found_inf, 노름)을 모든 랭크에 걸쳐 리덕션하고, 비동기 집합 통신은 텐서를 읽기 전에 모두 기다리십시오",
    steps check;
    apart "print the value on every rank right before it is used: two that differ name the ranks",
    "값을 사용하기 직전에 모든 랭크에서 출력해 보십시오: 서로 다른 값이 나오는 랭크가 원인입니다"
}

fn check(course: &Course) -> Option<Finding> {
    let apart = course.trip.apart.as_ref()?;
    if apart::corrupted(apart).is_some() {
        return None;
    }
    Finding::proved(9, evidence(apart, course.lang))
}

fn evidence(apart: &Apart, lang: Lang) -> Vec<String> {
    let Apart { count, of, names, .. } = apart;
    let named = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    let what = match apart.kind {
        ApartKind::Unfinished => say!(
            lang,
            "when the optimizer read them, the reduction of {count} of {of} gradients was not over",
            "옵티마이저가 기울기를 읽을 때 기울기 {of}개 중 {count}개의 리덕션이 끝나지 않았음"
        ),
        ApartKind::Parameters => say!(
            lang,
            "{count} of {of} parameters differ between ranks",
            "파라미터 {of}개 중 {count}개의 값이 랭크마다 다름"
        ),
        ApartKind::Gradients => say!(
            lang,
            "before the update, {count} of {of} gradients differ between ranks",
            "업데이트 직전에 기울기 {of}개 중 {count}개의 값이 랭크마다 다름"
        ),
        ApartKind::Buffers => say!(
            lang,
            "{count} of {of} buffers that are shared differ between ranks",
            "공유되는 버퍼 {of}개 중 {count}개의 값이 랭크마다 다름"
        ),
        ApartKind::Skipped => return skipped(apart, lang),
        ApartKind::Ended => return ended(apart, lang),
    };
    let mut found = vec![what, say!(lang, "first of them: {named}", "그중 처음: {named}")];
    if let Some(equal) = apart.equal {
        found.push(say!(lang, "they were equal in step {equal}", "스텝 {equal}에서는 같았음"));
    }
    found.extend(apart::reason(apart).and_then(|reason| why(reason, apart, lang)));
    found
}

fn skipped(apart: &Apart, lang: Lang) -> Vec<String> {
    let each = apart.ranks.iter().map(|value| {
        let rank = value.rank;
        let scale = value.scale.map_or_else(String::new, |scale| {
            say!(lang, "; its loss scale is {} then", "; 그 뒤 손실 스케일 {}", text::number(scale.0))
        });
        if value.skipped {
            say!(lang, "rank {rank} left the update out{scale}", "랭크 {rank}: 업데이트를 건너뜀{scale}")
        } else {
            say!(lang, "rank {rank} made it{scale}", "랭크 {rank}: 업데이트를 수행함{scale}")
        }
    });
    each.collect()
}

fn ended(apart: &Apart, lang: Lang) -> Vec<String> {
    let each = apart.ranks.iter().map(|value| {
        let (rank, steps) = (value.rank, value.steps.unwrap_or(0));
        if value.skipped {
            say!(
                lang,
                "rank {rank} came to its end after {steps} steps",
                "랭크 {rank}: {steps}개 스텝 뒤에 정상적으로 끝남"
            )
        } else {
            say!(
                lang,
                "rank {rank} waited in a collective after {steps} steps, and no other rank came",
                "랭크 {rank}: {steps}개 스텝 뒤 집합 통신에서 기다렸으나 다른 랭크가 오지 않음"
            )
        }
    });
    let join = lang.pick(
        "the ranks have different numbers of batches; `model.join()` or a sampler that pads them makes these equal",
        "랭크마다 배치 수가 다름: `model.join()`이나 배치 수를 맞추는 샘플러가 필요함",
    );
    each.chain([join.to_owned()]).collect()
}

/// The evidence for a reason.
fn why(reason: ApartReason, apart: &Apart, lang: Lang) -> Option<String> {
    let of = |of: &dyn Fn(&RankValue) -> Option<String>| {
        let each = apart.ranks.iter().filter_map(|rank| {
            Some(say!(lang, "rank {}: {}", "랭크 {}: {}", rank.rank, of(rank)?))
        });
        each.collect::<Vec<_>>().join(", ")
    };
    let ranks = |is: &dyn Fn(&RankValue) -> bool| {
        let each = apart.ranks.iter().filter(|rank| is(rank)).map(|rank| rank.rank.to_string());
        each.collect::<Vec<_>>().join(", ")
    };
    let number = |x: Option<Num>| x.map(|x| text::precise(x.0));
    Some(match reason {
        ApartReason::NoSync => say!(
            lang,
            "the last forward before the update ran under no_sync on rank {}, so that nothing was reduced after it",
            "업데이트 직전의 마지막 순전파가 no_sync 안에서 실행되어 그 뒤 리덕션이 없었음 (랭크 {})",
            ranks(&|rank| rank.unsynced)
        ),
        ApartReason::Bypassed => say!(
            lang,
            "rank {} called the module inside DistributedDataParallel, which reduces nothing by itself",
            "랭크 {}: DistributedDataParallel 안의 모듈을 직접 호출했고, 이 모듈은 스스로 리덕션하지 않음",
            ranks(&|rank| rank.bypassed)
        ),
        ApartReason::NotReduced => say!(
            lang,
            "these gradients were not reduced in this step; their norm: {}",
            "이 스텝에서 이 기울기들은 리덕션되지 않았음; 노름: {}",
            of(&|rank| number(rank.norm))
        ),
        ApartReason::Scaled => say!(
            lang,
            "they are the same but for one factor, a number that each rank computed by itself after the reduction: {}",
            "하나의 배율만 다름: 리덕션 뒤에 각 랭크가 스스로 계산한 값이 곱해졌음: {}",
            of(&|rank| number(rank.factor))
        ),
        ApartReason::LeftOut => say!(
            lang,
            "rank {} left this update out: from here on its gradients are those of the others' next step",
            "랭크 {}: 이 업데이트를 건너뜀. 이후 이 랭크의 기울기는 다른 랭크의 다음 스텝 기울기와 같음",
            ranks(&|rank| rank.skipped)
        ),
        ApartReason::Rate => say!(lang, "learning rates differ: {}", "학습률이 다름: {}", of(&|rank| number(rank.lr))),
        ApartReason::Settings => lang
            .pick(
                "gradients and learning rates are equal; other settings of the optimizers (eps, weight decay) differ",
                "기울기와 학습률은 같지만 옵티마이저의 다른 설정(eps, weight decay)이 다름",
            )
            .to_owned(),
        ApartReason::Written => say!(
            lang,
            "gradients are equal; the program has written parameters on some ranks only. Writes counted: {}",
            "기울기는 같음. 프로그램이 일부 랭크에서만 파라미터를 직접 변경함. 변경 횟수: {}",
            of(&|rank| rank.writes.map(|writes| writes.to_string()))
        ),
        ApartReason::Begun => {
            let seeds = apart.ranks.windows(2).any(|pair| pair[0].random != pair[1].random);
            let begun = lang.pick(
                "they were never equal, while the gradients of all ranks are reduced: the ranks began from different values",
                "처음부터 서로 달랐는데 기울기는 모든 랭크에 걸쳐 리덕션됨: 랭크들이 서로 다른 값에서 시작함",
            );
            let random = lang.pick(
                "; their random generators differ as well (another seed)",
                "; 난수 생성기 상태도 다름(서로 다른 시드)",
            );
            format!("{begun}{}", if seeds { random } else { "" })
        }
        ApartReason::Update => lang
            .pick(
                "gradients, learning rates and settings are equal: the optimizers hold different state, or a parameter was changed past them",
                "기울기, 학습률, 설정이 모두 같음: 옵티마이저의 상태가 다르거나, 파라미터가 옵티마이저 밖에서 변경됨",
            )
            .to_owned(),
    })
}
