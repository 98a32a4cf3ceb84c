"""The examples fail as they are meant to, and nanscope names the line."""

from pathlib import Path

import pytest

from tests.launch import line_of, watched

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
# Example, a text that only the line at fault holds, phase, cause.
EXPECTED = {
    "vit_mixed_precision": ("q @ k.transpose(", "forward", "half-overflow"),
    "metric_learning": (".sum(-1).sqrt()", "backward", "infinite-derivative"),
}


def test_every_example_is_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name: str, tmp_path: Path) -> None:
    program = EXAMPLES / f"{name}.py"
    mark, phase, cause = EXPECTED[name]
    ran = watched(tmp_path, program)
    assert ran.status == 1, ran.err
    origin = ran.found["origin"]
    assert (origin["line"], origin["phase"]) == (line_of(program, mark), phase)
    assert ran.found["causes"][0]["id"] == cause
    assert ran.found["replay"]["faithful"]
