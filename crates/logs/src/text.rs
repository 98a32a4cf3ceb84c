use nanscope_lang::{Lang, safe, say};

use crate::summary::{Kind, Severity, Summary};

/// The summary for a person, in a language, with the first `unknown` lines of no known format.
pub fn render(summary: &Summary, unknown: usize, lang: Lang) -> String {
    let mut lines = Vec::new();
    let total = |of: fn(&crate::FileRead) -> u64| summary.files.iter().map(of).sum::<u64>();
    let dumps = summary.files.iter().filter(|file| file.kind != Kind::Log).count();
    lines.push(say!(
        lang,
        "{files} files, {bytes} bytes: {lines} lines, {nccl} of NCCL and its watchdog, {unknown} in no known format; {dumps} flight-recorder dumps",
        "파일 {files}개, {bytes}바이트: {lines}줄, NCCL과 감시기 {nccl}줄, 알 수 없는 형식 {unknown}줄; 플라이트 레코더 덤프 {dumps}개",
        files = summary.files.len(),
        bytes = total(|file| file.bytes),
        lines = total(|file| file.lines),
        nccl = total(|file| file.nccl),
        unknown = total(|file| file.unknown)
    ));
    if summary.processes > 0 {
        let ranks = summary.ranks.map_or_else(|| "?".to_owned(), |ranks| ranks.to_string());
        lines.push(say!(
            lang,
            "{processes} processes, {communicators} communicators, the largest of {ranks} ranks",
            "프로세스 {processes}개, 통신자 {communicators}개, 가장 큰 것은 랭크 {ranks}개",
            processes = summary.processes,
            communicators = summary.communicators
        ));
    }
    for of in &summary.versions {
        lines.push(say!(lang, "NCCL {}: {} ranks or files", "NCCL {}: 랭크 또는 파일 {}개", of.version, of.by.len()));
    }
    for of in &summary.transports {
        let examples: Vec<String> = of.examples.iter().map(|(from, to)| format!("{from} -> {to}")).collect();
        let more = if of.pairs > of.examples.len() { ", ..." } else { "" };
        lines.push(say!(
            lang,
            "{}: {} pairs of ranks ({}{more})",
            "{}: 랭크 쌍 {}개 ({}{more})",
            of.transport,
            of.pairs,
            examples.join(", ")
        ));
    }
    for finding in &summary.findings {
        let word = match finding.severity {
            Severity::Fault => lang.pick("fault", "결함"),
            Severity::Note => lang.pick("note", "참고"),
        };
        lines.push(String::new());
        lines.push(format!("{word}[{}]: {}", finding.id, finding.title));
        lines.extend(finding.evidence.iter().map(|text| format!("  - {text}")));
        lines.extend(finding.advice.iter().map(|text| format!("  = {text}")));
    }
    if summary.findings.is_empty() {
        lines.push(String::new());
        lines.push(lang.pick("nothing found", "발견된 문제 없음").to_owned());
    }
    if !summary.problems.is_empty() {
        lines.push(String::new());
        lines.extend(summary.problems.iter().map(|text| format!("! {text}")));
    }
    if unknown > 0 && !summary.unknown.is_empty() {
        lines.push(String::new());
        lines.push(lang.pick("lines in no known format:", "알 수 없는 형식의 줄:").to_owned());
        lines.extend(summary.unknown.iter().take(unknown).map(|line| format!("  | {line}")));
    }
    lines.iter().map(|line| safe(line) + "\n").collect()
}
