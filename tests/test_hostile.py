"""Programs and surroundings that would break a careless watcher. Each ends in one clear line, or in what plain Python does."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.launch import PROGRAMS, Result, Running, explained, line_of, nanscope, placed, plain, real, watched

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


# ---- the command line


def test_no_script(tmp_path: Path) -> None:
    ran = nanscope(tmp_path, "run")
    assert (ran.status, ran.out) == (2, "")
    assert "SCRIPT" in ran.err


def test_script_that_does_not_exist(tmp_path: Path) -> None:
    refused(watched(tmp_path, Path("nowhere.py")), "no such script", "nowhere.py")


def test_folder_as_script(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    refused(watched(tmp_path, Path("package")), "package is a folder", "-m MODULE")


def test_script_that_cannot_be_decoded(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_bytes(b"print('\xff\xfe')\n")
    ran = watched(tmp_path, Path("program.py"))
    assert ran.status == 2
    assert "does not parse" in ran.err and "Traceback" not in ran.err


def test_script_of_null_bytes(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_bytes(bytes(64))
    ran = watched(tmp_path, Path("program.py"))
    assert ran.status == 2
    assert "does not parse" in ran.err and "Traceback" not in ran.err


def test_script_that_does_not_parse(tmp_path: Path) -> None:
    ran = watched(tmp_path, "x = 1\ndef f(:\n    pass\n")
    assert (ran.status, ran.out) == (2, "")
    assert "does not parse" in ran.err
    assert 'program.py", line 2' in ran.err
    assert "SyntaxError" in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "run").exists()


def test_empty_script(tmp_path: Path) -> None:
    ran = watched(tmp_path, "")
    healthy(ran, steps=0)
    assert "no training step was seen" in ran.err


def test_option_that_does_not_exist(tmp_path: Path) -> None:
    placed(tmp_path, "print('ran')")
    ran = nanscope(tmp_path, "run", "--on-trap", "skip", "program.py")
    assert (ran.status, ran.out) == (2, "")
    assert "--on-trap" in ran.err


def test_value_that_does_not_exist(tmp_path: Path) -> None:
    ran = watched(tmp_path, "print('ran')", options=("--on-trip", "explode"))
    assert (ran.status, ran.out) == (2, "")
    assert "explode" in ran.err and "skip" in ran.err


@pytest.mark.parametrize("count", ["-1", "many", "99999999999999999999"])
def test_number_that_is_none(tmp_path: Path, count: str) -> None:
    ran = watched(tmp_path, "print('ran')", options=(f"--diagnose-first={count}",))
    assert (ran.status, ran.out) == (2, "")
    assert "diagnose-first" in ran.err


def test_arguments_belong_to_the_script(tmp_path: Path) -> None:
    program = """
        import argparse, sys
        parser = argparse.ArgumentParser()
        parser.add_argument("--json")
        parser.add_argument("--out", default="none")
        parser.add_argument("-m", type=int)
        parser.add_argument("rest", nargs="*")
        print(vars(parser.parse_args()), sys.argv)
    """
    arguments = ("--json", "x", "-m", "3", "a b", "--", "--on-trip", "")
    bare = plain(tmp_path / "plain", program, *arguments)
    seen = watched(tmp_path / "watched", program, *arguments)
    assert "'json': 'x'" in bare.out
    assert seen.out == bare.out
    assert not (seen.folder / "x").exists() and not (seen.folder / "none").exists()


# ---- how a script ends


def test_script_that_raises(tmp_path: Path) -> None:
    program = f"{LOOP}train(2)\ndef fail():\n    raise RuntimeError('of its own')\nfail()\n"
    ran = watched(tmp_path, program)
    healthy(ran, steps=2, status=1)
    script = tmp_path / "program.py"
    assert ran.err.startswith(
        "Traceback (most recent call last):\n"
        f'  File "{script}", line 7, in <module>\n    fail()\n'
        f"  File \"{script}\", line 6, in fail\n    raise RuntimeError('of its own')\n"
        "RuntimeError: of its own\n"
    )


def test_traceback_through_torch_has_no_frame_of_ours(tmp_path: Path) -> None:
    """The model call, the backward and the step that fail were patched."""
    for number, statement in enumerate((
        "torch.nn.Linear(2, 2)(torch.ones(3))",
        "torch.ones(2, requires_grad=True).backward()",
        "torch.ones(2).log_(3, 4, 5)",
        "torch.optim.SGD(torch.nn.Linear(1, 1).parameters(), lr=1.0).step(1, 2, 3)",
        "torch.utils.checkpoint.checkpoint(torch.nn.Linear(2, 2), torch.ones(3), use_reentrant=False)",
    )):  # fmt: skip
        folder = tmp_path / str(number)
        ran = watched(folder, f"import torch, torch.utils.checkpoint\n{statement}\n")
        assert ran.status == 1
        assert "Traceback" in ran.err and "line 2, in <module>" in ran.err
        assert "nanscope/" not in ran.err, ran.err
        explained(folder)


def test_exception_with_a_cause(tmp_path: Path) -> None:
    program = """
        try:
            {}["key"]
        except KeyError as error:
            raise ValueError("from it") from error
    """
    ran = watched(tmp_path, program)
    assert ran.status == 1
    assert "KeyError: 'key'" in ran.err and "direct cause" in ran.err and "ValueError: from it" in ran.err
    assert "nanscope/" not in ran.err


def test_exception_group(tmp_path: Path) -> None:
    ran = watched(tmp_path, "raise ExceptionGroup('several', [ValueError('a'), TypeError('b')])")
    assert ran.status == 1
    assert "ValueError: a" in ran.err and "TypeError: b" in ran.err


def test_exception_of_no_known_kind(tmp_path: Path) -> None:
    ran = watched(tmp_path, f"{LOOP}train(2)\nclass Odd(BaseException): pass\nraise Odd('odd')\n")
    healthy(ran, steps=2, status=1)
    assert "Odd: odd" in ran.err and "nanscope/" not in ran.err


def test_exception_hook_of_the_script(tmp_path: Path) -> None:
    program = "import sys\nsys.excepthook = lambda kind, error, tb: print('hooked', kind.__name__)\nraise ValueError\n"
    ran = watched(tmp_path, program)
    assert ran.status == 1
    assert ran.out == "hooked ValueError\n"


@pytest.mark.parametrize(
    ("statement", "status", "said"),
    [
        ("sys.exit(3)", 3, ""),
        ("sys.exit('a text')", 1, "a text\n"),
        ("sys.exit(None)", 0, ""),
        ("sys.exit(0)", 0, ""),
        ("sys.exit(256 + 7)", 7, ""),
        ("sys.exit(-1)", 255, ""),
        ("sys.exit(True)", 1, ""),
        ("sys.exit([1, 2])", 1, "[1, 2]\n"),
        ("exit()", 0, ""),
        ("exit(4)", 4, ""),
        ("raise SystemExit", 0, ""),
    ],
)
def test_exit(tmp_path: Path, statement: str, status: int, said: str) -> None:
    ran = watched(tmp_path, f"{LOOP}train(2)\n{statement}\nprint('never')\n")
    healthy(ran, steps=2, status=status)
    assert "never" not in ran.out
    assert ran.err.startswith(f"{said}nanscope: 2 steps, nothing found")


def test_os_exit(tmp_path: Path) -> None:
    ran = watched(tmp_path, f"import os\n{LOOP}train(3)\nos._exit(5)\n")
    assert ran.status == 5
    assert explained(tmp_path)["verdict"] == "finite"


def test_sigkill_by_its_own_hand(tmp_path: Path) -> None:
    ran = watched(tmp_path, f"import os, signal\n{LOOP}train(3)\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert ran.status == -signal.SIGKILL
    assert explained(tmp_path)["verdict"] == "finite"


def test_never_trains(tmp_path: Path) -> None:
    ran = watched(tmp_path, "import torch\nprint(torch.ones(2).sum().item())\n")
    healthy(ran, steps=0)
    assert ran.out == "2.0\n"
    assert "no training step was seen" in ran.err


def test_exit_after_a_trip_that_was_swallowed(tmp_path: Path) -> None:
    """`except BaseException` swallows the stop; the report is there all the same."""
    program = f"{LOOP}try:\n    train(4, bad=2)\nexcept BaseException:\n    print('swallowed')\nsys.exit(0)\n"
    ran = watched(tmp_path, program)
    assert "swallowed" in ran.out
    found_bad_line(ran)


def test_interrupt(tmp_path: Path) -> None:
    waiting = (
        "import signal\ntry:\n    print('waiting', flush=True)\n    signal.pause()\nfinally:\n    print('closed')\n"
    )
    running = Running(tmp_path, f"{LOOP}train(3)\n{waiting}")
    running.wait_for(lambda out: "waiting" in out)
    assert running.kill(signal.SIGINT) == 130
    assert (tmp_path / "stdout").read_text().endswith("closed\n")
    err = (tmp_path / "stderr").read_text()
    assert "KeyboardInterrupt" in err and "nanscope/" not in err
    report = explained(tmp_path)
    assert (report["verdict"], report["run"]["steps"]) == ("finite", 3)


@pytest.mark.parametrize("where", ["forward", "backward", "step", "between", "replay"])
def test_interrupt_in_the_middle_of(tmp_path: Path, where: str) -> None:
    """Where the signal arrives is decided by the program, not by a clock."""
    program = f"""
        import signal
        import torch

        def interrupt(where):
            if where == {where!r} and step == 2:
                signal.raise_signal(signal.SIGINT)

        class Model(torch.nn.Linear):
            calls = 0
            def forward(self, x):
                Model.calls += 1
                interrupt("forward")
                if Model.calls == 4:
                    interrupt("replay")
                return super().forward(x)

        class Sgd(torch.optim.SGD):
            def step(self, closure=None):
                interrupt("step")
                super().step(closure)

        model = Model(2, 1)
        model.weight.register_hook(lambda grad: interrupt("backward"))
        opt = Sgd(model.parameters(), lr=0.01)
        for step in range(5):
            loss = model(torch.randn(4, 2)).square().mean()
            if {where!r} == "replay" and step == 2:
                loss = (loss - 1000).log()
            interrupt("between")
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
    ran = watched(tmp_path, program)
    assert ran.status in ({1, 130} if where == "replay" else {130}), ran.err
    assert "Traceback" not in ran.err or "KeyboardInterrupt" in ran.err
    assert "nanscope/" not in ran.err.replace("nanscope/run", "")
    assert explained(tmp_path)["run"]["steps"] == 2


def test_terminated(tmp_path: Path) -> None:
    running = Running(tmp_path, f"{LOOP}train(10**9)\n")
    running.wait_for(lambda out: "step 20" in out)
    assert running.kill(signal.SIGTERM) == -signal.SIGTERM
    assert explained(tmp_path)["verdict"] == "finite"


# ---- modules


def package(folder: Path) -> None:
    (folder / "pack").mkdir(parents=True)
    (folder / "pack" / "__init__.py").write_text("where = 'pack'\n")
    (folder / "pack" / "__main__.py").write_text(
        f"from . import where\n{LOOP}print(__name__, where, __spec__.name, sys.argv[1:])\ntrain(4)\n"
    )
    (folder / "pack" / "bad.py").write_text(f"{LOOP}print(__name__, __package__)\ntrain(4, bad=2)\n")
    (folder / "pack" / "broken.py").write_text("def f(:\n")
    (folder / "empty").mkdir()
    (folder / "empty" / "__init__.py").write_text("")
    (folder / "failing").mkdir()
    (folder / "failing" / "__init__.py").write_text("raise RuntimeError('at import')\n")
    (folder / "failing" / "__main__.py").write_text("")


def module(folder: Path, *argv: str) -> Result:
    package(folder)
    return nanscope(folder, "run", "--out", "run", "-m", *argv)


def test_package(tmp_path: Path) -> None:
    ran = module(tmp_path, "pack", "--json", "x")
    healthy(ran)
    assert ran.out.startswith("__main__ pack pack.__main__ ['--json', 'x']\n")


def test_module_of_a_package(tmp_path: Path) -> None:
    ran = module(tmp_path, "pack.bad")
    assert ran.out.startswith("__main__ pack\n")
    found_bad_line(ran)


@pytest.mark.parametrize("name", ["nowhere", "nowhere.at.all", "pack.nowhere", "..", "pack."])
def test_module_that_does_not_exist(tmp_path: Path, name: str) -> None:
    refused(module(tmp_path, name), "no module named", name)


def test_package_without_main(tmp_path: Path) -> None:
    refused(module(tmp_path, "empty"), "empty", "__main__")


def test_module_that_is_not_python(tmp_path: Path) -> None:
    refused(module(tmp_path, "math"), "math is not written in Python")


def test_module_that_does_not_parse(tmp_path: Path) -> None:
    ran = module(tmp_path, "pack.broken")
    assert ran.status == 2
    assert "does not parse" in ran.err and "broken.py" in ran.err and "Traceback" not in ran.err


def test_package_that_fails_at_import(tmp_path: Path) -> None:
    ran = module(tmp_path, "failing")
    assert ran.status == 2
    assert "failing" in ran.err and "RuntimeError" in ran.err and "at import" in ran.err
    assert "nanscope/" not in ran.err


# ---- what a script finds around itself


def test_main_guard_and_names_of_main(tmp_path: Path) -> None:
    program = '''
        """A docstring."""
        import sys, pickle
        class Kept:
            pass
        if __name__ == "__main__":
            print(__file__.rsplit("/", 1)[1], __doc__, sys.argv)
            print(sys.modules["__main__"].Kept is Kept, type(pickle.loads(pickle.dumps(Kept()))) is Kept)
            print(sorted(k for k in globals() if k.startswith("__")))
    '''
    seen = watched(tmp_path, program)
    bare = real(tmp_path, sys.executable, "program.py")
    assert bare.stdout.startswith("program.py A docstring. ['program.py']\nTrue True\n")
    assert seen.out == bare.stdout


def test_neighbours_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "neighbour.py").write_text("name = 'neighbour'\n")
    (tmp_path / "deep" / "program.py").write_text("import sys\nfrom neighbour import name\nprint(name, sys.path[0])\n")
    ran = watched(tmp_path, Path("deep/program.py"))
    assert ran.out == f"neighbour {tmp_path / 'deep'}\n"


def test_neighbours_of_a_linked_script(tmp_path: Path) -> None:
    """Python puts the folder of the real file on the path."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "neighbour.py").write_text("name = 'neighbour'\n")
    (tmp_path / "deep" / "program.py").write_text("from neighbour import name\nprint(name)\n")
    (tmp_path / "link.py").symlink_to("deep/program.py")
    assert watched(tmp_path, Path("link.py")).out == "neighbour\n"


def test_search_path_is_that_of_plain_python(tmp_path: Path) -> None:
    """Neither the folder of the console script nor the working directory is added."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "program.py").write_text("import sys\nprint(sys.path)\n")
    bare = real(tmp_path, sys.executable, "deep/program.py")
    for command in ([Path(sys.executable).parent / "nanscope"], COMMAND):
        seen = real(tmp_path, *command, "run", "deep/program.py")
        assert (seen.returncode, seen.stdout) == (0, bare.stdout), seen.stderr


def test_script_that_changes_its_working_directory(tmp_path: Path) -> None:
    """The run folder, the report and the rerun stay where they were asked for."""
    (tmp_path / "elsewhere").mkdir()
    program = f"import os\n{LOOP}os.chdir('elsewhere')\ntrain(4, bad=2)\n"
    ran = watched(tmp_path, program, options=("--json", "report.json"))
    found_bad_line(ran)
    assert (tmp_path / "report.json").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_rerun_of_a_script_that_changes_its_working_directory(tmp_path: Path) -> None:
    """A step that a tape cannot replay (a counter of the script decides) is run again from where the run began."""
    (tmp_path / "elsewhere").mkdir()
    program = """
        import os
        import torch
        os.chdir("elsewhere")
        count = 0
        class Model(torch.nn.Linear):
            def forward(self, x):
                global count
                count += 1
                return (super().forward(x).square() * (-1 if count == 3 else 1)).log()  # BAD
        model = Model(2, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(5):
            loss = model(torch.ones(4, 2)).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    """
    ran = watched(tmp_path, program)
    assert (ran.status, ran.found["trip"]["step"]) == (1, 2)
    assert ran.found["replay"]["method"] == "rerun", ran.found["warnings"]
    assert ran.found["origin"]["line"] == line_of(program, "# BAD")


def test_working_directory_that_is_gone(tmp_path: Path) -> None:
    program = f"import os, shutil\n{LOOP}os.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')\ntrain(4, bad=2)\n"
    found_bad_line(watched(tmp_path, program))


def test_script_that_deletes_its_source(tmp_path: Path) -> None:
    found_bad_line(watched(tmp_path, f"import os\nos.remove(__file__)\n{LOOP}train(4, bad=2)\n"))


def test_faulty_script_that_deletes_its_source(tmp_path: Path) -> None:
    """The line is known by number even when its text is gone."""
    source = (
        TRAINING.read_text()
        .replace("import sys", "import os, sys", 1)
        .replace("torch.manual_seed(0)", "os.remove(__file__)")
    )
    ran = watched(tmp_path, source, "2")
    found_bad_line(ran)


def test_path_with_spaces_and_letters(tmp_path: Path) -> None:
    folder = tmp_path / "a folder, 손실 é ☃"
    folder.mkdir()
    (folder / "mein prögramm 学習.py").write_text(f"{LOOP}train(4, bad=2)\n")
    ran = watched(folder, Path("mein prögramm 학습.py".replace("학습", "学習")))
    found_bad_line(ran)
    assert ran.found["run"]["script"] == "mein prögramm 学習.py"


def test_path_that_is_no_text(tmp_path: Path) -> None:
    """A file name need not be UTF-8."""
    name = os.fsdecode(b"\xff\xfe.py")
    (tmp_path / name).write_text(f"{LOOP}train(2)\n")
    ran = watched(tmp_path, Path(name))
    refused(ran, "not valid UTF-8", r"\udcff\udcfe.py")


def test_stdin_belongs_to_the_script(tmp_path: Path) -> None:
    ran = watched(tmp_path, f"{LOOP}print(sorted(sys.stdin.read().split()))\ntrain(4, bad=2)\n", stdin="b a\n")
    assert ran.out.startswith("['a', 'b']\n")
    found_bad_line(ran)


def test_closed_stdin_and_stdout(tmp_path: Path) -> None:
    placed(tmp_path, f"{LOOP}sys.stdout = None\nsys.stdin = None\ntrain(4)\n")
    ran = nanscope(tmp_path, "run", "--out", "run", "program.py")
    healthy(ran)


def test_script_that_closes_its_streams(tmp_path: Path) -> None:
    ran = watched(tmp_path, f"{LOOP}train(4)\nsys.stdout.close()\nsys.stderr.close()\n")
    healthy(ran)


def test_output_that_nobody_reads(tmp_path: Path) -> None:
    """`nanscope run program.py | true`."""
    placed(tmp_path, f"{LOOP}train(4, bad=2)\n")
    read, write = os.pipe()
    os.close(read)
    with open(tmp_path / "err", "w") as err:
        ran = subprocess.run(
            [*COMMAND, "run", "--out", "run", "program.py"], cwd=tmp_path, stdout=write, stderr=err, check=False
        )
    os.close(write)
    text = (tmp_path / "err").read_text()
    assert ran.returncode == 1
    assert "BrokenPipeError" in text and "nanscope/" not in text
    assert "Exception ignored" not in text
    explained(tmp_path)


def test_report_that_nobody_reads(tmp_path: Path) -> None:
    """The program prints nothing; the report meets the closed pipe."""
    placed(tmp_path, f"import builtins\nbuiltins.print = lambda *a, **k: None\n{LOOP}train(4, bad=2)\n")
    read, write = os.pipe()
    os.close(read)
    with open(tmp_path / "err", "w") as err:
        ran = subprocess.run(
            [*COMMAND, "run", "--out", "run", "program.py"], cwd=tmp_path, stdout=write, stderr=err, check=False
        )
    os.close(write)
    text = (tmp_path / "err").read_text()
    assert ran.returncode == 1
    assert "Traceback" not in text and "Exception ignored" not in text
    assert explained(tmp_path)["verdict"] == "nonfinite"


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


# ---- the run folder


@pytest.mark.parametrize("out", ["file/run", "/proc/nanscope", "/dev/null", "/dev/null/run", ""])
def test_run_folder_that_cannot_be_made(tmp_path: Path, out: str) -> None:
    (tmp_path / "file").write_text("kept")
    ran = nanscope(tmp_path, "run", f"--out={out}", placed(tmp_path, "print('ran')"))
    refused(ran)
    assert out in ran.err
    assert (tmp_path / "file").read_text() == "kept"


def test_run_folder_that_exists(tmp_path: Path) -> None:
    first = watched(tmp_path, TRAINING)
    healthy(first)
    log = (tmp_path / "run" / "rank-0.log").read_bytes()
    second = watched(tmp_path, TRAINING, 2)
    assert (second.status, second.out) == (2, "")
    assert len(second.err.splitlines()) == 1 and "run" in second.err
    assert (tmp_path / "run" / "rank-0.log").read_bytes() == log


def test_two_runs_make_two_folders(tmp_path: Path) -> None:
    for _ in range(2):
        assert nanscope(tmp_path, "run", TRAINING).status == 0
    folders = list((tmp_path / "nanscope-runs").iterdir())
    assert len(folders) == 2
    for folder in folders:
        assert explained(tmp_path, str(folder))["run"]["steps"] == 4


def test_script_that_deletes_the_run_folder(tmp_path: Path) -> None:
    program = f"import shutil\n{LOOP}shutil.rmtree('run')\ntrain(4, bad=2)\n"
    ran = watched(tmp_path, program, options=("--json", "report.json"))
    assert ran.status == 1
    assert "nanscope/" not in ran.err.replace("nanscope/run", "") and "Traceback" not in ran.err, ran.err
    assert (tmp_path / "report.json").exists()


@pytest.fixture
def full_disk(tmp_path: Path):
    """A file system with room for the first records of a run and no more."""
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "nanscope-test", disk], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip(f"cannot mount a file system: {made.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_full_disk(tmp_path: Path, full_disk: Path) -> None:
    """The program loses nothing; what is lost of the log is counted."""
    program = f"{LOOP}train(500)\nprint('done')\n"
    ran = nanscope(tmp_path, "run", f"--out={full_disk}/run", placed(tmp_path, program))
    assert ran.status == 0, ran.err
    assert ran.out.endswith("step 499\ndone\n")
    assert "Traceback" not in ran.err
    assert "could not be written" in ran.err
    assert explained(tmp_path, f"{full_disk}/run")["run"].get("steps", 0) > 0


def test_full_disk_and_a_fault(tmp_path: Path, full_disk: Path) -> None:
    """The diagnosis is printed although it cannot be kept."""
    program = f"{LOOP}train(500, bad=400)\n"
    ran = nanscope(tmp_path, "run", f"--out={full_disk}/run", "--json", "report.json", placed(tmp_path, program))
    assert ran.status == 1
    assert "Traceback" not in ran.err, ran.err
    assert f"training.py:{line_of(TRAINING, '# BAD')}" in ran.out, ran.err
    assert (tmp_path / "report.json").exists()
    explained(tmp_path, f"{full_disk}/run")


def test_disk_that_is_full_at_the_start(tmp_path: Path, full_disk: Path) -> None:
    with open(full_disk / "filler", "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))
    ran = nanscope(tmp_path, "run", f"--out={full_disk}/run", placed(tmp_path, "print('ran')"))
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1 and "space" in ran.err.lower()


def test_limit_on_the_size_of_files(tmp_path: Path) -> None:
    """RLIMIT_FSIZE: a write past it raises EFBIG, once SIGXFSZ is ignored as Python does."""
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, (8192, {resource.RLIM_INFINITY}))"
    ran = watched(tmp_path, f"import os, resource\n{LOOP}sys.stdout = open(os.devnull, 'w')\n{limit}\ntrain(300)\n")
    assert ran.status == 0, ran.err
    assert "could not be written" in ran.err and "Traceback" not in ran.err
    assert explained(tmp_path)["run"].get("steps", 0) > 0


def test_report_that_cannot_be_written(tmp_path: Path) -> None:
    ran = watched(tmp_path, TRAINING, 2, options=("--json", "nowhere/report.json"))
    assert "cannot write the report" in ran.err and "Traceback" not in ran.err
    found_bad_line(ran)


# ---- what is installed


def stub(tmp_path: Path, name: str, body: str) -> dict[str, str]:
    (tmp_path / "stubs" / name).mkdir(parents=True)
    (tmp_path / "stubs" / name / "__init__.py").write_text(body)
    return {"PYTHONPATH": str(tmp_path / "stubs")}


def test_torch_that_is_not_installed(tmp_path: Path) -> None:
    missing = stub(tmp_path, "torch", "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    placed(tmp_path, "print('ran')")
    ran = real(tmp_path, *COMMAND, "run", "--out", "run", "program.py", environment=missing)
    refused(Result(tmp_path, ran.returncode, ran.stdout, ran.stderr), "torch is not installed", "pip install torch")


@pytest.mark.parametrize(
    "raised", ["ImportError('libcudart.so.13: cannot open shared object file')", "OSError('no libtorch')"]
)
def test_torch_that_cannot_be_loaded(tmp_path: Path, raised: str) -> None:
    broken = stub(tmp_path, "torch", f"raise {raised}\n")
    placed(tmp_path, "print('ran')")
    ran = real(tmp_path, *COMMAND, "run", "--out", "run", "program.py", environment=broken)
    refused(Result(tmp_path, ran.returncode, ran.stdout, ran.stderr), "torch cannot be imported", raised.split("'")[1])


def test_numpy_that_is_not_installed(tmp_path: Path) -> None:
    """torch does without it."""
    missing = stub(tmp_path, "numpy", "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n")
    placed(tmp_path, f"{LOOP}train(4, bad=2)\n")
    ran = real(tmp_path, *COMMAND, "run", "--out", "run", "program.py", environment=missing)
    found_bad_line(Result(tmp_path, ran.returncode, ran.stdout, ran.stderr))


def test_script_named_as_a_module_of_ours(tmp_path: Path) -> None:
    """A neighbour called `signals` or `clock` is the script's, not nanscope's."""
    for name in ("signals", "clock", "stop", "run", "folder", "watch", "trip"):
        (tmp_path / f"{name}.py").write_text(f"who = 'the script: {name}'\n")
    ran = watched(
        tmp_path,
        f"import signals, clock, stop, run, folder, watch, trip\nprint(signals.who, trip.who)\n{LOOP}train(4, bad=2)\n",
    )
    assert ran.out.startswith("the script: signals the script: trip\n")
    found_bad_line(ran)
