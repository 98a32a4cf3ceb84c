"""Whatever else torch can do with a model comes out the same under the watch: `tests/programs/facilities.py`, plain and watched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.launch import PROGRAMS, Result, plain, watched

PROGRAM = PROGRAMS / "facilities.py"
NAMES = re.findall(r"^@facility\ndef (\w+)", PROGRAM.read_text(), re.M)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Result]:
    folder = tmp_path_factory.mktemp("facilities")
    return plain(folder / "plain", PROGRAM), watched(folder / "watched", PROGRAM)


def lines(ran: Result) -> dict[str, str]:
    found = (line.partition(": ") for line in ran.out.splitlines())
    return {name: said for name, _, said in found if name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_same_line(runs: tuple[Result, Result], name: str) -> None:
    by_itself, under_watch = (lines(ran)[name] for ran in runs)
    assert under_watch == by_itself


def test_nothing_else_is_said(runs: tuple[Result, Result]) -> None:
    by_itself, under_watch = runs
    assert (by_itself.status, under_watch.status) == (0, 0), under_watch.err
    assert "could not be recorded" not in under_watch.err
    assert under_watch.found["verdict"] == "finite"
    errors = [line for line in lines(by_itself).values() if re.match(r"\w*(Error|Exception): ", line)]
    assert not errors, "the program itself fails"


# ---- where our own code fails

SLY = PROGRAMS / "sly.py"
FAILED = "nanscope: a call could not be recorded: RuntimeError: sly\n"


def test_an_error_of_ours_is_not_the_program_s(tmp_path: Path) -> None:
    by_itself, under_watch = plain(tmp_path / "plain", SLY), watched(tmp_path / "watched", SLY)
    assert (by_itself.status, under_watch.status) == (0, 0), under_watch.err
    assert under_watch.out == by_itself.out
    assert under_watch.err.count(FAILED) == 1


def test_a_step_that_could_not_be_recorded_is_run_again(tmp_path: Path) -> None:
    ran = watched(tmp_path, SLY, "bad")
    assert FAILED in ran.err
    line = next(n for n, text in enumerate(SLY.read_text().splitlines(), 1) if "torch.log" in text)
    assert (ran.found["origin"]["line"], ran.found["causes"][0]["id"]) == (line, "negative-argument")
