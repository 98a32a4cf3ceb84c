use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Altered, Confidence, Difference, Parity, Place};

use crate::course::Course;
use crate::rules::Finding;
use crate::text;

rule! {
    /// ## What happened
    /// A block under gradient checkpointing was run again during backward, and computed something else than it had in the
    /// forward pass. The loss belongs to one function, the gradients to another. Nothing becomes NaN and nothing is raised:
    /// torch compares shapes and types at most.
    ///
    /// ## Why
    /// Something that the block reads besides its arguments had changed: the random state behind dropout was not put back,
    /// autocast was off or of another type, an input was changed in place, a cache had grown, memory was never written, or the
    /// block takes another path when gradients are recorded. Or the block changes what it reads: batch normalisation inside a
    /// checkpointed block moves its running statistics once in forward and once more in the recomputation.
    ///
    /// ## What to do
    /// Make the block a function of its arguments: keep `preserve_rng_state=True`, put random state and autocast back in a
    /// checkpoint of your own, leave caches out while training, change no argument in place, and freeze running statistics
    /// while the block is run again (`context_fn` of `torch.utils.checkpoint.checkpoint`).
    ///
    /// ## Example
    /// ```python
    /// y = checkpoint(block, x, use_reentrant=False, preserve_rng_state=True)
    /// ```
    RecomputeMismatch, "recompute-mismatch", "the recomputation of a checkpointed block differs from its forward pass",
    "make the checkpointed block a function of its arguments: the same random state, autocast, buffers and inputs both times",

    /// ## 무슨 일이 일어났나
    /// gradient checkpointing을 쓴 블록이 역전파 도중 다시 실행되면서 순전파 때와 다른 값을 계산했습니다. 손실과 기울기가 서로 다른 함수의
    /// 것이 되었습니다. NaN이 생기지도 않고 오류도 나지 않습니다. torch는 기껏해야 모양과 타입만 비교합니다.
    ///
    /// ## 왜
    /// 블록이 인자 말고 읽는 것이 그 사이에 바뀌었습니다. dropout의 난수 상태를 되돌리지 않은 경우, autocast가 꺼졌거나 타입이 다른 경우,
    /// 입력을 제자리에서 바꾼 경우, 캐시가 늘어난 경우, 값을 쓴 적이 없는 메모리를 읽은 경우, 기울기를 기록할 때 블록이 다른 경로를 타는
    /// 경우입니다. 블록이 자기가 읽는 것을 바꾸는 경우도 있습니다. checkpoint 블록 안의 배치 정규화는 순전파에서 한 번, 재계산에서 또 한 번
    /// 이동 통계를 갱신합니다.
    ///
    /// ## 어떻게 하나
    /// 블록의 결과가 인자로만 정해지게 하십시오. `preserve_rng_state=True`를 유지하고, 직접 만든 checkpoint에서는 난수 상태와 autocast를
    /// 되돌리며, 학습할 때는 캐시를 쓰지 말고, 인자를 제자리에서 바꾸지 말고, 블록을 다시 실행하는 동안에는 이동 통계를 고정하십시오
    /// (`torch.utils.checkpoint.checkpoint`의 `context_fn`).
    ///
    /// ## 예
    /// ```python
    /// y = checkpoint(block, x, use_reentrant=False, preserve_rng_state=True)
    /// ```
    "checkpoint 블록의 재계산 결과가 순전파와 다름",
    "checkpoint 블록의 결과가 인자로만 정해지게 하십시오: 두 번 모두 난수 상태, autocast, 버퍼, 입력이 같아야 합니다",
    steps check;
    apart "run the step without checkpointing: other gradients mean that the recomputation is to blame",
    "checkpointing 없이 같은 스텝을 실행해 보십시오: 기울기가 다르면 재계산이 원인입니다"
}

/// Why a recomputation differs, as far as the replay shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Random numbers other than those of the forward pass.
    Random,
    /// Another autocast format, or none.
    Autocast,
    /// Memory that was never written.
    Unwritten,
    /// The block has changed what it reads.
    OwnState,
    /// Somebody else has changed what it reads.
    InPlace,
    /// Operators or shapes that the forward pass did not have.
    Grown,
    /// Another argument: a number, a flag.
    Argument,
    /// A tensor from outside torch differs.
    Outside,
    /// The step itself differed, its replay does not.
    Unsteady,
    /// The same operator on the same inputs.
    Kernel,
}

impl Reason {
    pub(crate) fn of(difference: &Difference) -> Reason {
        let altered = || difference.altered.iter();
        let (was, now) = (&difference.was, &difference.now);
        if difference.unsteady {
            Reason::Unsteady
        } else if altered().any(|input| input.unwritten) {
            Reason::Unwritten
        } else if was.autocast != now.autocast {
            Reason::Autocast
        } else if difference.random && altered().next().is_none() && difference.arguments.is_empty() {
            Reason::Random
        } else if difference.extra || was.shape != now.shape {
            Reason::Grown
        } else if altered().any(|input| input.writer.is_some() && !input.own) {
            Reason::InPlace
        } else if altered().any(|input| input.own) {
            Reason::OwnState
        } else if !difference.arguments.is_empty() {
            Reason::Argument
        } else if altered().next().is_some() {
            Reason::Outside
        } else {
            Reason::Kernel
        }
    }

    /// True where the line to mend is the one that has the block run again, not one inside the block.
    fn of_the_block(self) -> bool {
        matches!(self, Reason::Random | Reason::Autocast)
    }
}

/// The line that a mismatch points at.
pub(crate) fn place(parity: &Parity) -> Option<&Place> {
    let first = parity.first.as_ref()?;
    if first.unpacked {
        return first.altered.iter().find_map(|input| input.place.as_ref()).or(first.place.as_ref());
    }
    let whole = !parity.twice.is_empty() || Reason::of(first).of_the_block();
    let (inner, block) = (first.place.as_ref(), first.block.as_ref());
    if whole { block.or(inner) } else { inner.or(block) }
}

fn check(course: &Course) -> Option<Finding> {
    let parity = course.ledger.parity.as_ref()?;
    let (lang, first) = (course.lang, parity.first.as_ref().filter(|first| !first.unpacked)?);
    let mut evidence = vec![];
    if parity.twice.is_empty() {
        evidence.push(differs(first, lang));
        evidence.extend(why(first, Reason::of(first), lang));
    } else {
        evidence.extend(twice(parity, lang));
    }
    let Parity { blocks, pairs, differing, .. } = parity;
    evidence.push(if first.unsteady {
        say!(
            lang,
            "{differing} tensors that backward needs differed between forward and recomputation",
            "역전파에 필요한 텐서 중 {differing}개가 순전파와 재계산에서 서로 다름"
        )
    } else {
        say!(
            lang,
            "{pairs} operators were run again in {blocks} recomputations; {differing} of them gave something else",
            "재계산 {blocks}회에서 연산 {pairs}개가 다시 실행되었고, 그중 {differing}개의 결과가 다름"
        )
    });
    if let Some(error) = parity.gradient_error.filter(|_| !first.unsteady) {
        let percent = text::number(error.0 * 100.0);
        evidence.push(if error.0 == 0.0 {
            say!(
                lang,
                "the gradients are those of a run without checkpointing, to the bit",
                "기울기는 checkpointing 없이 실행한 것과 비트 단위로 같음"
            )
        } else {
            say!(
                lang,
                "the gradients are {percent} % away from those without checkpointing (norm of the difference over norm)",
                "checkpointing 없이 계산한 기울기와 {percent} % 다름 (차이의 노름 / 노름)"
            )
        });
    }
    let finding = Finding { confidence: Confidence::Proved, weight: 9, evidence };
    Some(if course.ledger.faithful && !first.unsteady { finding } else { Finding { confidence: Confidence::Likely, ..finding } })
}

/// What came out, in numbers.
pub(super) fn differs(first: &Difference, lang: Lang) -> String {
    let op = if first.op.is_empty() { lang.pick("the tensor", "텐서") } else { &first.op[..] };
    let (was, now) = (&first.was, &first.now);
    if first.extra {
        return say!(
            lang,
            "{op} is run in the recomputation only; after it a result has the shape {now} instead of {was}",
            "{op} 연산은 재계산에서만 실행됨; 그 뒤에 나온 결과의 모양이 {was}에서 {now}(으)로 바뀜",
            was = text::shape(&was.shape),
            now = text::shape(&now.shape)
        );
    }
    if was.shape != now.shape {
        return say!(
            lang,
            "{op} gave {was} in forward and {now} when it was run again",
            "{op}의 결과 모양: 순전파 {was}, 재계산 {now}",
            was = text::shape(&was.shape),
            now = text::shape(&now.shape)
        );
    }
    if was.dtype != now.dtype {
        return say!(
            lang,
            "{op} gave {was} in forward and {now} when it was run again",
            "{op}의 결과 타입: 순전파 {was}, 재계산 {now}",
            was = was.dtype,
            now = now.dtype
        );
    }
    let Difference { differ, of, .. } = first;
    let percent = text::number(100.0 * *differ as f64 / (*of).max(1) as f64);
    let at = first.first_index.as_ref().filter(|index| !index.is_empty()).map_or_else(String::new, |index| {
        let index = text::index(index);
        say!(lang, ", the first at {index}", ", 첫 위치 {index}")
    });
    match (first.largest, first.scale) {
        (Some(largest), Some(scale)) => say!(
            lang,
            "{op}: {differ} of {of} values compared ({percent} %) differ by up to {largest}{at}; the largest in forward is {scale}",
            "{op}: 비교한 값 {of}개 중 {differ}개({percent} %)가 최대 {largest}만큼 다름{at}; 순전파의 최댓값은 {scale}",
            largest = text::number(largest.0),
            scale = text::number(scale.0)
        ),
        _ => say!(
            lang,
            "{op}: {differ} of {of} values compared ({percent} %) differ{at}",
            "{op}: 비교한 값 {of}개 중 {differ}개({percent} %)가 다름{at}"
        ),
    }
}

fn why(first: &Difference, reason: Reason, lang: Lang) -> Vec<String> {
    let op = &first.op;
    let one = match reason {
        Reason::Random => say!(
            lang,
            "its inputs are the same to the bit and {op} draws random numbers: the random state of forward was not put back",
            "입력은 비트 단위로 같고 {op} 연산은 난수를 씀: 순전파의 난수 상태가 복원되지 않음"
        ),
        Reason::Autocast => {
            let off = || lang.pick("off", "꺼짐").to_owned();
            let was = first.was.autocast.clone().unwrap_or_else(off);
            let now = first.now.autocast.clone().unwrap_or_else(off);
            say!(
                lang,
                "autocast was {was} in forward and {now} in the recomputation",
                "autocast: 순전파 {was}, 재계산 {now}"
            )
        }
        Reason::Unwritten => lang
            .pick(
                "it reads memory that was allocated and never written: each execution finds something else there",
                "할당만 하고 값을 쓴 적이 없는 메모리를 읽음: 실행할 때마다 다른 값이 들어 있음",
            )
            .to_owned(),
        Reason::OwnState => {
            return first.altered.iter().filter(|input| input.own).map(|input| written(input, true, lang)).collect();
        }
        Reason::InPlace => {
            let others = first.altered.iter().filter(|input| input.writer.is_some() && !input.own);
            return others.map(|input| written(input, false, lang)).collect();
        }
        Reason::Grown => lang
            .pick(
                "something that the block keeps between calls (a cache, a list, a counter) was not as in forward",
                "블록이 호출 사이에 유지하는 것(캐시, 리스트, 카운터)이 순전파 때와 달라짐",
            )
            .to_owned(),
        Reason::Argument => {
            let listed = first.arguments.iter().map(|(name, was, now)| {
                say!(
                    lang,
                    "its inputs are the same to the bit; {name} was {was} in forward and {now} in the recomputation",
                    "입력은 비트 단위로 같음; {name}: 순전파 {was}, 재계산 {now}"
                )
            });
            return listed.collect();
        }
        Reason::Outside => {
            let names: Vec<&str> = first.altered.iter().map(|input| &input.name[..]).collect();
            say!(
                lang,
                "its input {names} holds other values, made outside torch or by code that no operator shows",
                "입력 {names}의 값이 다름: torch 밖에서 만들어졌거나 연산으로 드러나지 않는 코드가 만든 값",
                names = names.join(", ")
            )
        }
        Reason::Unsteady => lang
            .pick(
                "the step itself recomputed other values; run again from the same state it does not: memory that is not written \
                 or written too late, threads that race, or a kernel that is not deterministic",
                "이 스텝의 재계산에서는 값이 달랐으나 같은 상태에서 다시 실행하면 같음: 쓰지 않았거나 늦게 쓴 메모리, 스레드 경합, \
                 비결정적 커널 중 하나임",
            )
            .to_owned(),
        Reason::Kernel => say!(
            lang,
            "its inputs and arguments are the same to the bit: {op} itself gave other values, by another kernel or another mode",
            "입력과 인자는 비트 단위로 같음: 다른 커널이나 다른 모드에서 실행되어 {op} 자체의 결과가 다름"
        ),
    };
    vec![one]
}

/// `input self (buffer u) was changed by aten.add_.Tensor at train.py:12`.
fn written(input: &Altered, own: bool, lang: Lang) -> String {
    let name = input.tensor.as_ref().map_or_else(|| input.name.clone(), |tensor| format!("{} ({tensor})", input.name));
    let writer = input.writer.as_deref().unwrap_or_default();
    let at = input.place.as_ref().map_or_else(String::new, |place| {
        let (file, line) = (&place.file, place.line);
        say!(lang, " at {file}:{line}", " ({file}:{line})")
    });
    if own {
        say!(
            lang,
            "its input {name} is state that the block itself changes: {writer}{at} had changed it in forward",
            "입력 {name}은(는) 블록 스스로 바꾸는 상태: 순전파에서 {writer}{at} 연산이 이미 바꿈"
        )
    } else {
        say!(
            lang,
            "its input {name} was changed in place between the two executions, by {writer}{at}",
            "두 실행 사이에 {writer}{at} 연산이 입력 {name}의 값을 제자리에서 바꿈"
        )
    }
}

fn twice(parity: &Parity, lang: Lang) -> Vec<String> {
    let names: Vec<&str> = parity.twice.iter().take(4).map(|one| &one.name[..]).collect();
    let more = parity.twice.len() - names.len();
    let listed = names.join(", ");
    let listed = if more > 0 { say!(lang, "{listed} and {more} more", "{listed} 외 {more}개") } else { listed };
    let mut found = vec![say!(
        lang,
        "updated twice in one step, in forward and once more in the recomputation: {listed}",
        "한 스텝에서 순전파와 재계산이 한 번씩, 두 번 갱신됨: {listed}"
    )];
    let largest = parity.twice.iter().filter_map(|one| Some((one.largest?.0, &one.name)));
    if let Some((by, name)) = largest.max_by(|a, b| a.0.total_cmp(&b.0)) {
        found.push(say!(
            lang,
            "the second update has moved {name} by up to {by}",
            "두 번째 갱신으로 {name} 값이 최대 {by}만큼 움직임",
            by = text::number(by)
        ));
    }
    found
}
