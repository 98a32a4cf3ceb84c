"""Programs that would break a careless watcher. Each ends in one clear line, or in what plain Python does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile import COMMAND, LOOP, TRAINING, found_bad_line, healthy, refused
from tests.launch import Result, Running, explained, line_of, nanscope, placed, plain, real, watched

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
