"""What is tried on the failing step: what came of it, what it costs, and that nothing is left behind."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

import nanscope
from tests.corpus_board.case import load
from tests.launch import PROGRAMS, Result, explained, forked, line_of, placed, plain
from tests.launch import nanscope as command

PARTS = PROGRAMS / "experiments"
KEPT = PROGRAMS / "modes" / "put_back_experiments.py"


def experimented(
    folder: Path, program: Path | str, *args: object, budget: float = 240, on_trip: str = "stop"
) -> Result:
    """The program inside `nanscope.watch`, which proves no fixes, so that what is seen is the experiments' doing."""
    path = placed(folder, program)

    def action() -> int:
        sys.argv = [str(path), *map(str, args)]
        with nanscope.watch(out="run", quiet=True, budget=budget, on_trip=on_trip):  # type: ignore[arg-type]
            runpy.run_path(str(path), run_name="__main__")
        return 0

    return forked(folder, action)


def tried(report: dict[str, Any]) -> dict[str, Any]:
    """Experiments by id."""
    return {experiment["id"]: experiment for experiment in report.get("experiments", [])}


# ---- precision


@pytest.fixture(scope="module")
def inverse(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of the matrix inverse under autocast."""
    case = next(case for case in load() if case.id == "S01")
    return experimented(tmp_path_factory.mktemp("inverse"), case.source).found


def test_the_island_is_the_product_and_nothing_else(inverse: dict[str, Any]) -> None:
    assert "torch.matmul(inv, rhs)" in inverse["origin"]["code"]
    assert inverse["island"]["members"] == [f"program.py:{inverse['origin']['line']}"]
    assert inverse["island"]["minimal"]
    assert inverse["island"]["replays"] <= 10


def test_other_ways_are_told_with_their_cost(inverse: dict[str, Any]) -> None:
    found = tried(inverse)
    for name in ("float64", "line-float32", "autocast-off", "autocast-bfloat16"):
        assert found[name]["finite"], name
        assert found[name]["time_ratio"] > 0 and found[name]["memory_ratio"] > 0, name
        assert found[name]["steps"] == 1
    assert found["float64"]["reference_error"] == 0
    assert 0 < found["line-float32"]["reference_error"] < 1e-2 < found["autocast-bfloat16"]["reference_error"]
    # All in float64, and all in float32, take more memory than one product in float32.
    assert (
        found["float64"]["memory_ratio"] > found["autocast-off"]["memory_ratio"] > found["line-float32"]["memory_ratio"]
    )


@pytest.mark.parametrize("planted", [[17], [199], [40, 160], [3, 90, 91], [0, 50, 101, 150, 199]], ids=str)
def test_a_planted_island_is_found_exactly(planted: list[int], tmp_path: Path) -> None:
    report = experimented(tmp_path, PARTS / "island.py", *planted).found
    island = report["island"]
    line = line_of(PARTS / "island.py", "x @ self.weight")
    assert [member.partition(" ")[0] for member in island["members"]] == [str(number) for number in planted]
    assert all(member.endswith(f"island.py:{line})") for member in island["members"])
    assert island["minimal"]
    assert island["replays"] <= 60
    assert island["replays"] <= 4 * len(planted) + 9, "births were followed"


# ---- samples


@pytest.mark.parametrize("guilty", [[0], [255], [3, 200], [7, 8, 100, 180, 254]], ids=str)
@pytest.mark.parametrize("kind", ["rows", "coupled", "late"])
def test_guilty_samples_are_found(kind: str, guilty: list[int], tmp_path: Path) -> None:
    report = experimented(tmp_path, PARTS / "samples.py", kind, *guilty).found
    found = tried(report)["batch-without"]
    assert found["finite"]
    assert found["change"].startswith(f"without sample{'s' * (len(guilty) > 1)} {', '.join(map(str, guilty))} of 256")
    assert replays(found) <= 2 * len(guilty) + 3
    assert "by itself" in found["note"]
    assert ("couples" in found["note"]) == (kind == "coupled")


def test_a_guilty_sample_without_rows_is_found_by_halving(tmp_path: Path) -> None:
    found = tried(experimented(tmp_path, PARTS / "samples.py", "hidden", 77, 78).found)["batch-without"]
    assert found["change"].startswith("without samples 77, 78 of 256")
    assert replays(found) <= 30


def replays(experiment: dict[str, Any]) -> int:
    return int(experiment["note"].partition(" replays")[0].rpartition(" ")[2])


# ---- kernels and scales


def test_kernels_and_checkpointing_are_tried(tmp_path: Path) -> None:
    found = tried(experimented(tmp_path, PARTS / "attention.py").found)
    assert {"attention-math", "attention-flash-attention", "checkpointing-off", "again"} <= found.keys()
    assert not any(experiment["finite"] for experiment in found.values())
    assert "equal to the bit" in found["again"]["note"]
    assert "no sample in particular" in found["batch-any"]["note"]


def test_the_scale_that_fits_is_advised_and_tried(tmp_path: Path) -> None:
    report = experimented(tmp_path, PARTS / "static_scale.py", 2.0**20).found
    assert report["causes"][0]["id"] == "loss-scale-overflow"
    found = tried(report)
    assert found["loss-scale-smaller"]["finite"] and not found["loss-scale-larger"]["finite"]
    advice = next(fix for fix in report["fixes"] if fix["id"] == "loss-scale")
    assert advice["safety"] == "advice"
    scale = int(advice["summary"].split()[4])
    assert 64 <= scale < 2**20 and scale & (scale - 1) == 0
    assert "0 % infinite" in advice["summary"]
    fits = experimented(tmp_path / "fits", PARTS / "static_scale.py", scale)
    assert fits.found["verdict"] == "finite", "the advice was followed"


# ---- the budget


def test_without_a_budget_nothing_is_tried(tmp_path: Path) -> None:
    report = experimented(tmp_path, PARTS / "attention.py", budget=0).found
    assert "experiments" not in report and "island" not in report


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    program = """
        import time, torch
        from torch import nn

        class Slow(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.ones(4))

            def forward(self, x):
                time.sleep(0.4)
                return (self.weight * x - 9.0).log()

        model = Slow()
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.rand(3, 4)).sum().backward()
        opt.step()
    """
    report = experimented(tmp_path, program, budget=4).found
    assert any("2 s for experiments were spent before:" in warning for warning in report["warnings"])


def test_a_folder_can_be_explained_with_what_was_tried(tmp_path: Path) -> None:
    report = experimented(tmp_path, PARTS / "attention.py").found
    assert explained(tmp_path)["experiments"] == report["experiments"]
    korean = command(tmp_path, "explain", "run", "--lang", "ko").out
    assert "체크포인팅 끄기" in korean and "checkpointing off" not in korean


# ---- nothing is left behind


def test_training_goes_on_as_if_nothing_had_been_tried(tmp_path: Path) -> None:
    by_hand = plain(tmp_path / "plain", KEPT, "left out")
    assert by_hand.status == 0, by_hand.err
    for budget in (0, 60):
        skipped = experimented(tmp_path / str(budget), KEPT, on_trip="skip", budget=budget)
        assert skipped.out == by_hand.out, (budget, skipped.err)
    found = tried(json.loads((tmp_path / "60" / "run" / "report.json").read_text()))
    assert {"float64", "autocast-off", "checkpointing-off", "attention-math", "again"} <= found.keys()


@pytest.mark.parametrize("path", sorted(KEPT.parent.glob("put_back_*.py")), ids=lambda path: path.stem)
def test_a_program_that_makes_the_bad_step_sees_nothing(path: Path, tmp_path: Path) -> None:
    bare = plain(tmp_path / "plain", path)
    seen = experimented(tmp_path / "watched", path, on_trip="continue")
    assert bare.out.splitlines()[-1].startswith("digest ")
    assert seen.out == bare.out, seen.err
    assert "again" in tried(seen.found)


def test_a_loss_that_is_changed_would_be_seen(tmp_path: Path) -> None:
    """The proof that the comparison above can fail."""
    assert plain(tmp_path / "a", KEPT).out != plain(tmp_path / "b", KEPT, "left out").out
