//! From facts to what is wrong with them. Reads nothing.

use nanscope_lang::{Lang, say};
use serde::Serialize;

use crate::machine::Facts;
use crate::pairs::PAIRS;
use crate::variables::{KNOWN, known_as};

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Known to fail, or failing now.
    Problem,
    /// Worth knowing.
    Note,
}

/// Something that was noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name that does not change.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What, with its numbers, and what to do.
    pub text: String,
    /// The public report, of a combination of versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<&'static str>,
}

/// A variable that is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it does; absent where it is not known here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what: Option<&'static str>,
}

/// Facts, and what is wrong with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Examined {
    /// `nanscope.doctor/1`.
    pub schema: &'static str,
    /// What was read.
    pub facts: Facts,
    /// The variables, with what they do.
    pub variables: Vec<Variable>,
    /// Problems first.
    pub findings: Vec<Finding>,
}

/// Judges facts, in a language. `near` gives names that are close to another.
pub fn examine(facts: Facts, near: impl Fn(&str, &[&'static str]) -> Vec<&'static str>, lang: Lang) -> Examined {
    let mut findings = pairs(&facts, lang);
    findings.extend(misspelt(&facts, near, lang));
    findings.extend(settings(&facts, lang));
    findings.extend(gpus(&facts, lang));
    findings.extend(machine(&facts, lang));
    findings.sort_by_key(|finding| finding.severity);
    let variables = facts.variables.iter().map(|(name, value)| Variable {
        name: name.clone(),
        value: value.clone(),
        what: known_as(name).map(|known| lang.pick(known.what[0], known.what[1])),
    });
    Examined { schema: "nanscope.doctor/1", variables: variables.collect(), findings, facts }
}

fn problem(id: &'static str, text: String) -> Finding {
    Finding { id, severity: Severity::Problem, text, reference: None }
}

fn note(id: &'static str, text: String) -> Finding {
    Finding { severity: Severity::Note, ..problem(id, text) }
}

fn pairs(facts: &Facts, lang: Lang) -> Vec<Finding> {
    let applying = PAIRS.iter().filter(|pair| pair.applies(facts));
    applying
        .map(|pair| Finding {
            id: pair.id,
            severity: Severity::Problem,
            text: format!("{}: {}", pair.versions(facts).join(" + "), pair.said(lang)),
            reference: Some(pair.reference),
        })
        .collect()
}

fn misspelt(facts: &Facts, near: impl Fn(&str, &[&'static str]) -> Vec<&'static str>, lang: Lang) -> Vec<Finding> {
    let names: Vec<&'static str> = KNOWN.iter().map(|known| known.name).collect();
    let unknown = facts.variables.keys().filter(|name| known_as(name).is_none());
    // Of torch and CUDA there are too many for a list to be whole.
    unknown
        .filter(|name| name.starts_with("NCCL_") || name.starts_with("TORCH_NCCL_") || name.starts_with("PYTORCH_"))
        .filter_map(|name| {
            let close = near(name, &names);
            if close.is_empty() {
                return None;
            }
            Some(note(
                "misspelt-variable",
                say!(
                    lang,
                    "{name} is not a variable that is known here; did you mean {}?",
                    "{name}은(는) 알려진 변수가 아닙니다; 혹시 {}?",
                    close.join(", ")
                ),
            ))
        })
        .collect()
}

fn settings(facts: &Facts, lang: Lang) -> Vec<Finding> {
    let set = |name: &str| facts.variables.get(name).map(String::as_str);
    let flag = |name: &str| facts.torch.settings.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let mut found = Vec::new();
    for name in ["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"] {
        for option in set(name).unwrap_or_default().split(',').filter(|option| !option.is_empty()) {
            const OPTIONS: [&str; 14] = [
                "backend",
                "max_split_size_mb",
                "max_non_split_rounding_mb",
                "roundup_power2_divisions",
                "garbage_collection_threshold",
                "expandable_segments",
                "release_lock_on_cudamalloc",
                "pinned_use_cuda_host_register",
                "pinned_num_register_threads",
                "pinned_use_background_threads",
                "pinned_reserve_segment_size_mb",
                "graph_capture_record_stream_reuse",
                "large_segment_size_mb",
                "per_process_memory_fraction",
            ];
            let key = option.split(':').next().unwrap_or_default().trim();
            // `roundup_power2_divisions:[256:1,512:2]` holds commas of its own.
            let within = key.chars().next().is_none_or(|c| c.is_ascii_digit() || c == '>' || c == '[');
            if !within && !OPTIONS.contains(&key) {
                found.push(note(
                    "allocator-option",
                    say!(
                        lang,
                        "{name}: `{key}` is not an option that is known here",
                        "{name}: `{key}`는 알려진 옵션이 아닙니다"
                    ),
                ));
            }
        }
    }
    if flag("deterministic algorithms") == Some("True")
        && facts.torch.cuda.is_some()
        && set("CUBLAS_WORKSPACE_CONFIG").is_none()
    {
        found.push(problem(
            "cublas-workspace",
            lang.pick(
                "deterministic algorithms are on and CUBLAS_WORKSPACE_CONFIG is not set: matrix products raise; set it to :4096:8",
                "결정적 알고리즘이 켜져 있으나 CUBLAS_WORKSPACE_CONFIG가 없습니다: 행렬 곱에서 예외가 납니다; :4096:8로 설정하십시오",
            )
            .to_owned(),
        ));
    }
    if set("CUDA_LAUNCH_BLOCKING").is_some_and(|value| value != "0") {
        found.push(note(
            "launch-blocking",
            lang.pick(
                "CUDA_LAUNCH_BLOCKING is on: every kernel is waited for",
                "CUDA_LAUNCH_BLOCKING이 켜져 있습니다: 커널마다 대기합니다",
            )
            .to_owned(),
        ));
    }
    for name in ["NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE"] {
        if set(name).is_some_and(|value| value != "0") {
            found.push(note(
                "transport-disabled",
                say!(
                    lang,
                    "{name} is on: NCCL takes a slower way",
                    "{name}이 켜져 있습니다: NCCL이 더 느린 경로를 씁니다"
                ),
            ));
        }
    }
    for (old, new) in [
        ("NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ASYNC_ERROR_HANDLING"),
        ("NCCL_BLOCKING_WAIT", "TORCH_NCCL_BLOCKING_WAIT"),
        ("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_BUFFER_SIZE"),
    ] {
        if set(old).is_some() {
            found.push(note(
                "old-name",
                say!(
                    lang,
                    "{old} is an old name; newer versions read {new}",
                    "{old}는 옛 이름입니다; 새 버전은 {new}를 읽습니다"
                ),
            ));
        }
    }
    found
}

fn gpus(facts: &Facts, lang: Lang) -> Vec<Finding> {
    let mut found = Vec::new();
    if facts.gpus.iter().any(|gpu| gpu.driver != facts.gpus[0].driver) {
        found.push(problem(
            "driver",
            lang.pick(
                "GPUs of this machine report drivers of several versions",
                "이 머신의 GPU들이 서로 다른 드라이버 버전을 보고합니다",
            )
            .to_owned(),
        ));
    }
    for gpu in &facts.gpus {
        let name = format!("GPU {} ({})", gpu.index, gpu.name);
        if let Some(count) = gpu.uncorrected.filter(|count| *count > 0) {
            found.push(problem(
                "ecc-uncorrected",
                say!(
                    lang,
                    "{name}: {count} memory errors that could not be corrected since the driver was loaded; values may be wrong: do not train on it",
                    "{name}: 드라이버 적재 이후 정정할 수 없는 메모리 오류 {count}건; 값이 틀릴 수 있으니 학습에 쓰지 마십시오"
                ),
            ));
        } else if let Some(count) = gpu.uncorrected_ever.filter(|count| *count > 0) {
            found.push(note(
                "ecc-uncorrected-ever",
                say!(
                    lang,
                    "{name}: {count} memory errors of its life could not be corrected, none since the driver was loaded",
                    "{name}: 지금까지 정정하지 못한 메모리 오류 {count}건, 드라이버 적재 이후로는 없음"
                ),
            ));
        }
        match gpu.rows {
            Some("failure") => found.push(problem(
                "row-remapping",
                say!(
                    lang,
                    "{name}: a broken row of memory could not be replaced",
                    "{name}: 고장 난 메모리 행을 대체하지 못했습니다"
                ),
            )),
            Some(_) => found.push(problem(
                "row-remapping",
                say!(
                    lang,
                    "{name}: a broken row of memory is replaced only by a reset",
                    "{name}: 고장 난 메모리 행이 재설정되어야 대체됩니다"
                ),
            )),
            None => {}
        }
        if gpu.ecc == Some(false) {
            found.push(note(
                "ecc-off",
                say!(
                    lang,
                    "{name}: ECC is off, memory errors are not seen",
                    "{name}: ECC가 꺼져 있어 메모리 오류를 알 수 없습니다"
                ),
            ));
        }
        if !gpu.throttled.is_empty() {
            let why = gpu.throttled.join(", ");
            let heat = gpu.temperature.map_or_else(String::new, |degrees| format!(", {degrees} °C"));
            let hardware = gpu.throttled.iter().any(|why| why.starts_with("HW"));
            let text = say!(
                lang,
                "{name}: its clocks are lowered ({why}{heat})",
                "{name}: 클럭이 낮아져 있습니다 ({why}{heat})"
            );
            found.push(if hardware { problem("throttled", text) } else { note("throttled", text) });
        }
        if gpu.persistence == Some(false) {
            found.push(note(
                "persistence",
                say!(
                    lang,
                    "{name}: persistence mode is off; every start waits for the driver, and its error counts are lost",
                    "{name}: 지속 모드(persistence)가 꺼져 있어 시작할 때마다 드라이버를 기다리고 오류 수가 사라집니다"
                ),
            ));
        }
        if gpu.compute_mode.as_deref() == Some("Prohibited") {
            found.push(problem(
                "compute-mode",
                say!(lang, "{name}: its compute mode prohibits computing", "{name}: 계산 금지 모드입니다"),
            ));
        }
    }
    if let Some(last) = facts.xids.last() {
        found.push(problem(
            "xid",
            say!(
                lang,
                "the kernel has {} lines about errors of GPUs; the last: {last}",
                "커널 로그에 GPU 오류 {}줄이 있습니다; 마지막: {last}",
                facts.xids.len()
            ),
        ));
    }
    if facts.torch.cuda.is_some() && facts.torch.devices.is_empty() && !facts.gpus.is_empty() {
        found.push(problem(
            "no-device",
            say!(
                lang,
                "the driver sees {} GPUs and torch none: a driver older than CUDA {cuda} of torch, or CUDA_VISIBLE_DEVICES",
                "드라이버에는 GPU {}개가 보이지만 torch에는 없습니다: torch의 CUDA {cuda}보다 오래된 드라이버이거나 CUDA_VISIBLE_DEVICES 때문입니다",
                facts.gpus.len(),
                cuda = facts.torch.cuda.as_deref().unwrap_or_default()
            ),
        ));
    }
    found
}

fn machine(facts: &Facts, lang: Lang) -> Vec<Finding> {
    const GIB: u64 = 1 << 30;
    let mut found = Vec::new();
    if facts.torch.torch.is_none() {
        found.push(note(
            "no-torch",
            lang.pick(
                "torch is not installed in this Python, or could not be asked",
                "이 파이썬에 torch가 없거나 물어볼 수 없습니다",
            )
            .to_owned(),
        ));
    }
    if let Some(shared) = facts.shared.filter(|shared| shared.total < GIB || shared.free < shared.total / 20) {
        let (free, total) = (shared.free >> 20, shared.total >> 20);
        found.push(problem(
            "shared-memory",
            say!(
                lang,
                "/dev/shm has {free} of {total} MiB free: DataLoader workers and NCCL die of a bus error when it is full; in a container, --shm-size or --ipc=host",
                "/dev/shm의 여유 공간이 {total}MiB 중 {free}MiB입니다: 가득 차면 DataLoader 작업자와 NCCL이 버스 오류로 종료됩니다; 컨테이너에서는 --shm-size 또는 --ipc=host"
            ),
        ));
    }
    let soft = |name: &str| facts.limits.iter().find(|limit| limit.name == name).and_then(|limit| limit.soft);
    if let Some(files) = soft("Max open files").filter(|files| *files < 4096) {
        found.push(note(
            "open-files",
            say!(
                lang,
                "{files} open files are allowed: many DataLoader workers or ranks need more (ulimit -n)",
                "열 수 있는 파일이 {files}개입니다: DataLoader 작업자나 랭크가 많으면 부족합니다 (ulimit -n)"
            ),
        ));
    }
    if let Some(bytes) = soft("Max locked memory").filter(|_| facts.rdma) {
        found.push(problem(
            "locked-memory",
            say!(
                lang,
                "{bytes} bytes may be locked: InfiniBand and RoCE need `ulimit -l unlimited`",
                "잠글 수 있는 메모리가 {bytes}바이트입니다: InfiniBand와 RoCE에는 `ulimit -l unlimited`가 필요합니다"
            ),
        ));
    }
    if let Some(source) = facts.clocksource.as_deref().filter(|source| ["hpet", "acpi_pm", "jiffies"].contains(source))
    {
        found.push(note(
            "clocksource",
            say!(
                lang,
                "the kernel tells the time by {source}, which is slow and coarse; usual is tsc",
                "커널이 느리고 부정확한 {source}로 시간을 잽니다; 보통은 tsc입니다"
            ),
        ));
    }
    if let Some(seconds) = facts.clock_behind {
        found.push(problem(
            "clock",
            say!(
                lang,
                "the clock is {seconds} s behind files of this machine: logs of several machines cannot be laid side by side",
                "시계가 이 머신의 파일보다 {seconds}초 늦습니다: 여러 머신의 로그를 나란히 비교할 수 없습니다"
            ),
        ));
    }
    found
}
