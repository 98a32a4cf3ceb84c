use nanscope_lang::{Lang, say};
use nanscope_report::table;

use crate::{Parity, Setting, Tuned};

/// What was found, for a terminal: the blocks, a table of settings, what the limit allows. The diff is not in it.
pub fn text(tuned: &Tuned, lang: Lang) -> String {
    let mut lines = vec![heading(tuned, lang), String::new()];
    let mut rows = vec![titles(lang)];
    rows.extend(tuned.planned.settings.iter().map(|setting| row(tuned, setting, lang)));
    lines.extend(table(&rows).into_iter().map(|line| format!("  {line}")));
    lines.push(String::new());
    lines.extend(notes(tuned, lang).into_iter().map(|note| format!("  = {note}")));
    lines.join("\n") + "\n"
}

/// A size as a person reads it.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// A time as a person reads it.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

/// What a setting is called.
pub(crate) fn name(setting: &Setting, lang: Lang) -> String {
    let name = match (setting.id.as_str(), setting.id.strip_prefix("every-")) {
        (_, Some(k)) => say!(lang, "every {k}{}", "{k}개마다 하나{}", lang.pick(ordinal(k), "")),
        ("none", _) => lang.pick("none", "없음").into(),
        ("all", _) => lang.pick("all", "모두").into(),
        ("best", _) => lang.pick("best below the limit", "한도 안에서 최선").into(),
        _ => return lang.pick("as the program is", "지금 프로그램").into(),
    };
    if setting.as_is { say!(lang, "{name} (as it is)", "{name} (지금 프로그램)") } else { name }
}

fn ordinal(k: &str) -> &'static str {
    match k {
        "2" => "nd",
        "3" => "rd",
        _ => "th",
    }
}

fn heading(tuned: &Tuned, lang: Lang) -> String {
    let (count, blocks) = (tuned.blocks.len(), &tuned.blocks);
    let mut classes: Vec<&str> = blocks.iter().map(|block| block.class.as_str()).collect();
    classes.dedup();
    let (first, last) = (&blocks[0].name, &blocks[count - 1].name);
    say!(
        lang,
        "{}, step {}: {count} blocks on {}, {first} to {last} ({})",
        "{}, 스텝 {}: {}의 블록 {count}개, {first}부터 {last}까지 ({})",
        tuned.script,
        tuned.step,
        tuned.device,
        classes.join(", ")
    )
}

fn titles(lang: Lang) -> [String; 8] {
    lang.pick(
        ["checkpointed", "blocks", "peak", "predicted", "off by", "time", "predicted", "gradients"],
        ["체크포인팅", "블록", "최대 메모리", "예측", "오차", "시간", "예측", "기울기"],
    )
    .map(String::from)
}

fn row(tuned: &Tuned, setting: &Setting, lang: Lang) -> [String; 8] {
    let count = |blocks: &Vec<usize>| say!(lang, "{} of {}", "{} / {}", blocks.len(), tuned.blocks.len());
    let measured = setting.measured;
    let off = |measured: u64| {
        let by = setting.predicted.bytes as f64 - measured as f64;
        format!("{:+.1} %", 100.0 * by / measured as f64)
    };
    [
        name(setting, lang),
        setting.blocks.as_ref().map(count).unwrap_or_default(),
        measured.map(|cost| bytes(cost.bytes)).unwrap_or_default(),
        bytes(setting.predicted.bytes),
        measured.map(|cost| off(cost.bytes)).unwrap_or_default(),
        measured.map(|cost| seconds(cost.seconds)).unwrap_or_default(),
        seconds(setting.predicted.seconds),
        match setting.parity {
            Some(Parity::Identical) => lang.pick("identical", "같음").into(),
            Some(Parity::Noise) => lang.pick("as two runs of none", "없음을 두 번 실행한 만큼").into(),
            Some(Parity::Differs) => lang.pick("DIFFER", "다름").into(),
            None => String::new(),
        },
    ]
}

fn notes(tuned: &Tuned, lang: Lang) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for setting in &tuned.planned.settings {
        notes.extend(setting.note.iter().map(|note| format!("{}: {note}", name(setting, lang))));
    }
    let by = if tuned.counted == "allocator" {
        lang.pick("torch.cuda.max_memory_allocated", "torch.cuda.max_memory_allocated")
    } else {
        lang.pick("a count of every storage that an operator makes", "연산이 만드는 모든 저장 공간의 합")
    };
    let resident = bytes(tuned.resident);
    notes.push(say!(
        lang,
        "memory: {by}, with {resident} of parameters, buffers, optimizer state and inputs",
        "메모리: {by}; 파라미터, 버퍼, 옵티마이저 상태, 입력 {resident} 포함"
    ));
    let best = tuned.planned.settings.iter().find(|setting| setting.id == "best");
    if let (Some(limit), Some(best)) = (tuned.limit, best) {
        let limit = bytes(limit);
        let names = listed(tuned, best.blocks.as_deref().unwrap_or_default(), lang);
        notes.push(say!(lang, "below {limit}: {names}", "{limit} 이하: {names}"));
        if tuned.planned.exact == Some(false) {
            notes.push(
                lang.pick(
                    "the search ended before it could prove that nothing is cheaper",
                    "더 나은 선택이 없다는 증명까지는 탐색하지 못했습니다",
                )
                .into(),
            );
        }
    } else if let Some(limit) = tuned.limit {
        let (limit, least) = (bytes(limit), bytes(tuned.planned.least));
        notes.push(say!(
            lang,
            "no choice of blocks stays below {limit}; the least that was found is {least}",
            "{limit} 이하가 되는 선택이 없습니다; 찾은 최소는 {least}입니다"
        ));
    } else if tuned.chosen.is_none() {
        notes.push(
            lang.pick(
                "--limit SIZE asks for the fastest choice below a size, --setting NAME for the diff of a row",
                "--limit 크기: 그 크기 이하에서 가장 빠른 선택; --setting 이름: 그 행의 diff",
            )
            .into(),
        );
    }
    notes.extend(tuned.no_diff.iter().map(|why| say!(lang, "no diff: {why}", "diff 없음: {why}")));
    notes.extend(tuned.proof.clone());
    notes
}

/// Names of blocks, runs of them as `first to last`.
fn listed(tuned: &Tuned, blocks: &[usize], lang: Lang) -> String {
    if blocks.is_empty() {
        return lang.pick("nothing has to be checkpointed", "체크포인팅이 필요 없습니다").into();
    }
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &block in blocks {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == block => *last = block,
            _ => runs.push((block, block)),
        }
    }
    let name = |block: usize| tuned.blocks[block].name.as_str();
    let run = |&(first, last): &(usize, usize)| match last - first {
        0 => name(first).to_owned(),
        1 => format!("{}, {}", name(first), name(last)),
        _ => say!(lang, "{} to {}", "{}부터 {}까지", name(first), name(last)),
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}
