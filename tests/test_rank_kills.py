"""A rank that dies, freezes or raises: nobody waits for ever, and there is a report. `python -m tests.rank_kills 50` runs more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rank_kills import hit


@pytest.mark.parametrize("seed", range(6))
def test_a_rank_is_hit_at_a_random_moment(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from nanscope.distributed import children, peers
    from nanscope.replay import comm

    # `hit` sets these for the processes that it starts; they are put back here.
    for home, name in (
        (peers, "LEAVE_SECONDS"), (peers, "MEET_SECONDS"), (children, "GRACE_SECONDS"), (children, "KILL_SECONDS"),
        (comm, "TIMEOUT_MILLIS"),
    ):  # fmt: skip
        monkeypatch.setattr(home, name, getattr(home, name))
    found = hit(tmp_path, seed)
    assert found.problem is None, found.line()
