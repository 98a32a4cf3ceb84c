//! `nanscope doctor` on machines that are made up: a stand-in for `nvidia-smi`, one for Python, variables.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn program(folder: &Path, name: &str, script: &str) {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A driver with two GPUs, the second broken, and a kernel that has noticed.
fn broken_machine(folder: &Path) {
    program(
        folder,
        "nvidia-smi",
        r#"case "$*" in
*remapped*) echo "No, No"; echo "Yes, No" ;;
*--query-gpu*) echo "0, NVIDIA H100 80GB HBM3, 560.35.03, Enabled, Enabled, 3, 0, 0, 0x0000000000000001, 41, Default"
  echo "1, NVIDIA H100 80GB HBM3, 560.35.03, Disabled, Enabled, 0, 2, 2, 0x0000000000000048, 89, Default" ;;
*) echo "| NVIDIA-SMI 560.35.03    Driver Version: 560.35.03    CUDA Version: 12.2 |" ;;
esac"#,
    );
    program(folder, "dmesg", "echo '[12.3] NVRM: Xid (PCI:0000:3b:00): 79, pid=4100, GPU has fallen off the bus.'");
    program(
        folder,
        "python-double",
        r#"echo "a line of some start-up file"
echo '{"python": "3.12.1", "torch": "2.12.0+cu122", "cuda": "12.2", "cudnn": "9.10.2", "nccl": "2.26.2", "devices": [{"name": "NVIDIA H100 80GB HBM3", "capability": "9.0"}], "settings": [["deterministic algorithms", "True"]], "problems": []}'"#,
    );
}

fn doctor(folder: &Path, python: &str, variables: &[(&str, &str)], args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nanscope"));
    command.env_clear().env("LC_ALL", "C").env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    command.env("PYTHON", folder.join(python)).envs(variables.iter().copied());
    let output = command.arg("doctor").args(args).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn ids(folder: &Path, python: &str, variables: &[(&str, &str)]) -> (i32, Vec<(String, String)>, Value) {
    let (status, text) = doctor(folder, python, variables, &["--format", "json"]);
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["schema"], "nanscope.doctor/1");
    let finding =
        |value: &Value| (value["id"].as_str().unwrap().to_owned(), value["text"].as_str().unwrap().to_owned());
    // What the machine that runs the test is like is not asked here.
    let of_machine = ["shared-memory", "open-files", "locked-memory", "clocksource", "clock"];
    let list = found["findings"].as_array().unwrap().iter().map(finding);
    (status, list.filter(|(id, _)| !of_machine.contains(&id.as_str())).collect(), found)
}

#[test]
fn a_broken_machine_is_told_part_by_part() {
    let folder = tempfile::tempdir().unwrap();
    broken_machine(folder.path());
    let variables = [
        ("NCCL_P2P_DISABEL", "1"),
        ("NCCL_IB_DISABLE", "1"),
        ("NCCL_IB_ADAPTIVE_ROUTING", "1"),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True,max_split_size:64,roundup_power2_divisions:[256:1,>:2]"),
    ];
    let (status, found, whole) = ids(folder.path(), "python-double", &variables);
    let names: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
    let expected = [
        "cudnn-attention-backward-nan",
        "conv3d-bfloat16-wrong",
        "driver-560-p2p-hang",
        "nccl-2.26-driver-12.2",
        "cublas-workspace",
        "ecc-uncorrected",
        "row-remapping",
        "throttled",
        "xid",
        "misspelt-variable",
        "allocator-option",
        "transport-disabled",
        "persistence",
    ];
    assert_eq!(names, expected);
    assert_eq!(status, 1);
    let text = |id: &str| &found.iter().find(|(name, _)| name == id).unwrap().1;
    assert!(text("ecc-uncorrected").starts_with("GPU 1 (NVIDIA H100 80GB HBM3): 2 memory errors"));
    assert!(text("throttled").contains("HW slowdown, HW thermal slowdown, 89 °C"));
    assert!(text("xid").contains("79"));
    assert!(text("misspelt-variable").contains("did you mean NCCL_P2P_DISABLE?"));
    assert!(text("allocator-option").contains("`max_split_size`"));
    assert!(text("nccl-2.26-driver-12.2").starts_with("NCCL 2.26.2 + driver for CUDA 12.2: "));
    let first = &whole["findings"][0];
    assert_eq!(first["reference"], "https://github.com/pytorch/pytorch/issues/196678");
    let what = whole["variables"].as_array().unwrap().iter().find(|of| of["name"] == "NCCL_IB_DISABLE").unwrap();
    assert!(what["what"].as_str().unwrap().contains("no InfiniBand"));
}

#[test]
fn a_machine_with_nothing_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let (_, found, whole) = ids(folder.path(), "nowhere", &[]);
    assert_eq!(found.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["no-torch"]);
    assert!(whole["facts"]["problems"][0].as_str().unwrap().contains("nowhere"));
    assert_eq!(whole["facts"]["torch"].get("torch"), Some(&Value::Null));
    let (_, text) = doctor(folder.path(), "nowhere", &[], &[]);
    assert!(text.contains("torch: none found\n") && text.contains("driver: none found\n"), "{text}");
}

#[test]
fn a_python_that_crashes_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    program(folder.path(), "crash", "echo 'Fatal Python error' >&2; kill -SEGV $$");
    let (_, _, whole) = ids(folder.path(), "crash", &[]);
    let problem = whole["facts"]["problems"][0].as_str().unwrap();
    assert!(problem.contains("signal") && problem.contains("Fatal Python error"), "{problem}");
}

#[test]
fn both_languages() {
    let folder = tempfile::tempdir().unwrap();
    broken_machine(folder.path());
    let (status, korean) = doctor(folder.path(), "python-double", &[("NCCL_DEBUG", "INFO")], &["--lang", "ko"]);
    assert_eq!(status, 1);
    assert!(
        korean.contains("문제[ecc-uncorrected]") && korean.contains("NCCL_DEBUG=INFO  (NCCL 출력 수준"),
        "{korean}"
    );
    let (_, english) = doctor(folder.path(), "python-double", &[("NCCL_DEBUG", "INFO")], &[]);
    assert_eq!(korean.lines().count(), english.lines().count());
}
