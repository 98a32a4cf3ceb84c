use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Apart, ApartKind};

use crate::course::Course;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// Ranks that must hold the same values, or take the same decision, no longer do. Every value may be finite, and the loss
    /// of each rank looks healthy for a while.
    ///
    /// ## Why
    /// An update that one rank leaves out and others make, since each asks its own gradients only (`found_inf` of a plain
    /// `GradScaler` under a sharded optimizer); an asynchronous collective that nobody waits for, so that the optimizer reads
    /// gradients before they are reduced; `no_sync` in the wrong micro-batch; clipping by a norm that is local; another seed.
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
    /// 경우, 잘못된 마이크로배치의 `no_sync`, 랭크별 노름에 의한 클리핑, 서로 다른 시드 등입니다.
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
    Finding::proved(9, evidence(apart, course.lang))
}

fn evidence(apart: &Apart, lang: Lang) -> Vec<String> {
    let Apart { count, of, names, .. } = apart;
    let named = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
    match apart.kind {
        ApartKind::Unfinished => vec![
            say!(
                lang,
                "when the optimizer read them, the reduction of {count} of {of} gradients was not over",
                "옵티마이저가 기울기를 읽을 때 기울기 {of}개 중 {count}개의 리덕션이 끝나지 않았음"
            ),
            say!(lang, "first of them: {named}", "그중 처음: {named}"),
        ],
        ApartKind::Parameters => vec![
            say!(
                lang,
                "{count} of {of} parameters differ between ranks",
                "파라미터 {of}개 중 {count}개의 값이 랭크마다 다름"
            ),
            say!(lang, "first of them: {named}", "그중 처음: {named}"),
        ],
        ApartKind::Skipped => {
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
    }
}
