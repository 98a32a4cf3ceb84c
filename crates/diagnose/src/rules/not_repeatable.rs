use nanscope_lang::{Lang, say};
use nanscope_trace::schema::{Confidence, Difference, Repeat};

use crate::course::Course;
use crate::rules::{Finding, recompute_mismatch};

rule! {
    /// ## What happened
    /// One step was run twice from the same state: the same parameters, inputs, buffers and random state. An operator gave
    /// something else the second time.
    ///
    /// ## Why
    /// It reads memory that nobody has written, or that something else writes meanwhile: another thread, a copy that was not
    /// waited for. Threads that add into one place in an order that nobody has fixed. A kernel of one's own without a barrier.
    /// Numbers that come from elsewhere than torch: Python's `random`, a clock, a counter. Hardware that is at fault.
    ///
    /// ## What to do
    /// What differs by rounding alone is the order of additions: `torch.use_deterministic_algorithms(True)` takes another
    /// kernel, or says that there is none. Anything larger is a fault: write memory before it is read (`torch.zeros` instead
    /// of `torch.empty`), wait for copies, look for the race in one's own kernel, and draw random numbers from torch.
    ///
    /// ## Example
    /// ```python
    /// torch.use_deterministic_algorithms(True)
    /// torch.utils.deterministic.fill_uninitialized_memory = True
    /// ```
    NotRepeatable, "not-repeatable", "the same step, run twice, gave two results",
    "find what writes the memory of this operator besides the step, or what it draws from outside torch; on one's own kernel, look for a race",

    /// ## 무슨 일이 일어났나
    /// 같은 상태(파라미터, 입력, 버퍼, 난수 상태)에서 한 스텝을 두 번 실행했더니 어떤 연산의 결과가 두 번째에 달라졌습니다.
    ///
    /// ## 왜
    /// 아무도 쓰지 않은 메모리나, 그동안 다른 쪽(다른 스레드, 기다리지 않은 복사)이 쓰는 메모리를 읽는 경우, 여러 스레드가 한
    /// 곳에 정해지지 않은 순서로 더하는 경우, 직접 만든 커널에 배리어가 없는 경우, 값이 torch 밖(Python의 `random`, 시계,
    /// 카운터)에서 오는 경우, 하드웨어 고장인 경우입니다.
    ///
    /// ## 어떻게 하나
    /// 반올림만큼만 다르면 덧셈 순서 때문입니다: `torch.use_deterministic_algorithms(True)`가 다른 커널을 고르거나 그런 커널이
    /// 없다고 알려 줍니다. 그보다 크면 결함입니다: 메모리는 읽기 전에 쓰고(`torch.empty` 대신 `torch.zeros`), 복사가 끝나기를
    /// 기다리고, 직접 만든 커널의 경합을 찾고, 난수는 torch에서 뽑으십시오.
    ///
    /// ## 예
    /// ```python
    /// torch.use_deterministic_algorithms(True)
    /// torch.utils.deterministic.fill_uninitialized_memory = True
    /// ```
    "같은 스텝을 두 번 실행한 결과가 다름",
    "이 연산의 메모리에 스텝 말고 무엇이 쓰는지, torch 밖에서 무엇을 가져오는지 찾으십시오. 직접 만든 커널이라면 경합을 찾으십시오",
    steps check;
    apart "run the step several times on one thread: equal then means that threads race, different that memory or numbers come from outside",
    "스레드 하나로 스텝을 여러 번 실행해 보십시오: 같아지면 스레드 경합이고, 여전히 다르면 메모리나 값이 밖에서 오는 것입니다"
}

/// Why two runs differ, as far as they show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// Memory that was never written.
    Unwritten,
    /// Memory from before the step that holds something else now.
    Outside,
    /// A generator that nobody put back.
    Random,
    /// Other operators, or other arguments.
    State,
    /// The same operator on the same inputs.
    Kernel,
}

impl Reason {
    fn of(first: &Difference) -> Reason {
        if first.altered.iter().any(|input| input.unwritten) {
            Reason::Unwritten
        } else if !first.altered.is_empty() {
            Reason::Outside
        } else if first.extra || !first.arguments.is_empty() || first.was.shape != first.now.shape {
            Reason::State
        } else if first.random {
            Reason::Random
        } else {
            Reason::Kernel
        }
    }
}

fn check(course: &Course) -> Option<Finding> {
    let (lang, repeat) = (course.lang, course.ledger.repeat.as_ref()?);
    let first = repeat.first.as_ref()?;
    let mut evidence = vec![];
    if !first.extra && first.arguments.is_empty() {
        evidence.push(recompute_mismatch::differs(first, lang));
    }
    evidence.extend(why(first, repeat, lang));
    let Repeat { operators, differing, .. } = repeat;
    evidence.push(say!(
        lang,
        "two runs of the step from the same state: {operators} operators compared, {differing} gave something else",
        "같은 상태에서 스텝을 두 번 실행: 연산 {operators}개를 비교했고 {differing}개의 결과가 다름"
    ));
    Some(Finding { confidence: Confidence::Proved, weight: 8, evidence })
}

fn why(first: &Difference, repeat: &Repeat, lang: Lang) -> Vec<String> {
    let op = &first.op;
    let inputs = first.altered.iter().map(|input| input.tensor.clone().unwrap_or_else(|| input.name.clone()));
    let inputs = inputs.collect::<Vec<_>>().join(", ");
    match Reason::of(first) {
        Reason::Unwritten => vec![say!(
            lang,
            "it reads memory that was allocated and never written: each execution finds something else there",
            "할당만 하고 값을 쓴 적이 없는 메모리를 읽음: 실행할 때마다 다른 값이 들어 있음"
        )],
        Reason::Outside => vec![say!(
            lang,
            "its input {inputs} held other values the second time, and no operator of the step has written them: something else did",
            "입력 {inputs}의 값이 두 번째에 달라졌는데 스텝의 어떤 연산도 쓰지 않음: 스텝 밖에서 썼음"
        )],
        Reason::Random => vec![say!(
            lang,
            "its inputs are the same to the bit and {op} draws random numbers, from a generator that is not put back",
            "입력은 비트 단위로 같고 {op} 연산은 상태가 복원되지 않는 생성기에서 난수를 뽑음"
        )],
        Reason::State if first.arguments.is_empty() => vec![say!(
            lang,
            "the second run did something else here: {op} ran, or its sizes are others, by state that the program keeps in Python",
            "두 번째 실행은 여기서 다른 일을 함: {op} 연산이 실행되었거나 크기가 다름. 프로그램이 Python에 유지하는 상태 때문임"
        )],
        Reason::State => {
            let listed = first.arguments.iter().map(|(name, was, now)| {
                say!(
                    lang,
                    "{op}: {name} was {was}, then {now}: a number from outside torch (Python's random, a clock, a counter)",
                    "{op}: {name} 값이 {was}에서 {now}(으)로 바뀜: torch 밖에서 온 값(Python random, 시계, 카운터)"
                )
            });
            listed.collect()
        }
        Reason::Kernel => kernel(op, repeat, lang),
    }
}

/// The same operator, inputs and arguments: what further runs tell.
fn kernel(op: &str, repeat: &Repeat, lang: Lang) -> Vec<String> {
    let mut told = vec![say!(
        lang,
        "its inputs and arguments are the same to the bit: {op} itself gave other values",
        "입력과 인자는 비트 단위로 같음: {op} 연산 자체의 결과가 다름"
    )];
    told.extend(repeat.rounding.then(|| {
        say!(
            lang,
            "the difference is one of rounding: its additions are done in an order that nobody has fixed",
            "반올림 수준의 차이: 덧셈 순서가 정해져 있지 않음"
        )
    }));
    told.extend(repeat.one_thread.map(|equal| {
        if equal {
            say!(
                lang,
                "on one thread two runs are equal to the bit: its threads race",
                "스레드 하나에서는 두 번의 실행이 비트 단위로 같음: 스레드가 서로 경합함"
            )
        } else {
            say!(
                lang,
                "on one thread two runs differ as well: no race between torch's threads",
                "스레드 하나에서도 두 번의 실행이 다름: torch 스레드의 경합이 아님"
            )
        }
    }));
    told.extend(repeat.deterministic.map(|equal| {
        if equal {
            say!(
                lang,
                "with torch.use_deterministic_algorithms(True) two runs are equal to the bit",
                "torch.use_deterministic_algorithms(True)에서는 두 번의 실행이 비트 단위로 같음"
            )
        } else {
            say!(
                lang,
                "with torch.use_deterministic_algorithms(True) two runs differ as well",
                "torch.use_deterministic_algorithms(True)에서도 두 번의 실행이 다름"
            )
        }
    }));
    told
}
