//! Lines of NCCL, 2.4 to 2.2x: `host:pid:tid [gpu] NCCL INFO ...`, whatever stands before the host.

use crate::fact::{Collective, Fact, Init, Writer};
use crate::scan::Scan;

/// `head` is what stands before `NCCL INFO`, `body` what follows.
pub(crate) fn info<'a>(head: &'a [u8], body: &'a [u8]) -> Fact<'a> {
    let Some(writer) = writer(head) else { return Fact::Unknown };
    let fact = match body.first() {
        Some(b'C' | b'R') if body.starts_with(b"Channel ") || body.starts_with(b"Ring ") => channel(body),
        Some(b'c' | b'n') if body.starts_with(b"comm 0x") || body.starts_with(b"ncclCommInit") => init(writer, body),
        Some(b'c') => driver(writer, body),
        Some(b'N' | b'U') => setting(writer, body),
        Some(b'A'..=b'Z') => collective(body).map(|found| Fact::Collective(writer, found)),
        _ => None,
    };
    fact.unwrap_or(Fact::Known)
}

/// A warning; before `NCCL WARN` stands the file of NCCL, after the process.
pub(crate) fn warn<'a>(head: &'a [u8], body: &'a [u8]) -> Fact<'a> {
    let head = head.trim_ascii_end();
    let by = writer(head).or_else(|| {
        let file = head.iter().rposition(|byte| *byte == b' ')?;
        writer(&head[..file])
    });
    Fact::Warning(by, body)
}

/// `NCCL version 2.18.1+cuda12.1`, alone on its line or in one of NCCL or torch.
pub(crate) fn version<'a>(head: &'a [u8], body: &'a [u8]) -> Fact<'a> {
    let mut scan = Scan(body);
    let version = scan.until(b" ,;:\"')");
    let version = version.strip_suffix(b".").unwrap_or(version);
    if !version.first().is_some_and(u8::is_ascii_digit) {
        return Fact::Unknown;
    }
    let head = head.trim_ascii_end().strip_suffix(b"NCCL INFO").unwrap_or(head);
    Fact::Version(writer(head), version)
}

/// `... host:pid:tid [gpu] `, read from the right.
fn writer(head: &[u8]) -> Option<Writer<'_>> {
    let head = head.trim_ascii_end();
    let open = head.iter().rposition(|byte| *byte == b' ')?;
    let gpu = head[open + 1..].strip_prefix(b"[")?.strip_suffix(b"]")?;
    if gpu.is_empty() || !gpu.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut parts = head[..open].trim_ascii_end().rsplitn(3, |byte| *byte == b':');
    let tid = parts.next()?;
    if tid.is_empty() || !tid.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut pid = Scan(parts.next()?);
    let number = pid.number()?;
    let before = parts.next()?;
    if !pid.0.is_empty() {
        return None;
    }
    // Before the host: `[rank0]:`, `[1,0]<stdout>:`, a time, a colour.
    let start = before.iter().rposition(|byte| matches!(byte, b':' | b' ' | b'\t' | b'>' | b'|'));
    let host = &before[start.map_or(0, |at| at + 1)..];
    let host = match host.iter().rposition(|byte| *byte == 0x1b) {
        Some(escape) => {
            let end = host[escape..].iter().position(|byte| *byte == b'm')?;
            &host[escape + end + 1..]
        }
        None => host,
    };
    (!host.is_empty()).then_some(Writer { host, pid: number })
}

/// `Channel 00/0 : 0[1000] -> 1[2000] [send] via NET/IB/0/GDRDMA`; `Ring` before NCCL 2.5. The order of a ring is known.
fn channel(body: &[u8]) -> Option<Fact<'_>> {
    let mut scan = Scan(body);
    scan.skip_past(b" : ")?;
    let from = rank(&mut scan)?;
    scan.eat(b"-> ")?;
    let to = rank(&mut scan)?;
    if scan.eat(b"[send] ").is_none() {
        let _ = scan.eat(b"[receive] ");
    }
    scan.eat(b"via ")?;
    Some(Fact::Channel(from, to, scan.0))
}

/// `3[a01c0] ` or `3 `.
fn rank(scan: &mut Scan) -> Option<u32> {
    scan.spaces();
    let rank = scan.number()?;
    if scan.eat(b"[").is_some() {
        scan.skip_past(b"]")?;
    }
    scan.eat(b" ")?;
    u32::try_from(rank).ok()
}

/// `comm 0x55ca rank 3 nranks 8 cudaDev 3 busId b7000 commId 0xfa2 - Init COMPLETE`, from 2.19 after the name of the call.
fn init<'a>(writer: Writer<'a>, body: &'a [u8]) -> Option<Fact<'a>> {
    let mut scan = Scan(body);
    scan.skip_past(b"comm ")?;
    let comm = scan.hex()?;
    scan.skip_past(b"rank ")?;
    let rank = u32::try_from(scan.number()?).ok()?;
    scan.eat(b" nranks ")?;
    let nranks = u32::try_from(scan.number()?).ok()?;
    let mut rest = scan;
    let id = rest.skip_past(b"commId ").and_then(|()| rest.hex());
    let complete = scan.0.trim_ascii_end().ends_with(b"Init COMPLETE");
    if !complete && !scan.0.trim_ascii_end().ends_with(b"Init START") {
        return None;
    }
    Some(Fact::Init(writer, Init { comm, rank, nranks, id, complete }))
}

fn driver<'a>(writer: Writer<'a>, body: &'a [u8]) -> Option<Fact<'a>> {
    let mut scan = Scan(body);
    scan.eat(b"cudaDriverVersion ")?;
    Some(Fact::Driver(writer, scan.number()?))
}

/// `NCCL_P2P_DISABLE set by environment to 1.`, `Using network Socket`.
fn setting<'a>(writer: Writer<'a>, body: &'a [u8]) -> Option<Fact<'a>> {
    let mut scan = Scan(body);
    if scan.eat(b"Using network ").is_some() {
        return Some(Fact::Network(writer, scan.until(b" ")));
    }
    if !body.starts_with(b"NCCL_") {
        return None;
    }
    let name = scan.until(b" ");
    scan.eat(b" set by environment to ")?;
    let value = scan.0.trim_ascii_end();
    Some(Fact::Variable(writer, name, value.strip_suffix(b".").unwrap_or(value)))
}

/// `AllReduce: opCount 1a sendbuff 0x1 recvbuff 0x2 count 64 datatype 7 op 0 root 0 comm 0x7f [nranks=2] stream 0x3`.
fn collective(body: &[u8]) -> Option<Collective<'_>> {
    let mut scan = Scan(body);
    let op = scan.until(b": ");
    scan.eat(b": opCount ")?;
    let count = scan.hex()?;
    scan.skip_past(b" count ")?;
    let elements = scan.number()?;
    scan.eat(b" datatype ")?;
    let dtype = scan.number()?;
    scan.eat(b" op ")?;
    let reduction = scan.number()?;
    scan.eat(b" root ")?;
    let root = scan.number()?;
    scan.eat(b" comm ")?;
    Some(Collective { op, count, elements, dtype, reduction, root, comm: scan.hex()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY: Writer = Writer { host: b"node-3", pid: 4100 };

    #[test]
    fn the_writer_is_found_behind_any_prefix() {
        for head in [
            "node-3:4100:4177 [3] ",
            "[rank3]:node-3:4100:4177 [3] ",
            "[default3]:node-3:4100:4177 [3] ",
            "[1,3]<stdout>:node-3:4100:4177 [3] ",
            "(RayTrainWorker pid=4100, ip=10.0.0.7) node-3:4100:4177 [3] ",
            "\x1b[36mnode-3:4100:4177 [3] ",
            "2025-02-03T10:11:12.5Z node-3:4100:4177 [3] ",
            "[2025-02-03 10:11:12] node-3:4100:4177 [3] ",
            "node-3: node-3:4100:4177 [3] ",
        ] {
            assert_eq!(writer(head.as_bytes()), Some(BY), "{head}");
        }
        for head in ["", "node-3:4100 [3] ", "node-3:4100:x [3] ", "node-3:4100:4177 [x] ", "[3] ", ":1:2 [3] "] {
            assert_eq!(writer(head.as_bytes()), None, "{head}");
        }
    }

    #[test]
    fn a_warning_names_the_file_of_nccl() {
        let fact = warn(b"[2025-02-03 10:11:12] node-3:4100:4177 [3] transport/net_ib.cc:1038 ", b"NET/IB : x");
        assert_eq!(fact, Fact::Warning(Some(BY), b"NET/IB : x"));
    }

    #[test]
    fn versions_stop_where_they_end() {
        let found = |body: &'static str| match version(b"", body.as_bytes()) {
            Fact::Version(None, version) => std::str::from_utf8(version).unwrap(),
            _ => "",
        };
        assert_eq!(found("2.4.8+cuda10.1"), "2.4.8+cuda10.1");
        assert_eq!(found("2.27.3 compiled with CUDA 12.9"), "2.27.3");
        assert_eq!(found("2.17.1\nncclInvalidUsage"), "2.17.1\nncclInvalidUsage");
        assert_eq!(found("is old"), "");
    }

    #[test]
    fn channels_of_every_generation() {
        let found = |body: &'static str| match info(b"node-3:4100:4177 [3] ", body.as_bytes()) {
            Fact::Channel(from, to, via) => (from, to, std::str::from_utf8(via).unwrap()),
            _ => (0, 0, ""),
        };
        assert_eq!(found("Ring 00 : 3[3] -> 0[0] via P2P/IPC"), (3, 0, "P2P/IPC"));
        assert_eq!(found("Ring 00 : 1 -> 2 [receive] via NET/Socket/0"), (1, 2, "NET/Socket/0"));
        assert_eq!(found("Channel 01 : 1[6000] -> 0[5000] via direct shared memory"), (1, 0, "direct shared memory"));
        assert_eq!(found("Channel 00/0 : 8[0] -> 15[7] [send] via NET/IB/0/GDRDMA"), (8, 15, "NET/IB/0/GDRDMA"));
        assert_eq!(found("Channel 00/02 :    0   1   2"), (0, 0, ""));
    }
}
