//! Lines of torch: the watchdog of `ProcessGroupNCCL`, and stores that did not answer.

use memchr::memmem;

use crate::fact::{Fact, Reached, Timeout};
use crate::scan::Scan;

/// `[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, NumelOut=1,
/// Timeout(ms)=600000) ran for 600013 milliseconds before timing out.`; `at` is where `WorkNCCL(` ends.
pub(crate) fn timeout(line: &[u8], at: usize) -> Option<Fact<'_>> {
    let mut scan = Scan(&line[at..]);
    scan.eat(b"SeqNum=")?;
    let seq = scan.number()?;
    scan.eat(b", OpType=")?;
    let op = scan.until(b",)");
    let elements = elements(&mut scan);
    scan.skip_past(b"Timeout(ms)=")?;
    let limit_ms = scan.number()?;
    scan.skip_past(b"ran for ")?;
    let ran_ms = scan.number()?;
    let (group, rank) = speaker(&line[..at]);
    Some(Fact::Timeout(Timeout { group, rank: rank.or_else(|| tee(line)), seq, op, elements, limit_ms, ran_ms }))
}

fn elements(scan: &mut Scan) -> Option<(u64, u64)> {
    let mut ahead = *scan;
    ahead.eat(b", NumelIn=")?;
    let read = ahead.number()?;
    ahead.eat(b", NumelOut=")?;
    let found = (read, ahead.number()?);
    *scan = ahead;
    Some(found)
}

/// `[PG ID 0 PG GUID 0(default_pg) Rank 1] Exception (either an error or timeout) detected by watchdog at work: 808, last
/// enqueued NCCL work: 811, last completed NCCL work: 807.`; `at` is where `last enqueued ` begins.
pub(crate) fn reached(line: &[u8], at: usize) -> Option<Fact<'_>> {
    let after = |key: &[u8], from: usize| {
        let mut scan = Scan(&line[from..]);
        scan.skip_past(key)?;
        scan.skip_past(b"work: ")?;
        scan.number()
    };
    let mut about = Scan(&line[..at]);
    let about = ["work: ", "work sequence id: "].iter().find_map(|key| {
        about.skip_past(key.as_bytes())?;
        about.number()
    });
    let (group, rank) = speaker(&line[..at]);
    let rank = rank.or_else(|| tee(line))?;
    let (enqueued, completed) = (after(b"last enqueued ", at), after(b"last completed ", at));
    Some(Fact::Reached(Reached { group, rank, at: about, enqueued, completed }))
}

/// Process group and rank of the last `[... Rank N]` of a piece.
fn speaker(piece: &[u8]) -> (&[u8], Option<u32>) {
    let Some(at) = memmem::rfind(piece, b"Rank ") else { return (b"", None) };
    let mut scan = Scan(&piece[at + 5..]);
    let rank = scan.number().and_then(|rank| u32::try_from(rank).ok());
    let open = piece[..at].iter().rposition(|byte| *byte == b'[').map_or(at, |open| open + 1);
    (piece[open..at].trim_ascii(), rank)
}

/// The rank that a launcher has put before the line: `[rank3]:`.
fn tee(line: &[u8]) -> Option<u32> {
    let mut scan = Scan(line);
    scan.skip_past(b"[rank")?;
    let rank = scan.number()?;
    scan.eat(b"]")?;
    u32::try_from(rank).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watchdogs_of_several_versions() {
        let read = |line: &'static str| {
            let at = memmem::find(line.as_bytes(), b"WorkNCCL(").unwrap() + 9;
            match timeout(line.as_bytes(), at) {
                Some(Fact::Timeout(found)) => (found.group, found.rank, found.seq, found.elements, found.ran_ms),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            read(
                "[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=46, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1802212 milliseconds before timing out."
            ),
            (&b""[..], Some(1), 46, None, 1_802_212)
        );
        assert_eq!(
            read(
                "[rank7]:[E816 01:45:40.18 ProcessGroupNCCL.cpp:607] [PG ID 2 PG GUID 5(tp) Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, OpType=BROADCAST, NumelIn=5, NumelOut=6, Timeout(ms)=600000) ran for 600026 milliseconds before timing out."
            ),
            (&b"PG ID 2 PG GUID 5(tp)"[..], Some(3), 8, Some((5, 6)), 600_026)
        );
    }

    #[test]
    fn how_far_a_rank_had_come() {
        let line = b"[rank1]:[E626 06:24:44.9 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank 1] Exception (either an error or timeout) detected by watchdog at work: 808, last enqueued NCCL work: 811, last completed NCCL work: 807.";
        let at = memmem::find(line, b"last enqueued ").unwrap();
        let expected = Reached {
            group: b"PG ID 0 PG GUID 0(default_pg)",
            rank: 1,
            at: Some(808),
            enqueued: Some(811),
            completed: Some(807),
        };
        assert_eq!(reached(line, at), Some(Fact::Reached(expected)));
    }
}
