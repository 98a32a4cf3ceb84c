"""`--heal` of programs of several ranks: the fix is made in all of them, or in none."""

from __future__ import annotations

import os
import re
import textwrap
import time
from pathlib import Path

import pytest

from nanscope.distributed.peers import Peers
from tests.launch import Result, plain, watched
from tests.test_ranks import DDP, started_by_another

FUNCTION = (
    textwrap.dedent(DDP)
    .replace("net(x.log()).square().mean()", "loss_of(net, x)")
    .replace(
        "def main(",
        "def loss_of(net, x):\n    return net(x.log()).square().mean()\n\ndef main(",
    )
)
LAUNCHED = FUNCTION + "main(int(os.environ['RANK']), os.environ['MASTER_PORT'], 6, (1, 2))\n"
AS_HEALED = FUNCTION.replace("net(x.log())", "net(x.clamp(min=1e-12).log())").replace(
    "opt.step()", "step == 2 or opt.step()"
)


def last(out: str) -> list[str]:
    """What the ranks have trained, as they printed it at their end; two lines may be mixed."""
    return re.findall(r"\['[^]]*'\]", out)


def goes_on(ran: Result, folder: Path) -> None:
    """Both ranks end, as if the program had been written with the fix and had left the update of step 2 out."""
    assert ran.err.count("the fix floor-argument was made in memory in all ranks") == 2, ran.err
    assert (ran.found["run"]["steps"], ran.found["trip"]["step"], ran.status) == (6, 2, 1)
    assert ran.found["fixes"][0]["proof"]["proved"] and ran.found["origin"]["rank"] == 1
    (folder / "healed").mkdir()
    expected = plain(folder / "healed", AS_HEALED + START)
    assert len(last(ran.out)) == 2 and last(ran.out) == last(expected.out), expected.err


START = """
if __name__ == "__main__":
    mp.start_processes(main, (port(), 6, (1, 2)), 2, start_method="fork")
"""


def test_ranks_that_nanscope_launches_go_on_with_the_fix(tmp_path: Path) -> None:
    goes_on(watched(tmp_path, LAUNCHED, options=("--nproc-per-node", "2", "--heal"), budget=60), tmp_path)
    assert (tmp_path / "program.py").read_text() == LAUNCHED.lstrip("\n")


def test_ranks_that_the_program_starts_go_on_with_the_fix(tmp_path: Path) -> None:
    goes_on(watched(tmp_path, FUNCTION + START, options=("--heal",), budget=60), tmp_path)


def test_ranks_of_another_launcher_go_on_with_the_fix(tmp_path: Path) -> None:
    ran = started_by_another(tmp_path, LAUNCHED, "--heal")
    goes_on(ran, tmp_path)
    assert ran.out.count("clamp(min=") == 1  # one of them tells


def test_a_fix_that_one_rank_cannot_make_is_made_in_none(tmp_path: Path) -> None:
    code = (
        LAUNCHED.replace("(1, 2)", "(0, 2)")
        .replace(
            "    for step in range(steps):",
            "    loss = loss_of\n"
            "    if rank == 1:\n"
            "        del globals()['loss_of'], loss\n"
            "        loss = lambda net, x: net(x.log()).square().mean()\n"
            "    for step in range(steps):",
        )
        .replace("loss = loss_of(net, x)", "value = loss(net, x)")
        .replace("loss.backward()", "value.backward()")
    )
    ran = watched(tmp_path, code, options=("--nproc-per-node", "2", "--heal"), budget=60)
    assert "no function loss_of was found" in ran.err and "it cannot be made in another rank" in ran.err, ran.err
    assert "made in memory" not in ran.err and last(ran.out) == []
    assert ran.found["fixes"][0]["proof"]["proved"] and ran.status == 1


def test_without_a_proved_fix_all_ranks_end(tmp_path: Path) -> None:
    ran = watched(tmp_path, LAUNCHED, options=("--nproc-per-node", "2", "--heal"))
    assert ran.err.count("no fix was made: none is proved") == 2 and ran.status == 1 and last(ran.out) == [], ran.err


@pytest.mark.parametrize("says", [(True, True), (True, False), (False, False)])
def test_ranks_agree_only_where_all_do(tmp_path: Path, says: tuple[bool, bool]) -> None:
    assert together(tmp_path, *says) == [all(says)] * 2


def together(folder: Path, *says: bool) -> list[bool]:
    """What each rank is told."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(says)) as pool:
        asked = [
            pool.submit(Peers(str(folder), rank, len(says)).agree, "this", yes, 20.0) for rank, yes in enumerate(says)
        ]
        return [answer.result() for answer in asked]


def test_a_rank_that_comes_too_late_is_told_what_was_agreed(tmp_path: Path) -> None:
    assert not Peers(str(tmp_path), 0, 2).agree("this", True, 0.05)
    assert not Peers(str(tmp_path), 1, 2).agree("this", True, 0.05)


def test_nobody_waits_for_a_rank_that_has_died(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        Peers(str(tmp_path), 0, 2).announce(3)
        os._exit(0)
    os.waitpid(child, 0)
    here, start = Peers(str(tmp_path), 1, 2), time.monotonic()
    assert not here.agree("this", True, 60.0)
    assert here.wait_for("heal-3-found-by-rank-0", 0, 60.0) == {}
    assert time.monotonic() - start < 30.0
