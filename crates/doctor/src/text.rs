use nanscope_lang::{Lang, safe, say};

use crate::examine::{Examined, Severity};

/// What was examined, for a person, in a language.
pub fn render(examined: &Examined, lang: Lang) -> String {
    let facts = &examined.facts;
    let mut lines = Vec::new();
    let unknown = || lang.pick("not known", "알 수 없음").to_owned();
    let torch = &facts.torch;
    lines.push(lang.pick("versions", "버전").to_owned());
    let versions = [
        ("Python", &torch.python),
        ("torch", &torch.torch),
        ("CUDA", &torch.cuda),
        ("ROCm", &torch.rocm),
        ("cuDNN", &torch.cudnn),
        ("NCCL", &torch.nccl),
        ("driver", &facts.driver),
        ("driver for CUDA", &facts.driver_cuda),
    ];
    for (name, version) in versions {
        match version {
            Some(version) => lines.push(format!("  {name} {version}")),
            None if matches!(name, "torch" | "driver") => {
                lines.push(format!("  {name}: {}", lang.pick("none found", "찾지 못함")))
            }
            None => {}
        }
    }
    for gpu in &facts.gpus {
        let ecc = gpu.uncorrected.map_or_else(unknown, |count| count.to_string());
        let heat = gpu.temperature.map_or_else(unknown, |degrees| format!("{degrees} °C"));
        lines.push(say!(
            lang,
            "  GPU {} {}: {heat}, memory errors not corrected: {ecc}",
            "  GPU {} {}: {heat}, 정정하지 못한 메모리 오류: {ecc}",
            gpu.index,
            gpu.name
        ));
    }
    if !torch.settings.is_empty() {
        lines.push(lang.pick("determinism and precision", "결정성과 정밀도").to_owned());
        lines.extend(torch.settings.iter().map(|(name, value)| format!("  {name}: {value}")));
    }
    lines.push(lang.pick("machine", "머신").to_owned());
    if let Some(shared) = facts.shared {
        let (free, total) = (shared.free >> 20, shared.total >> 20);
        lines.push(say!(lang, "  /dev/shm: {free} of {total} MiB free", "  /dev/shm: {total}MiB 중 {free}MiB 여유"));
    }
    for limit in &facts.limits {
        let number = |limit: Option<u64>| limit.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
        lines.push(format!("  {}: {} / {}", limit.name, number(limit.soft), number(limit.hard)));
    }
    lines.extend(facts.clocksource.iter().map(|source| format!("  clocksource: {source}")));
    if !examined.variables.is_empty() {
        lines.push(lang.pick("variables", "환경 변수").to_owned());
        for variable in &examined.variables {
            let what = variable.what.map_or_else(String::new, |what| format!("  ({what})"));
            lines.push(format!("  {}={}{what}", variable.name, variable.value));
        }
    }
    lines.push(String::new());
    for finding in &examined.findings {
        let word = match finding.severity {
            Severity::Problem => lang.pick("problem", "문제"),
            Severity::Note => lang.pick("note", "참고"),
        };
        lines.push(format!("{word}[{}]: {}", finding.id, finding.text));
        lines.extend(finding.reference.iter().map(|reference| format!("  = {reference}")));
    }
    if !examined.findings.iter().any(|finding| finding.severity == Severity::Problem) {
        lines.push(lang.pick("no problem found", "발견된 문제 없음").to_owned());
    }
    lines.extend(facts.problems.iter().map(|problem| format!("! {problem}")));
    lines.iter().map(|line| safe(line) + "\n").collect()
}
