"""A watched program does the same, to the bit, as one that is not."""

import shutil
from pathlib import Path

import pytest

from tests.corpus_board.case import Case, load
from tests.launch import PROGRAMS, plain, watched

CASES = load()
# A program that counts calls with modes of its own counts some of nanscope's too: its numbers are the same, its count is not.
COUNTING = {"Z24"}
HEALTHY = [case for case in CASES if case.healthy and case.id not in COUNTING]
TWINS = {"A04", "A06", "A08", "A11", "A17", "A41", "A42", "A60", "B11", "B15", "B47", "c15"}
LOOPS = sorted(path for path in (PROGRAMS / "identity").glob("*.py") if path.stem != "digest")


def same(tmp_path: Path, program: Path | str, fix: str = "", ordered: bool = True) -> str:
    """Both runs end well and print the same, but for the order of lines that ranks print; returns what they print."""
    bare = plain(tmp_path / "plain", program, environment={"FIX": fix})
    seen = watched(tmp_path / "watched", program, environment={"FIX": fix})
    assert bare.status == 0, bare.err
    assert bare.out, "a program that prints nothing proves nothing"
    lines = [out.splitlines() if ordered else sorted(out.splitlines()) for out in (seen.out, bare.out)]
    assert lines[0] == lines[1]
    assert seen.status == 0, seen.err
    last = seen.err.splitlines()[-1]
    assert "nothing found" in last or "no training step was seen" in last
    assert seen.found["verdict"] == "finite"
    return bare.out


def test_there_are_programs() -> None:
    assert len(HEALTHY) >= 5
    assert {case.id for case in CASES} >= TWINS
    assert len(LOOPS) >= 13


@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.id)
def test_healthy_program_of_the_corpus(case: Case, tmp_path: Path) -> None:
    same(tmp_path, case.source, ordered=not case.ranks)


@pytest.mark.parametrize("case", [case for case in CASES if case.id in TWINS], ids=lambda case: case.id)
def test_mended_program_of_the_corpus(case: Case, tmp_path: Path) -> None:
    same(tmp_path, case.source, fix="1")


@pytest.mark.parametrize("path", LOOPS, ids=lambda path: path.stem)
def test_parameters_states_and_generators(path: Path, tmp_path: Path) -> None:
    out = same(tmp_path, path)
    assert out.splitlines()[-1].startswith("digest ")


def test_a_digest_sees_one_bit(tmp_path: Path) -> None:
    """The proof that the comparison above can fail."""
    shutil.copy(PROGRAMS / "identity" / "digest.py", tmp_path)
    program = """
        import sys, torch
        from digest import show
        model = torch.nn.Linear(2, 2)
        torch.nn.init.ones_(model.weight)
        torch.nn.init.ones_(model.bias)
        torch.manual_seed(0)
        with torch.no_grad():
            model.weight.view(torch.int32)[0, 0] ^= int(sys.argv[1])
        show(model)
    """
    (tmp_path / "program.py").write_text("\n".join(line[8:] for line in program.splitlines()))
    a, b, again = (
        plain(tmp_path / name, tmp_path / "program.py", bit).out for name, bit in (("a", 0), ("b", 1), ("c", 0))
    )
    assert a == again
    assert a.startswith("digest ") and b.startswith("digest ") and a != b
