"""The census kernel for GPUs gives what the definition gives."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.launch import real

ROOT = Path(__file__).resolve().parents[1]


def test_the_kernel_gives_what_the_definition_gives() -> None:
    pytest.importorskip("triton")
    ran = real(ROOT, sys.executable, "-m", "tests.device_census", environment={"TRITON_INTERPRET": "1"})
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == 10
