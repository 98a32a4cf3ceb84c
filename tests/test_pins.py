"""What is installed is pinned exactly, and no lock file or list of pins says where from."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PINS = ("requirements-dev.txt", "requirements-bench.txt", "constraints.txt")
EXACT = re.compile(r"[a-z0-9._-]+==[0-9][a-z0-9.+]*( ; .+)?")


def pins(file: str) -> list[str]:
    lines = (ROOT / file).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("file", PINS)
def test_every_line_is_an_exact_pin_and_nothing_else(file: str) -> None:
    assert pins(file)
    assert [line for line in pins(file) if not EXACT.fullmatch(line)] == []


def test_constraints_hold_what_is_required() -> None:
    assert set(pins("requirements-dev.txt")) <= set(pins("constraints.txt")), "run: make pins"


def test_only_cargo_has_a_lock_file_and_it_is_committed() -> None:
    assert (ROOT / "Cargo.lock").exists()
    ignored = (ROOT / ".gitignore").read_text().split()
    assert "uv.lock" in ignored and "Cargo.lock" not in ignored
