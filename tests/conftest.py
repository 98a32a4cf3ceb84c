"""torch is imported once, before any test forks; the process that forks never trains."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus_board.warm import warm
from tests.launch import forked

TASKS = Path("/proc/self/task")


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    warm()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test marked `apart` runs in a forked child: operators start threads, and later children would lack them."""
    if pyfuncitem.get_closest_marker("apart") is None:
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    def run() -> int:
        pyfuncitem.obj(**arguments)
        return 0

    ran = forked(pyfuncitem.funcargs["tmp_path_factory"].mktemp("apart"), run)
    if ran.status != 0:
        pytest.fail(f"status {ran.status}\n{ran.out}{ran.err}", pytrace=False)
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("apart") is not None:
            if "tmp_path_factory" not in item.fixturenames:
                item.fixturenames.append("tmp_path_factory")


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    yield
    if sys.platform == "linux":
        names = [(TASKS / task / "comm").read_text().strip() for task in os.listdir(TASKS)]
        assert len(names) == 1, f"threads {names} in the process that forks: mark the test `apart`"
