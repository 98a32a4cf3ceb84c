//! Nothing that a file may hold brings the reader down, and how it is cut changes nothing.

mod invented;

use nanscope_lang::Lang;
use nanscope_logs::{Lines, Logs, plain, render};
use proptest::prelude::*;

/// Pieces of which damaged logs are made.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "node-0:1:2 [0] NCCL INFO ",
        "NCCL WARN ",
        "NCCL version ",
        "WorkNCCL(SeqNum=",
        "last enqueued ",
        "work: ",
        "Rank ",
        "comm 0x",
        " rank ",
        " nranks ",
        "commId 0x",
        " - Init COMPLETE",
        " - Init START",
        "Channel 00 : ",
        " -> ",
        "[send] via ",
        "AllReduce: opCount ",
        " count ",
        " datatype ",
        " op ",
        " root ",
        " comm ",
        "18446744073709551615",
        "4294967295",
        "0",
        "1",
        "ffffffffffffffff",
        "\n",
        "\r\n",
        "\x1b[36m",
        "[",
        "]",
        ":",
        " ",
        "NET/IB/0",
        ", OpType=",
        "Timeout(ms)=",
        "ran for ",
        " set by environment to ",
        "NCCL_IB_DISABLE",
        "Using network ",
        "Timed out after ",
        "cudaDriverVersion ",
    ];
    prop_oneof![
        8 => proptest::sample::select(known.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..12),
        2 => (0u32..4, 0u64..6).prop_map(|(rank, at)| invented::collective(rank, 4, at, "AllReduce", 9).into_bytes()),
        1 => (0u32..4).prop_map(|rank| invented::init(invented::Generation::V2_18, rank, 4).into_bytes()),
    ]
}

fn read(bytes: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nccl_trace_rank_1");
    std::fs::write(&path, bytes).unwrap();
    for lang in Lang::ALL {
        let mut logs = Logs::default();
        if let Err(error) = logs.read(&path) {
            logs.problem(error.to_string());
        }
        let summary = logs.summary(lang);
        let _ = serde_json::to_string(&summary).unwrap();
        let _ = render(&summary, 5, lang);
    }
}

proptest! {
    #[test]
    fn damaged_logs(pieces in proptest::collection::vec(piece(), 0..60)) {
        read(&pieces.concat());
    }

    #[test]
    fn any_file(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read(&bytes);
    }

    #[test]
    fn any_pickle(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = plain(&bytes);
        let _ = plain(&[b"\x80\x02".as_slice(), &bytes].concat());
    }

    #[test]
    fn any_pickle_of_opcodes_for_plain_data(
        ops in proptest::collection::vec(proptest::sample::select(b"()]}tuelasdN.012K\x01q\x02h\x85\x86\x87\x94".to_vec()), 0..200)
    ) {
        let _ = plain(&[b"\x80\x02".as_slice(), &ops].concat());
    }

    #[test]
    fn chunks_do_not_matter(bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..300), size in 1usize..40) {
        let cut = |size: usize| {
            let (mut lines, mut found) = (Lines::default(), Vec::new());
            for chunk in bytes.chunks(size) {
                lines.push(chunk, |line| found.push(line.to_vec()));
            }
            lines.end(|line| found.push(line.to_vec()));
            found
        };
        prop_assert_eq!(cut(size), cut(bytes.len().max(1)));
    }
}
