//! What several generations of NCCL write about one and the same job.

mod invented;

use std::fs;

use invented::{ALL, Generation, by, collective, init};
use nanscope_lang::Lang;
use nanscope_logs::{Logs, Severity, Summary, render};

fn summary(files: &[String]) -> Summary {
    let folder = tempfile::tempdir().unwrap();
    let mut logs = Logs::default();
    for (number, text) in files.iter().enumerate() {
        let path = folder.path().join(format!("{number}.out"));
        fs::write(&path, text).unwrap();
        logs.read(&path).unwrap();
    }
    logs.summary(Lang::En)
}

fn ids(summary: &Summary) -> Vec<&str> {
    summary.findings.iter().map(|finding| finding.id).collect()
}

fn evidence(summary: &Summary, id: &str) -> String {
    let finding = summary.findings.iter().find(|finding| finding.id == id);
    let finding = finding.unwrap_or_else(|| panic!("no {id} in {:?}", ids(summary)));
    format!("{}\n{}", finding.title, finding.evidence.join("\n"))
}

fn job(generation: Generation, nranks: u32) -> Vec<String> {
    (0..nranks).map(|rank| init(generation, rank, nranks)).collect()
}

#[test]
fn a_healthy_job_of_every_generation() {
    for generation in ALL {
        for files in [job(generation, 16), vec![job(generation, 16).concat()]] {
            let found = summary(&files);
            assert_eq!(ids(&found), [""; 0], "{generation:?}");
            assert_eq!((found.processes, found.ranks, found.communicators), (16, Some(16), 1), "{generation:?}");
            assert_eq!(found.versions.len(), 1, "{generation:?}");
            assert_eq!(found.versions[0].version, generation.version());
            let transports: Vec<_> = found.transports.iter().map(|of| (of.transport.as_str(), of.pairs)).collect();
            assert_eq!(transports, [("NET/IB GPU-direct", 2), ("P2P", 14)], "{generation:?}");
            assert_eq!(found.files.iter().map(|file| file.unknown).sum::<u64>(), 0, "{generation:?}");
        }
    }
}

#[test]
fn a_rank_that_never_came_is_named() {
    for generation in ALL {
        let mut files = job(generation, 16);
        files.remove(11);
        let text = evidence(&summary(&files), "missing-peer");
        assert!(text.contains("16 ranks: 15 are seen") && text.contains("missing: rank 11"), "{generation:?}: {text}");
    }
}

#[test]
fn a_rank_that_began_and_was_never_ready_is_named() {
    let mut files = job(Generation::V2_18, 4);
    let cut = files[2].find("Channel 00/02").unwrap();
    files[2].truncate(cut);
    let text = evidence(&summary(&files), "missing-peer");
    assert!(text.contains("never ready: rank 2"), "{text}");
}

#[test]
fn the_log_of_one_rank_accuses_nobody() {
    assert_eq!(ids(&summary(&[init(Generation::V2_27, 0, 8)])), [""; 0]);
}

#[test]
fn versions_that_differ_are_a_fault_and_builds_are_none() {
    let mut files = job(Generation::V2_18, 4);
    files[3] = files[3].replace("2.18.1+cuda12.1", "2.18.1+cuda11.8");
    assert_eq!(ids(&summary(&files)), [""; 0]);
    files[3] = files[3].replace("2.18.1+cuda11.8", "2.20.5+cuda12.4").replace("12010", "12040");
    let found = summary(&files);
    let text = evidence(&found, "version-mismatch");
    assert!(text.contains("2.18.1, 2.20.5") && text.contains("2.20.5+cuda12.4: rank 3 (node-0)"), "{text}");
    assert!(evidence(&found, "driver-mismatch").contains("CUDA 12.4: node-0"));
}

#[test]
fn sockets_where_others_have_infiniband() {
    let mut files = job(Generation::V2_10, 16);
    files[7] = files[7].replace("NET/IB/0/GDRDMA", "NET/Socket/0").replace("Using network IB", "Using network Socket");
    files[7] += &format!("{}NCCL_IB_DISABLE set by environment to 1.\n", by(7));
    files[6] += &format!("{}NCCL_IB_DISABLE set by environment to 0.\n", by(6));
    let found = summary(&files);
    let text = evidence(&found, "transport-fallback");
    assert!(text.contains("NET/Socket: 7 -> 8") && text.contains("Using network Socket: rank 7 (node-0)"), "{text}");
    assert_eq!(evidence(&found, "transport-disabled").lines().nth(1), Some("NCCL_IB_DISABLE=1: rank 7 (node-0)"));
    assert!(found.findings.iter().all(|finding| finding.severity == Severity::Note));
}

/// Ten operations of each rank, `change` made to those of rank 2.
fn courses(generation: Generation, change: impl Fn(u64) -> Option<(&'static str, u64)>) -> Vec<String> {
    let mut files = job(generation, 4);
    for (rank, file) in files.iter_mut().enumerate() {
        let mut number = 0;
        for at in 0..10 {
            let usual = (if at % 4 == 3 { "AllGather" } else { "AllReduce" }, 1000 + at);
            if let Some((op, elements)) = if rank == 2 { change(at) } else { Some(usual) } {
                *file += &collective(rank as u32, 4, number, op, elements);
                number += 1;
            }
        }
    }
    files
}

fn usual(at: u64) -> Option<(&'static str, u64)> {
    Some((if at % 4 == 3 { "AllGather" } else { "AllReduce" }, 1000 + at))
}

#[test]
fn the_first_operation_in_which_ranks_differ() {
    for generation in ALL {
        assert_eq!(ids(&summary(&courses(generation, usual))), [""; 0], "{generation:?}");
        let other_op = courses(generation, |at| if at == 6 { Some(("Broadcast", 1006)) } else { usual(at) });
        let left_out = courses(generation, |at| usual(at).filter(|_| at != 6));
        for (files, did) in [(other_op, "Broadcast of 1006"), (left_out, "AllGather of 1007")] {
            let mut backwards = files.clone();
            backwards.reverse();
            // Line by line from all ranks, as one file of a launcher has it.
            let mut together = String::new();
            for at in 0..40 {
                for file in &files {
                    together.extend(file.lines().nth(at).map(|line| format!("{line}\n")));
                }
            }
            for files in [files, backwards, vec![together]] {
                let text = evidence(&summary(&files), "parted");
                assert!(text.contains("part at operation 6 (opCount 0x6)"), "{generation:?}: {text}");
                assert!(text.contains("rank 0-1, 3: AllReduce of 1006 float32, sum"), "{generation:?}: {text}");
                assert!(text.contains(&format!("rank 2: {did}")), "{generation:?}: {text}");
            }
        }
    }
}

#[test]
fn a_rank_whose_log_ends_first_is_named() {
    let found = summary(&courses(Generation::V2_27, |at| usual(at).filter(|_| at < 5)));
    assert_eq!(ids(&found), ["behind"]);
    assert!(evidence(&found, "behind").contains("rank 2: last operation 4, AllReduce of 1004"));
}

#[test]
fn what_two_ranks_send_each_other_parts_nobody() {
    let mut files = job(Generation::V2_18, 2);
    files[0] += &collective(0, 2, 0, "AllReduce", 7);
    files[0] += &collective(0, 2, 1, "Send", 9);
    files[0] += &collective(0, 2, 2, "AllReduce", 8);
    files[1] += &collective(1, 2, 0, "AllReduce", 7);
    files[1] += &collective(1, 2, 1, "Recv", 9);
    files[1] += &collective(1, 2, 2, "Recv", 9);
    files[1] += &collective(1, 2, 3, "AllReduce", 8);
    assert_eq!(ids(&summary(&files)), [""; 0]);
}

#[test]
fn communicators_that_cannot_be_told_apart_are_not_compared() {
    // Two pairs of ranks, each with ranks 0 and 1 of its own: before 2.18 nothing names a pair.
    let pair = |first: u32| {
        [0, 1].map(|rank| {
            let text = init(Generation::V2_10, rank, 2) + &collective(rank, 2, 0, "AllReduce", u64::from(first) + 1);
            text.replace(&format!(":{}:", 4100 + rank), &format!(":{}:", 4100 + first + rank))
        })
    };
    let found = summary(&[pair(0), pair(2)].concat());
    assert_eq!(ids(&found), [""; 0]);
    assert!(found.problems[0].contains("could not be told apart"), "{:?}", found.problems);
}

fn watchdog(rank: u32, seq: u64, op: &str, elements: u64) -> String {
    format!(
        "[rank{rank}]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={elements}, NumelOut={elements}, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.\n\
         [rank{rank}]:[E321 02:07:08.465150152 ProcessGroupNCCL.cpp:1664] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Exception (either an error or timeout) detected by watchdog at work: {seq}, last enqueued NCCL work: {seq}, last completed NCCL work: {}.\n",
        seq - 1
    )
}

#[test]
fn a_timeout_says_what_and_who_was_late() {
    let mut files = job(Generation::V2_27, 4);
    for rank in [0, 1] {
        files[rank as usize] += &watchdog(rank, 88, "ALLREDUCE", 4096);
    }
    files[2] += "[rank2]:[E321 02:07:08.4 ProcessGroupNCCL.cpp:1664] [PG ID 0 PG GUID 0(default_pg) Rank 2] Exception (either an error or timeout) detected by watchdog at work: 87, last enqueued NCCL work: 87, last completed NCCL work: 86.\n";
    let text = evidence(&summary(&files), "timeout");
    assert!(text.contains("collective 88 (ALLREDUCE, 4096 -> 4096) timed out on 2 ranks"), "{text}");
    assert!(text.contains("rank 2 had not come to it: the last it enqueued is 87"), "{text}");
    assert!(text.contains("no watchdog spoke on rank 3"), "{text}");
    assert!(text.contains("600060 ms of 600000 ms"), "{text}");
}

#[test]
fn watchdogs_in_different_collectives_part() {
    let mut files = job(Generation::V2_27, 2);
    files[0] += &watchdog(0, 88, "ALLREDUCE", 4096);
    files[1] += &watchdog(1, 88, "BROADCAST", 5056);
    let text = evidence(&summary(&files), "parted");
    assert!(text.contains("collective 88") && text.contains("rank 1: BROADCAST, 5056 -> 5056"), "{text}");
}

#[test]
fn warnings_are_grouped_by_what_they_say() {
    let mut files = job(Generation::V2_27, 4);
    for (rank, file) in files.iter_mut().enumerate() {
        let (host, gpu) = (format!("node-0:{}:{}", 4100 + rank, 4200 + rank), rank % 8);
        *file += &format!(
            "\n[2025-04-08 08:39:4{rank}] {host} [{gpu}] transport/net_ib.cc:1038 NCCL WARN NET/IB : Got completion from peer 10.0.0.{rank}<3412{rank}> with status=12 opcode=1\n"
        );
    }
    files[0] +=
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined.\n";
    let found = summary(&files);
    let text = evidence(&found, "warning");
    assert!(
        text.starts_with("NCCL warns 4 times, 1 kinds\n4 x NET/IB : Got completion from peer 10.0.0.0<34120>"),
        "{text}"
    );
    assert!(text.contains("rank 0 (node-0), rank 1"), "{text}");
    assert!(evidence(&found, "store-timeout").contains("3/4 clients joined"));
    assert_eq!(found.findings[0].id, "store-timeout", "faults first");
}

#[test]
fn unknown_lines_are_counted_and_kept() {
    let found = summary(&["step 1 loss 0.5\n\nNCCL is fine\nstep 2\x07 loss 0.4".to_owned()]);
    assert_eq!((found.files[0].lines, found.files[0].unknown), (4, 3));
    assert_eq!(found.unknown, ["step 1 loss 0.5", "NCCL is fine", "step 2  loss 0.4"]);
    let text = render(&found, 2, Lang::En);
    assert!(text.ends_with("lines in no known format:\n  | step 1 loss 0.5\n  | NCCL is fine\n"), "{text}");
}

#[test]
fn both_languages_find_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let mut files = courses(Generation::V2_18, |at| usual(at).filter(|_| at != 3));
    files.remove(1);
    files[0] += &watchdog(0, 88, "ALLREDUCE", 4096);
    fs::write(&path, files.concat()).unwrap();
    let [english, korean] = Lang::ALL.map(|lang| {
        let mut logs = Logs::default();
        logs.read(&path).unwrap();
        logs.summary(lang)
    });
    assert_eq!(ids(&english), ["parted", "missing-peer", "timeout", "behind"]);
    assert_eq!(ids(&english), ids(&korean));
    for (one, other) in english.findings.iter().zip(&korean.findings) {
        assert_eq!(one.evidence.len(), other.evidence.len(), "{}", one.id);
        assert!(other.title.chars().any(|c| ('가'..='힣').contains(&c)), "{}", other.title);
    }
    assert!(render(&korean, 0, Lang::Ko).contains("결함[parted]"));
}

#[test]
fn twenty_megabytes_of_sixteen_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let files = invented::write(folder.path(), 20 << 20).unwrap();
    let mut logs = Logs::default();
    for file in &files {
        logs.read(file).unwrap();
    }
    let found = logs.summary(Lang::En);
    assert!(found.files.iter().map(|file| file.bytes).sum::<u64>() >= 20 << 20);
    assert_eq!(ids(&found), ["parted"]);
    let text = evidence(&found, "parted");
    assert!(text.contains("rank 0-4, 6-15: ") && text.contains("\nrank 5: "), "{text}");
    assert!(found.files.iter().all(|file| file.lines == file.nccl + file.unknown));
}
