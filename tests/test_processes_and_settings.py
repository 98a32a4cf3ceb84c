"""Programs with processes and threads of their own, and with settings of torch that change what is seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile import LOOP, TRAINING, found_bad_line, healthy
from tests.launch import PROGRAMS, explained, line_of, plain, watched

# ---- processes and threads


def test_forked_child_that_falls_off_the_end(tmp_path: Path) -> None:
    """Both halves of a fork reach the end of the script; only one is watched."""
    program = f"import os\n{LOOP}train(3)\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\nprint('end', bool(pid), flush=True)\n"
    ran = watched(tmp_path, program)
    healthy(ran, steps=3)
    assert ran.out.endswith("end False\nend True\n")
    assert ran.err == "nanscope: 3 steps, nothing found; run folder run\n"


def test_forked_child_that_trains(tmp_path: Path) -> None:
    program = f"""
        import os
        {LOOP.replace(chr(10), chr(10) + "        ")}
        train(3)
        pid = os.fork()
        if pid == 0:
            train(2, bad=1)
            os._exit(9)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    """
    ran = watched(tmp_path, program)
    healthy(ran, steps=3)
    assert ran.out.endswith("\n9\n")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(tmp_path: Path, method: str) -> None:
    program = f"""
        import multiprocessing, sys
        sys.path.insert(0, {str(PROGRAMS)!r})
        def work(number):
            return number * number
        if __name__ == "__main__":
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                print(pool.map(work, range(4)))
            from training import train
            train(4, bad=2)
    """
    ran = watched(tmp_path, program)
    assert ran.out.startswith("[0, 1, 4, 9]\n"), ran.err
    found_bad_line(ran)


def test_torch_multiprocessing_spawn(tmp_path: Path) -> None:
    program = f"""
        import sys
        sys.path.insert(0, {str(PROGRAMS)!r})
        import torch
        from training import train
        def work(rank):
            print("rank", rank, train(2).weight.isfinite().all().item(), flush=True)
        if __name__ == "__main__":
            torch.multiprocessing.spawn(work, nprocs=1)
            train(4)
    """
    ran = watched(tmp_path, program)
    assert "rank 0 True\n" in ran.out, ran.err
    healthy(ran)


def test_loader_workers_and_a_fault(tmp_path: Path) -> None:
    program = """
        import torch
        from torch.utils.data import DataLoader, TensorDataset
        torch.manual_seed(0)
        x = torch.rand(12, 2)
        x[9, 1] = -1
        model = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.01)
        for (batch,) in DataLoader(TensorDataset(x), batch_size=4, num_workers=2):
            loss = model(batch.log()).mean()  # BAD
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
    ran = watched(tmp_path, program)
    assert ran.status == 1, ran.err
    assert ran.found["origin"]["line"] == line_of(program, "# BAD")
    assert ran.found["trip"]["step"] == 2
    assert explained(tmp_path)["verdict"] == "nonfinite"


def test_training_beside_a_thread(tmp_path: Path) -> None:
    """Tensor work of another thread is no part of the step."""
    program = f"""
        import threading, torch
        {LOOP.replace(chr(10), chr(10) + "        ")}
        done = threading.Event()
        def noise():
            layer = torch.nn.Linear(4, 4)
            while not done.is_set():
                layer(torch.full((2, 4), float("nan"))).sum().backward()
        other = threading.Thread(target=noise)
        other.start()
        try:
            train(30)
        finally:
            done.set()
            other.join()
    """
    healthy(watched(tmp_path, program), steps=30)


# ---- settings of torch that a script may make


@pytest.mark.parametrize(
    "setting",
    [
        "class Mode(torch.overrides.TorchFunctionMode):\n"
        "    def __torch_function__(self, func, types, args=(), kwargs=None):\n"
        "        return func(*args, **(kwargs or {}))\n"
        "with Mode():\n    run()\n",
        "from torch.utils._python_dispatch import TorchDispatchMode\n"
        "class Mode(TorchDispatchMode):\n"
        "    def __torch_dispatch__(self, func, types, args=(), kwargs=None):\n"
        "        return func(*args, **(kwargs or {}))\n"
        "with Mode():\n    run()\n",
        "torch.set_default_device('cpu')\nrun()\n",
        "with torch.device('cpu'):\n    run()\n",
        "torch.set_default_dtype(torch.float64)\nrun()\n",
        "torch.autograd.set_detect_anomaly(True, check_nan=False)\nrun()\n",
        "torch.use_deterministic_algorithms(True)\nrun()\n",
        "import warnings\nwarnings.simplefilter('error')\nrun()\n",
        "import sys\nsys.setrecursionlimit(150)\nrun()\n",
        "import sys\nsys.settrace(lambda *a: None)\nrun()\n",
        "import gc\ngc.disable()\nrun()\n",
        "import numpy\nnumpy.seterr(all='raise')\nrun()\n",
    ],
    ids=["function-mode", "dispatch-mode", "default-device", "device-context", "float64", "anomaly", "deterministic",
         "warnings-are-errors", "shallow-stack", "traced", "no-gc", "numpy-raises"],
)  # fmt: skip
def test_setting(tmp_path: Path, setting: str) -> None:
    def program(bad: str) -> str:
        return (
            f"{LOOP}import torch\ndef run():\n    model = train(4, {bad})\n    print(model.weight.tolist())\n{setting}"
        )

    bare = plain(tmp_path / "plain", program("None"))
    seen = watched(tmp_path / "watched", program("None"))
    assert bare.status == 0, bare.err
    assert seen.out == bare.out
    healthy(seen)
    found_bad_line(watched(tmp_path / "bad", program("2")))


def test_mode_of_the_script_is_on_top_only_while_it_is_meant_to_be(tmp_path: Path) -> None:
    """A mode entered before the loop and left in its middle."""
    program = f"""
        import torch
        {LOOP.replace(chr(10), chr(10) + "        ")}
        class Mode(torch.overrides.TorchFunctionMode):
            seen = 0
            def __torch_function__(self, func, types, args=(), kwargs=None):
                Mode.seen += 1
                return func(*args, **(kwargs or {{}}))
        with Mode():
            train(2)
        before = Mode.seen
        torch.ones(2).sum()
        print(before > 0, Mode.seen == before)
        train(4, bad=2)
    """
    ran = watched(tmp_path, program)
    assert "True True\n" in ran.out
    assert ran.found["origin"]["line"] == line_of(TRAINING, "# BAD")


def test_two_trainings_one_after_the_other(tmp_path: Path) -> None:
    """Steps are counted through; the second training has an optimizer of its own."""
    ran = watched(tmp_path / "bad", f"{LOOP}train(3)\ntrain(4, bad=2)\n")
    assert ran.found["trip"]["step"] == 5
    healthy(watched(tmp_path / "healthy", f"{LOOP}train(3)\ntrain(4)\ntrain(2)\n"), steps=9)
