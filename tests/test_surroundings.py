"""Run folders that cannot be written, disks that are full, packages that are missing."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest

from tests.hostile import COMMAND, LOOP, TRAINING, found_bad_line, healthy, refused
from tests.launch import Result, explained, line_of, nanscope, placed, real, watched

# ---- the run folder


@pytest.mark.parametrize("out", ["file/run", "/proc/nanscope", "/dev/null", "/dev/null/run", ""])
def test_run_folder_that_cannot_be_made(tmp_path: Path, out: str) -> None:
    (tmp_path / "file").write_text("kept")
    ran = nanscope(tmp_path, "run", f"--out={out}", placed(tmp_path, "print('ran')"))
    refused(ran)
    assert out in ran.err
    assert (tmp_path / "file").read_text() == "kept"


def test_run_folder_that_exists(tmp_path: Path) -> None:
    first = watched(tmp_path, TRAINING)
    healthy(first)
    log = (tmp_path / "run" / "rank-0.log").read_bytes()
    second = watched(tmp_path, TRAINING, 2)
    assert (second.status, second.out) == (2, "")
    assert len(second.err.splitlines()) == 1 and "run" in second.err
    assert (tmp_path / "run" / "rank-0.log").read_bytes() == log


def test_two_runs_make_two_folders(tmp_path: Path) -> None:
    for _ in range(2):
        assert nanscope(tmp_path, "run", TRAINING).status == 0
    folders = list((tmp_path / "nanscope-runs").iterdir())
    assert len(folders) == 2
    for folder in folders:
        assert explained(tmp_path, str(folder))["run"]["steps"] == 4


def test_script_that_deletes_the_run_folder(tmp_path: Path) -> None:
    program = f"import shutil\n{LOOP}shutil.rmtree('run')\ntrain(4, bad=2)\n"
    ran = watched(tmp_path, program, options=("--json", "report.json"))
    assert ran.status == 1
    assert "nanscope/" not in ran.err.replace("nanscope/run", "") and "Traceback" not in ran.err, ran.err
    assert (tmp_path / "report.json").exists()


@pytest.fixture
def full_disk(tmp_path: Path):
    """A file system with room for the first records of a run and no more."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "nanscope-test", disk], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"cannot mount a file system: {made.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_full_disk(tmp_path: Path, full_disk: Path) -> None:
    """The program loses nothing; what is lost of the log is counted."""
    program = f"{LOOP}train(500)\nprint('done')\n"
    ran = nanscope(tmp_path, "run", f"--out={full_disk}/run", placed(tmp_path, program))
    assert ran.status == 0, ran.err
    assert ran.out.endswith("step 499\ndone\n")
    assert "Traceback" not in ran.err
    assert "could not be written" in ran.err
    assert explained(tmp_path, f"{full_disk}/run")["run"].get("steps", 0) > 0


def test_full_disk_and_a_fault(tmp_path: Path, full_disk: Path) -> None:
    """The diagnosis is printed although it cannot be kept."""
    program = f"{LOOP}train(500, bad=400)\n"
    ran = nanscope(tmp_path, "run", f"--out={full_disk}/run", "--json", "report.json", placed(tmp_path, program))
    assert ran.status == 1
    assert "Traceback" not in ran.err, ran.err
    assert f"training.py:{line_of(TRAINING, '# BAD')}" in ran.out, ran.err
    assert (tmp_path / "report.json").exists()
    explained(tmp_path, f"{full_disk}/run")


def test_disk_that_is_full_at_the_start(tmp_path: Path, full_disk: Path) -> None:
    with open(full_disk / "filler", "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    ran = nanscope(tmp_path, "run", f"--out={full_disk}/run", placed(tmp_path, "print('ran')"))
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1 and "space" in ran.err.lower()


def test_limit_on_the_size_of_files(tmp_path: Path) -> None:
    """RLIMIT_FSIZE: a write past it raises EFBIG, once SIGXFSZ is ignored as Python does."""
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, (8192, {resource.RLIM_INFINITY}))"
    ran = watched(tmp_path, f"import os, resource\n{LOOP}sys.stdout = open(os.devnull, 'w')\n{limit}\ntrain(300)\n")
    assert ran.status == 0, ran.err
    assert "could not be written" in ran.err and "Traceback" not in ran.err
    assert explained(tmp_path)["run"].get("steps", 0) > 0


def test_report_that_cannot_be_written(tmp_path: Path) -> None:
    ran = watched(tmp_path, TRAINING, 2, options=("--json", "nowhere/report.json"))
    assert "cannot write the report" in ran.err and "Traceback" not in ran.err
    found_bad_line(ran)


# ---- what is installed


def stub(tmp_path: Path, name: str, body: str) -> dict[str, str]:
    (tmp_path / "stubs" / name).mkdir(parents=True)
    (tmp_path / "stubs" / name / "__init__.py").write_text(body)
    return {"PYTHONPATH": str(tmp_path / "stubs")}


def test_torch_that_is_not_installed(tmp_path: Path) -> None:
    missing = stub(tmp_path, "torch", "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    placed(tmp_path, "print('ran')")
    ran = real(tmp_path, *COMMAND, "run", "--out", "run", "program.py", environment=missing)
    refused(Result(tmp_path, ran.returncode, ran.stdout, ran.stderr), "torch is not installed", "pip install torch")


@pytest.mark.parametrize(
    "raised", ["ImportError('libcudart.so.13: cannot open shared object file')", "OSError('no libtorch')"]
)
def test_torch_that_cannot_be_loaded(tmp_path: Path, raised: str) -> None:
    broken = stub(tmp_path, "torch", f"raise {raised}\n")
    placed(tmp_path, "print('ran')")
    ran = real(tmp_path, *COMMAND, "run", "--out", "run", "program.py", environment=broken)
    refused(Result(tmp_path, ran.returncode, ran.stdout, ran.stderr), "torch cannot be imported", raised.split("'")[1])


def test_numpy_that_is_not_installed(tmp_path: Path) -> None:
    """torch does without it."""
    missing = stub(tmp_path, "numpy", "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n")
    placed(tmp_path, f"{LOOP}train(4, bad=2)\n")
    ran = real(tmp_path, *COMMAND, "run", "--out", "run", "program.py", environment=missing)
    found_bad_line(Result(tmp_path, ran.returncode, ran.stdout, ran.stderr))


def test_script_named_as_a_module_of_ours(tmp_path: Path) -> None:
    """A neighbour called `signals` or `clock` is the script's, not nanscope's."""
    for name in ("signals", "clock", "stop", "run", "folder", "watch", "trip"):
        (tmp_path / f"{name}.py").write_text(f"who = 'the script: {name}'\n")
    ran = watched(
        tmp_path,
        f"import signals, clock, stop, run, folder, watch, trip\nprint(signals.who, trip.who)\n{LOOP}train(4, bad=2)\n",
    )
    assert ran.out.startswith("the script: signals the script: trip\n")
    found_bad_line(ran)
