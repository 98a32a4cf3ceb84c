"""What the tests of hostile programs and surroundings share: the faulty training, and what being refused or found means."""

from __future__ import annotations

import sys

from tests.launch import PROGRAMS, Result, explained, line_of

TRAINING = PROGRAMS / "training.py"
LOOP = f"import sys\nsys.path.insert(0, {str(PROGRAMS)!r})\nfrom training import train\n"
COMMAND = [sys.executable, "-m", "nanscope"]


def refused(ran: Result, *words: str) -> None:
    """Status 2, one line on stderr, nothing else said and nothing left."""
    assert ran.status == 2
    assert ran.out == ""
    lines = ran.err.splitlines()
    assert len(lines) == 1, ran.err
    for word in words:
        assert word in lines[0]
    assert "Traceback" not in ran.err
    assert not (ran.folder / "run").exists()


def found_bad_line(ran: Result) -> None:
    """The fault of `training.py` was found, and the run folder tells of it."""
    assert ran.status == 1, ran.err
    for report in (ran.found, explained(ran.folder)):
        assert report["verdict"] == "nonfinite"
        assert report["trip"]["step"] == 2
        assert report["origin"]["line"] == line_of(TRAINING, "# BAD")


def healthy(ran: Result, steps: int = 4, status: int = 0) -> None:
    """Nothing was found in so many steps, and the run folder says so."""
    assert ran.status == status, ran.err
    report = explained(ran.folder)
    assert report["verdict"] == "finite"
    assert report["run"].get("steps", 0) == steps
