//! Flight-recorder dumps, in both forms that torch writes, and files that are none.

use std::fs;
use std::path::{Path, PathBuf};

use nanscope_lang::Lang;
use nanscope_logs::{Kind, Logs, Summary};
use serde_json::{Value, json};

/// As torch's own pickler writes plain data: protocol 2, numbers by size, a name for every text.
fn pickled(value: &Value) -> Vec<u8> {
    fn write(value: &Value, names: &mut u8, out: &mut Vec<u8>) {
        match value {
            Value::Null => out.push(b'N'),
            Value::Bool(yes) => out.push(if *yes { 0x88 } else { 0x89 }),
            Value::Number(number) => match number.as_i64().unwrap() {
                small @ 0..=255 => out.extend([b'K', small as u8]),
                wide => {
                    out.extend([0x8a, 8]);
                    out.extend(wide.to_le_bytes());
                }
            },
            Value::String(text) => {
                out.push(b'X');
                out.extend((text.len() as u32).to_le_bytes());
                out.extend(text.as_bytes());
                out.extend([b'q', *names]);
                *names = names.wrapping_add(1);
            }
            Value::Array(items) => {
                out.extend(b"](");
                items.iter().for_each(|item| write(item, names, out));
                out.push(b'e');
            }
            Value::Object(map) => {
                out.extend(b"}(");
                for (key, value) in map {
                    write(&Value::String(key.clone()), names, out);
                    write(value, names, out);
                }
                out.push(b'u');
            }
        }
    }
    let mut out = vec![0x80, 2];
    write(value, &mut 0, &mut out);
    out.push(b'.');
    out
}

fn entry(seq: u64, op: &str, size: i64, state: &str, line: u64) -> Value {
    json!({
        "record_id": seq, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": seq, "p2p_seq_id": 0,
        "op_id": seq, "profiling_name": format!("nccl:{op}"), "time_created_ns": 1_769_504_000_000_000_000u64,
        "input_sizes": [[size]], "input_dtypes": ["Float"], "output_sizes": [[size]], "output_dtypes": ["Float"],
        "state": state, "timeout_ms": 600_000, "is_p2p": false, "retired": state == "completed",
        "frames": [
            {"name": "all_reduce", "filename": "/opt/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py", "line": 2696},
            {"name": "step", "filename": "/home/user/train.py", "line": line},
        ],
    })
}

fn dump(entries: Vec<Value>) -> Value {
    json!({
        "version": "2.10", "nccl_version": "2.27.3",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}},
        "pg_status": {"0": {"last_enqueued_collective": 3, "last_started_collective": -1, "last_completed_collective": 2}},
        "entries": entries,
    })
}

/// Rank 2 reduces something else third; rank 1 has not come so far.
fn job() -> [Value; 3] {
    let begin = |last: Value| {
        vec![entry(1, "all_reduce", 8, "completed", 40), entry(2, "all_reduce", 8, "completed", 40), last]
    };
    let mut short = begin(Value::Null);
    short.pop();
    [
        dump(begin(entry(3, "all_reduce", 8, "started", 40))),
        dump(short),
        dump(begin(entry(3, "broadcast", 4, "scheduled", 55))),
    ]
}

fn read(files: &[(&str, Vec<u8>)]) -> (Summary, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (mut logs, mut errors) = (Logs::default(), vec![]);
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        errors.extend(logs.read(&path).err().map(|error| error.to_string()));
    }
    (logs.summary(Lang::En), errors)
}

#[test]
fn ranks_that_part_are_named_with_their_lines() {
    let names = ["nccl_trace_rank_0", "nccl_trace_rank_1", "nccl_trace_rank_2"];
    let as_json = job().map(|value| value.to_string().into_bytes());
    let as_pickle = job().map(|value| pickled(&value));
    for (files, kind) in [(as_json, Kind::Json), (as_pickle, Kind::Pickle)] {
        let (found, errors) = read(&names.into_iter().zip(files).collect::<Vec<_>>());
        assert_eq!(errors, [""; 0]);
        assert!(found.files.iter().all(|file| file.kind == kind));
        assert_eq!(found.versions[0].version, "2.27.3");
        let [finding] = found.findings.as_slice() else { panic!("{:?}", found.findings) };
        assert_eq!(finding.title, "process group 0 (default_pg): ranks part at collective 3 (flight recorder)");
        assert_eq!(
            finding.evidence,
            [
                "rank 0: all_reduce of Float [8], started, /home/user/train.py:40",
                "rank 2: broadcast of Float [4], scheduled, /home/user/train.py:55",
                "rank 1: not there, its last is 2",
            ]
        );
    }
}

#[test]
fn ranks_that_agree_part_nowhere() {
    let same = || dump(vec![entry(7, "all_reduce", 8, "completed", 40), entry(8, "all_to_all", 8, "completed", 41)]);
    let mut uneven = same();
    uneven["entries"][1]["input_sizes"] = json!([[16]]);
    let (found, errors) = read(&[("r0.json", same().to_string().into()), ("r1.json", uneven.to_string().into())]);
    assert_eq!((found.findings.len(), errors.len()), (0, 0), "{:?}", found.findings);
}

#[test]
fn a_hostile_pickle_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let trap = folder.path().join("owned");
    // What Python writes for an object whose __reduce__ is (os.system, (command,)), in protocols 0, 2 and 4.
    let command = format!("touch {}", trap.display());
    let length = command.len() as u8;
    let texts: [Vec<u8>; 3] = [
        format!("cposix\nsystem\np0\n(V{command}\np1\ntp2\nRp3\n.").into_bytes(),
        [b"\x80\x02cposix\nsystem\nq\x00X", &u32::from(length).to_le_bytes()[..], command.as_bytes(), b"\x85Rq\x01."]
            .concat(),
        [
            b"\x80\x04\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c",
            &[length][..],
            command.as_bytes(),
            b"\x94\x85\x94R\x94.",
        ]
        .concat(),
    ];
    for bytes in texts {
        let path = folder.path().join("nccl_trace_rank_0");
        fs::write(&path, &bytes).unwrap();
        let error = Logs::default().read(&path).unwrap_err().to_string();
        assert!(error.contains("would import posix.system") && error.contains("nothing of it was run"), "{error}");
        assert!(!trap.exists());
    }
}

#[test]
fn files_that_cannot_be_read_say_why() {
    let whole = pickled(&job()[0]);
    let text = job()[0].to_string();
    let cases: [(&str, Vec<u8>, &str); 7] = [
        ("rank_0.log.gz", b"\x1f\x8b\x08\x00rest".to_vec(), "compressed with gzip; unpack it first"),
        ("rank_0.zst", b"\x28\xb5\x2f\xfdrest".to_vec(), "compressed with zstd"),
        ("nccl_trace_rank_0", whole[..whole.len() / 2].to_vec(), "the pickle is cut"),
        ("rank_0.json", text.as_bytes()[..text.len() / 2].to_vec(), "EOF while parsing"),
        ("dump.json", text.clone().into_bytes(), "the dump names no rank"),
        ("rank_1", b"\x80\x02K\x01.".to_vec(), "expected a flight-recorder dump"),
        ("rank_2", b"\x80\x02}\xff.".to_vec(), "got opcode 0xff"),
    ];
    for (name, bytes, expected) in cases {
        let (_, errors) = read(&[(name, bytes)]);
        assert!(errors.len() == 1 && errors[0].contains(expected) && errors[0].contains(name), "{name}: {errors:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let reason = |path: &Path| Logs::default().read(path).unwrap_err().to_string();
    assert!(reason(folder.path()).contains("got a folder; name the files in it"));
    assert!(reason(&PathBuf::from("/nowhere/at/all")).starts_with("/nowhere/at/all: "));
}

#[test]
fn files_without_a_line_that_is_known() {
    let mut long = vec![b'x'; 20 << 20];
    long.extend(b"\nhost:1:2 [0] NCCL INFO NCCL version 2.18.1+cuda12.1\n");
    let binary: Vec<u8> = (0..100_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (found, errors) = read(&[("empty", vec![]), ("long", long), ("binary", binary), ("tiny", b"{".to_vec())]);
    assert_eq!(errors, [""; 0]);
    assert_eq!((found.files[0].lines, found.files[1].lines, found.files[1].long), (0, 2, 1));
    assert_eq!(found.versions[0].version, "2.18.1+cuda12.1");
    assert!(found.findings.is_empty());
}
