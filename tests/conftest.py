"""torch is imported once, before any test forks; the process that forks never trains."""

import contextlib
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus_board.warm import warm
from tests.launch import forked

TASKS = Path("/proc/self/task")
THREAD_SECONDS = 2.0


@pytest.fixture(scope="session", autouse=True)
def _warm() -> None:
    warm()
    child = os.fork()  # the threads that OpenBLAS starts when NumPy is imported end with the first fork
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


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
def _as_new() -> Iterator[None]:
    """A test leaves the process as children need it: one thread, and no start method chosen. The kernel removes a thread some time
    after it has told whoever joins it."""
    yield
    if sys.platform == "linux":
        until = time.monotonic() + THREAD_SECONDS
        while len(names := threads()) > 1 and time.monotonic() < until:
            time.sleep(0.001)
        python = [thread.name for thread in threading.enumerate()]
        assert len(names) == 1, f"threads {names} (Python's: {python}) in the process that forks: mark the test `apart`"
    method = multiprocessing.get_start_method(allow_none=True)
    assert method is None, f"the start method is {method} in the process that forks: mark the test `apart`"


def threads() -> list[str]:
    names = []
    for task in os.listdir(TASKS):
        with contextlib.suppress(OSError):  # ended since
            names.append((TASKS / task / "comm").read_text().strip())
    return names
