"""`--on-trip`, `--json`, exit statuses, and that a replay leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nanscope import _core
from tests.launch import PROGRAMS, explained, nanscope, placed, plain, watched

PARTS = PROGRAMS / "modes"
WEIGHTS = PARTS / "weights.py"  # WHEN_BAD: what the program does at the bad steps by itself
HALF_BAD = PARTS / "half_bad.py"  # one of two models turns NaN; everything else goes on
STOPPED = PARTS / "stopped.py"  # `except Exception` around the step, `finally` around the loop


# ---- stop


def test_stop_leaves_the_parameters_as_they_were(tmp_path: Path) -> None:
    ran = watched(tmp_path, STOPPED)
    assert ran.status == 1
    assert "finally: step 2, finite True\n" in ran.out
    assert "swallowed" not in ran.out
    assert "after the loop" not in ran.out
    assert ran.found["trip"]["step"] == 2
    assert ran.found["run"]["steps"] == 2


def test_without_the_watch_it_would_have_been_swallowed(tmp_path: Path) -> None:
    """The proof that the test above can fail."""
    ran = plain(tmp_path, STOPPED)
    assert "finally: step 5, finite False\n" in ran.out and "after the loop" in ran.out


def test_stop_is_what_happens_unasked(tmp_path: Path) -> None:
    asked = watched(tmp_path / "asked", STOPPED, options=("--on-trip", "stop"))
    unasked = watched(tmp_path / "unasked", STOPPED)
    assert (asked.status, asked.out.splitlines()[0]) == (unasked.status, unasked.out.splitlines()[0])
    assert asked.found["origin"] == unasked.found["origin"]


# ---- skip


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_skip_is_a_step_left_out_by_hand(tmp_path: Path, optimizer: str) -> None:
    by_hand = plain(tmp_path / "plain", WEIGHTS, optimizer, "left out")
    skipped = watched(tmp_path / "watched", WEIGHTS, optimizer, options=("--on-trip", "skip"))
    assert by_hand.status == 0, by_hand.err
    assert skipped.status == 1
    assert by_hand.out.splitlines()[-1].startswith("digest ")
    assert skipped.out.startswith(by_hand.out), skipped.out
    assert "finite True" in by_hand.out
    assert skipped.found["trip"]["step"] == 2


def test_a_step_that_is_made_is_not_a_step_left_out(tmp_path: Path) -> None:
    """The proof that the digests above tell the two apart."""
    assert plain(tmp_path / "a", WEIGHTS, "SGD").out != plain(tmp_path / "b", WEIGHTS, "SGD", "left out").out


def test_skip_diagnoses_the_first_trip_only(tmp_path: Path) -> None:
    ran = watched(tmp_path, WEIGHTS, "SGD", options=("--on-trip", "skip"))
    assert trips(tmp_path) == 2, "the second is kept too, without a ledger"
    assert explained(tmp_path)["trip"]["step"] == 2
    assert "1 more trips were not diagnosed" in ran.found["warnings"]


@pytest.mark.parametrize("mode", ["skip", "continue"])
def test_two_trips_are_kept(tmp_path: Path, mode: str) -> None:
    ran = watched(tmp_path, WEIGHTS, "SGD", options=("--on-trip", mode, "--diagnose-first", "2"))
    assert ran.status == 1, ran.err
    assert trips(tmp_path) == 2
    assert explained(tmp_path)["trip"]["step"] == 2, "the first is the one to be told of"


def test_none_to_be_diagnosed(tmp_path: Path) -> None:
    """`--diagnose-first 0`: what was found is told all the same, or refused as an option."""
    ran = watched(tmp_path, WEIGHTS, "SGD", options=("--on-trip", "skip", "--diagnose-first", "0"))
    assert ran.status in (1, 2), "a trip must not end in status 0"


def trips(folder: Path) -> int:
    """Trips in a run folder: frames are told apart by the one key that only a trip has."""
    log = (folder / "run" / "rank-0.log").read_bytes()
    return log.count(b'"where": ')


# ---- continue


@pytest.mark.parametrize("path", [WEIGHTS, HALF_BAD], ids=lambda path: path.stem)
def test_continue_prints_what_plain_python_prints(tmp_path: Path, path: Path) -> None:
    """Parameters, buffers, gradients, optimizer state, attributes and generators after a replay are as without it."""
    bare = plain(tmp_path / "plain", path)
    assert bare.status == 0, bare.err
    assert bare.out.splitlines()[-1].startswith("digest ")
    for count in (1, 3):
        seen = watched(tmp_path / str(count), path, options=("--on-trip", "continue", "--diagnose-first", count))
        assert seen.status == 1, seen.err
        assert seen.out.startswith(bare.out), seen.out[:600]
        assert seen.found["verdict"] == "nonfinite"


PUT_BACK = [
    pytest.param(
        path,
        id=path.stem,
    )
    for path in sorted(PARTS.glob("put_back_*.py"))
]


@pytest.mark.parametrize("path", PUT_BACK)
def test_everything_is_put_back_after_a_replay(tmp_path: Path, path: Path) -> None:
    bare = plain(tmp_path / "plain", path)
    assert bare.status == 0, bare.err
    assert bare.out.splitlines()[-1].startswith("digest ")
    seen = watched(tmp_path / "watched", path, options=("--on-trip", "continue", "--diagnose-first", 2))
    assert seen.status == 1, seen.err
    assert seen.out.startswith(bare.out), seen.out[:600]
    assert seen.found["replay"]["faithful"], seen.found.get("warnings")
    assert seen.found["replay"]["method"] == "tape"


# ---- the report as data


@pytest.mark.parametrize("program", [WEIGHTS, PROGRAMS / "training.py"], ids=["bad", "healthy"])
def test_json_in_a_file(tmp_path: Path, program: Path) -> None:
    ran = watched(tmp_path, program, options=("--json", "report.json"))
    written = json.loads((tmp_path / "report.json").read_text())
    assert written["schema"] == "nanscope.report/1"
    assert written == ran.found


def test_json_on_stdout(tmp_path: Path) -> None:
    ran = watched(tmp_path, WEIGHTS, options=("--json", "-"))
    own, brace, rest = ran.out.partition("{")
    assert own.count("step") == 2
    assert json.loads(brace + rest) == ran.found
    assert ran.status == 1


def test_json_on_stdout_of_a_healthy_run(tmp_path: Path) -> None:
    ran = watched(tmp_path, PROGRAMS / "training.py", options=("--json", "-"))
    _, brace, rest = ran.out.partition("{")
    assert json.loads(brace + rest)["verdict"] == "finite"
    assert ran.status == 0


def test_report_of_the_run_is_the_report_of_explain(tmp_path: Path) -> None:
    ran = watched(tmp_path, WEIGHTS)
    told = explained(tmp_path)
    for key in ("verdict", "trip", "origin", "chain", "causes", "replay"):
        assert told.get(key) == ran.found.get(key), key
    again = nanscope(tmp_path, "explain", "run", "--color", "never")
    title = ran.found["causes"][0]["title"]
    assert title in ran.out and title in again.out


def test_colour(tmp_path: Path) -> None:
    """Never in a file unasked; the words are the same."""
    texts = {}
    for when in ("auto", "always", "never"):
        folder = tmp_path / when
        folder.mkdir()
        texts[when] = nanscope(folder, "run", "--out", "run", "--color", when, WEIGHTS).out
    assert "\x1b[" in texts["always"]
    assert "\x1b[" not in texts["auto"] + texts["never"]


# ---- exit statuses


@pytest.mark.parametrize(
    ("ending", "status"),
    [("", 0), ("raise SystemExit(7)", 7), ("raise ValueError", 1), ("1 / 0", 1)],
    ids=["end", "exit", "raise", "zero"],
)
def test_status_of_a_healthy_run_is_the_script_s(tmp_path: Path, ending: str, status: int) -> None:
    assert watched(tmp_path, f"{(PROGRAMS / 'training.py').read_text()}\n{ending}\n").status == status


@pytest.mark.parametrize("mode", ["stop", "skip", "continue"])
@pytest.mark.parametrize("ending", ["", "raise SystemExit(7)", "raise SystemExit(0)", "raise ValueError('its own')"])
def test_status_is_one_where_something_was_found(tmp_path: Path, mode: str, ending: str) -> None:
    placed(tmp_path, f"import sys\nsys.path.insert(0, {str(PARTS)!r})\nimport weights\n{ending}\n")
    ran = nanscope(tmp_path, "run", "--out", "run", "--on-trip", mode, "program.py")
    assert ran.status == 1
    assert ("its own" in ran.err) == ("its own" in ending and mode != "stop")
    assert explained(tmp_path)["verdict"] == "nonfinite"


def test_core_has_what_is_used_here() -> None:
    """`explain` needs no torch: it is Rust alone."""
    assert callable(_core.main)


@pytest.mark.parametrize("when", [3, 90])
def test_a_step_that_raises_does_not_end_the_recording(tmp_path: Path, when: int) -> None:
    """While the watch still learns an optimizer, and once its steps are calm."""
    ran = watched(tmp_path, PARTS / "step_raises.py", environment={"WHEN": str(when)})
    assert ran.found["trip"]["step"] == 104  # of 105 attempts one made no step
    assert ran.found["causes"][0]["id"] == "log-of-zero"
    assert ran.found["replay"]["faithful"]
