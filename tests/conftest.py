"""torch is imported once, before any test forks."""

import pytest

from tests.corpus_board.warm import warm


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    warm()
