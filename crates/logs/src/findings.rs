//! From the picture of a job to what is wrong with it. One function per finding.

use std::collections::{BTreeMap, BTreeSet};

use nanscope_lang::{Lang, say};

use crate::job::{Comm, Job, Process};
use crate::read::Logs;
use crate::summary::{Finding, Severity, Summary, Transports, Versions};
use crate::watchdog::TimedOut;

/// Ranks, hosts and lines of evidence that a sentence names.
const NAMED: usize = 8;
/// Silent ranks that are counted: a number in a damaged line may be anything.
const SILENT_MAX: usize = 10_000;

impl Logs {
    /// What all that was read says together, in a language.
    pub fn summary(mut self, lang: Lang) -> Summary {
        self.job.finish();
        let job = &self.job;
        let mut findings: Vec<Finding> = [
            version_mismatch(job, lang),
            driver_mismatch(job, lang),
            transport_fallback(job, lang),
            transport_disabled(job, lang),
            warnings(job, lang),
            store_timeout(job, lang),
        ]
        .into_iter()
        .flatten()
        .collect();
        findings.extend(job.comms.iter().filter_map(|comm| missing_peer(comm, lang)));
        findings.extend(job.comms.iter().filter_map(|comm| parted(comm, job, lang)));
        findings.extend(job.comms.iter().filter_map(|comm| behind(comm, job, lang)));
        findings.extend(recorded(job, lang));
        findings.extend(timeouts(job, lang));
        findings.sort_by_key(|finding| (finding.severity, order(finding.id)));
        let problems = self.problems.iter().cloned().chain(dropped(job, lang)).collect();
        Summary {
            schema: "nanscope.logs/1",
            processes: job.processes.len(),
            ranks: job.comms.iter().map(|comm| comm.nranks).max(),
            communicators: job.comms.len(),
            versions: versions(job),
            transports: transports(job),
            findings,
            files: self.files,
            unknown: self.unknown,
            problems,
        }
    }
}

/// What comes first explains what follows.
fn order(id: &str) -> usize {
    const ORDER: [&str; 6] = ["parted", "missing-peer", "version-mismatch", "timeout", "store-timeout", "behind"];
    ORDER.iter().position(|known| *known == id).unwrap_or(ORDER.len())
}

fn fault(id: &'static str, title: String, evidence: Vec<String>, advice: String) -> Finding {
    Finding { id, severity: Severity::Fault, title, evidence, advice: Some(advice) }
}

fn note(id: &'static str, title: String, evidence: Vec<String>, advice: Option<String>) -> Finding {
    Finding { id, severity: Severity::Note, title, evidence, advice }
}

/// `rank 3`, or `host:pid` where its rank is not known.
fn name(process: &Process) -> String {
    match process.rank {
        Some((rank, _)) => format!("rank {rank} ({})", process.host),
        None => format!("{}:{}", process.host, process.pid),
    }
}

/// Some of them, and how many more.
fn listed(names: impl IntoIterator<Item = String>) -> String {
    let names: Vec<String> = names.into_iter().collect();
    let more = names.len().saturating_sub(NAMED);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} + {more}") } else { shown }
}

/// `0-5, 7`.
fn ranges(ranks: impl IntoIterator<Item = u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == rank => *end = rank,
            _ => runs.push((rank, rank)),
        }
    }
    listed(runs.into_iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") }))
}

fn versions(job: &Job) -> Vec<Versions> {
    let mut by: BTreeMap<String, BTreeSet<String>> = job.versions.clone();
    for process in &job.processes {
        if let Some(version) = &process.version {
            by.entry(version.clone()).or_default().insert(name(process));
        }
    }
    by.into_iter().map(|(version, by)| Versions { version, by: by.into_iter().collect() }).collect()
}

fn version_mismatch(job: &Job, lang: Lang) -> Option<Finding> {
    // The build for another CUDA is another build of the same version: what ranks send each other is the same.
    let bare = |version: &str| version.split(['+', ' ']).next().unwrap_or_default().to_owned();
    let versions = versions(job);
    let kinds: BTreeSet<String> = versions.iter().map(|of| bare(&of.version)).collect();
    if kinds.len() < 2 {
        return None;
    }
    Some(fault(
        "version-mismatch",
        say!(
            lang,
            "ranks run {count} versions of NCCL: {kinds}",
            "랭크들이 서로 다른 NCCL 버전 {count}개를 사용합니다: {kinds}",
            count = kinds.len(),
            kinds = listed(kinds.iter().cloned())
        ),
        versions.into_iter().map(|of| format!("{}: {}", of.version, listed(of.by))).collect(),
        lang.pick(
            "give every rank the same environment: versions of NCCL do not promise to talk to each other",
            "모든 랭크의 환경을 동일하게 맞추십시오: 서로 다른 NCCL 버전 사이의 통신은 보장되지 않습니다",
        )
        .to_owned(),
    ))
}

fn driver_mismatch(job: &Job, lang: Lang) -> Option<Finding> {
    let mut by: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for process in &job.processes {
        if let Some(driver) = process.driver {
            by.entry(driver).or_default().insert(process.host.clone());
        }
    }
    if by.len() < 2 {
        return None;
    }
    let version = |driver: u64| format!("{}.{}", driver / 1000, driver % 1000 / 10);
    Some(note(
        "driver-mismatch",
        say!(
            lang,
            "drivers of {} CUDA versions on the machines of one job",
            "한 작업의 머신들에 서로 다른 CUDA 버전 {}개의 드라이버가 있습니다",
            by.len()
        ),
        by.into_iter().map(|(driver, hosts)| format!("CUDA {}: {}", version(driver), listed(hosts))).collect(),
        None,
    ))
}

fn transports(job: &Job) -> Vec<Transports> {
    let mut found: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
    for (pair, set) in &job.pairs {
        for name in set.names() {
            found.entry(name).or_default().push(*pair);
        }
    }
    found
        .into_iter()
        .map(|(transport, pairs)| Transports {
            transport: transport.to_owned(),
            pairs: pairs.len(),
            examples: pairs.into_iter().take(3).collect(),
        })
        .collect()
}

fn transport_fallback(job: &Job, lang: Lang) -> Option<Finding> {
    let slow: Vec<(u32, u32)> = job.pairs.iter().filter(|(_, set)| set.has_socket()).map(|(pair, _)| *pair).collect();
    let fast = job.pairs.values().filter(|set| set.has_fast_network()).count();
    let over = |network: &str| {
        let found = job
            .processes
            .iter()
            .filter(move |p| p.network.iter().any(|name| (name == "Socket") == (network == "Socket")));
        found.map(name).collect::<BTreeSet<_>>()
    };
    let (sockets, others) = (over("Socket"), over("IB"));
    if (slow.is_empty() || fast == 0) && (sockets.is_empty() || others.is_empty()) {
        return None;
    }
    let mut evidence = Vec::new();
    if !slow.is_empty() {
        let pairs = slow.iter().map(|(from, to)| format!("{from} -> {to}"));
        evidence.push(format!("NET/Socket: {}", listed(pairs)));
    }
    if !sockets.is_empty() && !others.is_empty() {
        evidence.push(format!("Using network Socket: {}", listed(sockets)));
        let networks: BTreeSet<&str> =
            job.processes.iter().flat_map(|p| &p.network).map(String::as_str).filter(|n| *n != "Socket").collect();
        let networks = networks.into_iter().collect::<Vec<_>>().join(", ");
        evidence.push(format!("Using network {networks}: {}", listed(others)));
    }
    Some(note(
        "transport-fallback",
        lang.pick(
            "some ranks talk over plain sockets where others have a faster network",
            "다른 랭크들은 더 빠른 네트워크를 쓰는데 일부 랭크는 일반 소켓으로 통신합니다",
        )
        .to_owned(),
        evidence,
        Some(
            lang.pick(
                "all wait for the slowest: look for NET/IB lines and network plugins on those machines, and for NCCL_IB_DISABLE",
                "가장 느린 랭크를 모두가 기다립니다: 해당 머신의 NET/IB 줄, 네트워크 플러그인, NCCL_IB_DISABLE을 확인하십시오",
            )
            .to_owned(),
        ),
    ))
}

fn transport_disabled(job: &Job, lang: Lang) -> Option<Finding> {
    let mut by: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for process in &job.processes {
        for (variable, value) in &process.variables {
            let off = variable.ends_with("_DISABLE") && value != "0"
                || (variable == "NCCL_NET" && value.eq_ignore_ascii_case("socket"))
                || (variable == "NCCL_P2P_LEVEL" && (value == "LOC" || value == "0"));
            if off {
                by.entry(format!("{variable}={value}")).or_default().insert(name(process));
            }
        }
    }
    if by.is_empty() {
        return None;
    }
    Some(note(
        "transport-disabled",
        lang.pick("the environment switches transports off", "환경 변수가 전송 방식을 끄고 있습니다").to_owned(),
        by.into_iter().map(|(setting, by)| format!("{setting}: {}", listed(by))).collect(),
        None,
    ))
}

fn warnings(job: &Job, lang: Lang) -> Option<Finding> {
    if job.warnings.is_empty() {
        return None;
    }
    let mut groups: Vec<_> = job.warnings.values().collect();
    groups.sort_by_key(|warned| std::cmp::Reverse(warned.count));
    let count: u64 = groups.iter().map(|warned| warned.count).sum();
    let evidence = groups.iter().take(2 * NAMED).map(|warned| {
        let by = listed(warned.processes.iter().map(|at| name(&job.processes[*at])));
        format!("{} x {}{}", warned.count, warned.example, if by.is_empty() { by } else { format!(" [{by}]") })
    });
    Some(note(
        "warning",
        say!(lang, "NCCL warns {count} times, {} kinds", "NCCL 경고 {count}회, {}종", groups.len()),
        evidence.collect(),
        None,
    ))
}

fn store_timeout(job: &Job, lang: Lang) -> Option<Finding> {
    (job.stores.count > 0).then(|| {
        fault(
            "store-timeout",
            say!(
                lang,
                "the store of the job did not answer in time, {} lines",
                "작업의 저장소(store)가 제때 응답하지 않았습니다, {}줄",
                job.stores.count
            ),
            vec![job.stores.example.clone()],
            lang.pick(
                "a rank has not started, has ended, or cannot reach MASTER_ADDR: look at the ranks whose log is missing or ends first",
                "시작하지 않았거나 종료되었거나 MASTER_ADDR에 연결하지 못한 랭크가 있습니다: 로그가 없거나 가장 먼저 끝난 랭크를 확인하십시오",
            )
            .to_owned(),
        )
    })
}

/// As `communicator 0xfa2 of 8 ranks`.
fn of_comm(comm: &Comm, lang: Lang) -> String {
    match comm.id {
        Some(id) => say!(lang, "communicator 0x{id:x} of {n} ranks", "{n}개 랭크의 통신자 0x{id:x}", n = comm.nranks),
        None => say!(lang, "a communicator of {n} ranks", "{n}개 랭크의 통신자", n = comm.nranks),
    }
}

fn missing_peer(comm: &Comm, lang: Lang) -> Option<Finding> {
    // The log of one rank alone says nothing of the others.
    if comm.mixed || comm.ranks.len() < 2 {
        return None;
    }
    let missing = || (0..comm.nranks).filter(|rank| !comm.ranks.contains_key(rank));
    let waiting = || comm.ranks.iter().filter(|(_, complete)| !**complete).map(|(rank, _)| *rank);
    let seen = comm.ranks.len();
    if seen as u64 >= u64::from(comm.nranks) {
        let waits = waiting().count();
        if waits == 0 {
            return None;
        }
        return Some(fault(
            "missing-peer",
            say!(
                lang,
                "{comm}: {waits} ranks began and were never ready",
                "{comm}: 랭크 {waits}개가 시작했으나 준비되지 못했습니다",
                comm = of_comm(comm, lang)
            ),
            vec![say!(lang, "never ready: rank {}", "준비되지 못함: 랭크 {}", ranges(waiting()))],
            lang.pick("see the warnings of those ranks", "해당 랭크들의 경고를 확인하십시오").to_owned(),
        ));
    }
    let mut evidence = vec![
        say!(lang, "seen: rank {}", "확인됨: 랭크 {}", ranges(comm.ranks.keys().copied())),
        // A damaged line may claim any size.
        say!(lang, "missing: rank {}", "없음: 랭크 {}", ranges(missing().take(10_000))),
    ];
    if waiting().next().is_some() {
        evidence.push(say!(lang, "never ready: rank {}", "준비되지 못함: 랭크 {}", ranges(waiting())));
    }
    Some(fault(
        "missing-peer",
        say!(lang, "{comm}: {seen} are seen", "{comm}: 그중 {seen}개만 확인됩니다", comm = of_comm(comm, lang)),
        evidence,
        lang.pick(
            "if their logs are among these files, those ranks never reached the initialisation; else add their logs",
            "이 파일들에 해당 랭크의 로그가 포함되어 있다면 초기화에 이르지 못한 것이고, 아니라면 로그를 추가하십시오",
        )
        .to_owned(),
    ))
}

fn parted(comm: &Comm, job: &Job, lang: Lang) -> Option<Finding> {
    let found = comm.collectives.parted(&job.shared)?;
    let evidence = found
        .sides
        .iter()
        .take(NAMED)
        .map(|(what, ranks)| say!(lang, "rank {}: {what}", "랭크 {}: {what}", ranges(ranks.iter().copied())));
    Some(fault(
        "parted",
        say!(
            lang,
            "{comm}: ranks part at operation {at} (opCount 0x{at:x})",
            "{comm}: 연산 {at}(opCount 0x{at:x})에서 랭크들이 갈라집니다",
            comm = of_comm(comm, lang),
            at = found.at
        ),
        evidence.collect(),
        parted_advice(lang),
    ))
}

fn parted_advice(lang: Lang) -> String {
    lang.pick(
        "all ranks must call the same collectives in the same order with the same sizes: look for a branch on the rank, an \
         unequal number of batches, or a parameter without a gradient on some ranks",
        "모든 랭크가 같은 집합 통신을 같은 순서와 같은 크기로 호출해야 합니다: 랭크에 따른 분기, 배치 수의 차이, 일부 랭크에서만 \
         기울기가 없는 매개변수를 확인하십시오",
    )
    .to_owned()
}

fn behind(comm: &Comm, job: &Job, lang: Lang) -> Option<Finding> {
    if !comm.collectives.any() {
        return None;
    }
    let found = comm.collectives.behind(&job.shared)?;
    let evidence = found.ranks.iter().take(NAMED).map(|(rank, (last, what))| match last {
        Some(last) => {
            say!(lang, "rank {rank}: last operation {last}, {what}", "랭크 {rank}: 마지막 연산 {last}, {what}")
        }
        None => say!(lang, "rank {rank}: none", "랭크 {rank}: 없음"),
    });
    Some(note(
        "behind",
        say!(
            lang,
            "{comm}: {} ranks end before operation {ahead}, which others have enqueued",
            "{comm}: 다른 랭크가 등록한 연산 {ahead} 이전에 끝난 랭크 {}개",
            found.ranks.len(),
            comm = of_comm(comm, lang),
            ahead = found.ahead
        ),
        evidence.collect(),
        None,
    ))
}

fn recorded(job: &Job, lang: Lang) -> Vec<Finding> {
    let found = job.recorders.parted().into_iter().map(|found| {
        let mut evidence: Vec<String> = found
            .sides
            .iter()
            .take(NAMED)
            .map(|side| {
                let place = side.place.as_ref().map_or_else(String::new, |place| format!(", {place}"));
                let (ranks, what) = (ranges(side.ranks.iter().copied()), &side.what);
                say!(lang, "rank {ranks}: {what}{place}", "랭크 {ranks}: {what}{place}")
            })
            .collect();
        evidence.extend(found.absent.iter().take(NAMED).map(|(rank, last)| {
            say!(lang, "rank {rank}: not there, its last is {last}", "랭크 {rank}: 호출하지 않음, 마지막은 {last}")
        }));
        fault(
            "parted",
            say!(
                lang,
                "process group {group}: ranks part at collective {seq} (flight recorder)",
                "프로세스 그룹 {group}: 집합 통신 {seq}에서 랭크들이 갈라집니다 (플라이트 레코더)",
                group = found.group,
                seq = found.seq
            ),
            evidence,
            parted_advice(lang),
        )
    });
    found.collect()
}

fn timeouts(job: &Job, lang: Lang) -> Vec<Finding> {
    let all = job.watchdogs.timed_out();
    // What follows a group's first timeout follows from it.
    let mut groups = BTreeSet::new();
    all.iter().filter(|found| groups.insert(&found.group)).take(NAMED).map(|found| timeout(found, job, lang)).collect()
}

fn timeout(found: &TimedOut, job: &Job, lang: Lang) -> Finding {
    let mut kinds: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (rank, seen) in &found.seen {
        let elements = seen.elements.map_or_else(String::new, |(read, out)| format!(", {read} -> {out}"));
        kinds.entry(format!("{}{elements}", seen.op)).or_default().push(*rank);
    }
    let known = |ranks: &[u32]| ranks.iter().copied().filter(|rank| *rank != u32::MAX).collect::<Vec<_>>();
    let mut evidence: Vec<String> = kinds
        .iter()
        .take(NAMED)
        .map(|(what, ranks)| say!(lang, "rank {}: {what}", "랭크 {}: {what}", ranges(known(ranks))))
        .collect();
    if let Some(seen) = found.seen.values().next() {
        evidence.push(say!(
            lang,
            "ran for {} ms of {} ms allowed",
            "허용된 {1}ms 중 {0}ms 동안 실행됨",
            seen.ran_ms,
            seen.limit_ms
        ));
    }
    evidence.extend(found.late.iter().take(NAMED).map(|(rank, last)| {
        say!(
            lang,
            "rank {rank} had not come to it: the last it enqueued is {last}",
            "랭크 {rank}는 여기에 이르지 못함: 마지막으로 등록한 것은 {last}"
        )
    }));
    let size = job.comms.iter().map(|comm| comm.nranks).max().unwrap_or(0);
    let heard = job.watchdogs.ranks();
    let whole = found.group.contains("default_pg") || found.group.is_empty();
    let silent: Vec<u32> = (0..size).filter(|rank| whole && !heard.contains(rank)).take(SILENT_MAX).collect();
    if !silent.is_empty() {
        let silent = ranges(silent);
        evidence.push(say!(
            lang,
            "no watchdog spoke on rank {silent}",
            "랭크 {silent}에서는 감시기(watchdog)가 보고하지 않음"
        ));
    }
    let group = if found.group.is_empty() { String::new() } else { format!("{}: ", found.group) };
    let (seq, count) = (found.seq, found.seen.len());
    if kinds.len() > 1 {
        return fault(
            "parted",
            say!(
                lang,
                "{group}ranks part at collective {seq}: they wait in different ones",
                "{group}집합 통신 {seq}에서 랭크들이 갈라집니다: 서로 다른 통신에서 대기 중"
            ),
            evidence,
            parted_advice(lang),
        );
    }
    let op = kinds.into_keys().next().unwrap_or_default();
    fault(
        "timeout",
        say!(
            lang,
            "{group}collective {seq} ({op}) timed out on {count} ranks",
            "{group}집합 통신 {seq}({op})이 랭크 {count}개에서 시간 초과되었습니다"
        ),
        evidence,
        lang.pick(
            "look at the ranks that had not come to it, or that said nothing; where there are none, the collective itself hung",
            "여기에 이르지 못했거나 보고가 없는 랭크를 확인하십시오. 그런 랭크가 없다면 통신 자체가 멈춘 것입니다",
        )
        .to_owned(),
    )
}

/// What was not kept or not compared.
fn dropped(job: &Job, lang: Lang) -> Vec<String> {
    let mixed = job.comms.iter().filter(|comm| comm.mixed).count() as u64;
    let counts = [
        (
            mixed,
            say!(
                lang,
                "communicators of one size could not be told apart (NCCL before 2.18): not compared",
                "크기가 같은 통신자를 구별할 수 없어 비교하지 못함 (NCCL 2.18 이전)"
            ),
        ),
        (
            job.strange,
            say!(
                lang,
                "collectives on communicators that no line announces: not compared",
                "어떤 줄에도 나오지 않은 통신자의 집합 통신: 비교하지 못함"
            ),
        ),
        (job.shared.dropped, say!(lang, "collectives beyond what is compared", "비교 범위를 넘는 집합 통신")),
        (job.dropped + job.watchdogs.dropped, say!(lang, "facts beyond what is remembered", "기억 한도를 넘는 사실")),
    ];
    counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
}
