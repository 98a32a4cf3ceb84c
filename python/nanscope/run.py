"""`nanscope run`: a script or module, unchanged, under watch."""

from __future__ import annotations

import glob
import importlib.machinery
import importlib.util
import json
import os
import sys
import time
import traceback
import types
from typing import Any

from nanscope.again import sources

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Refused(Exception):
    """nanscope could not start; the text is the one line that is shown."""


def run(command: Any) -> int:
    """Runs what `command` names. Returns the exit status: the script's own when nothing was found, 1 when something was,
    2 when nanscope could not start."""
    if command.nproc_per_node is not None:
        if command.out and holds_logs(command.out):
            say(sys.stderr, f"nanscope run: {command.out} holds the logs of another run; choose another folder\n")
            return 2
        return launched(command)
    try:
        program = load(command.script, command.module, command.args)
        need_torch()
        watcher = watcher_of(command)
        # The program may change its working directory.
        json_path = command.json if command.json in (None, "-") else os.path.abspath(command.json)
    except Refused as refused:
        sys.stderr.write(f"nanscope run: {refused}\n")
        return 2
    return watched(program, watcher, command, json_path)


def need_torch() -> None:
    """Raises `Refused` where there is no torch."""
    try:
        import torch  # noqa: F401 - the first import of it: what fails here is torch, not nanscope
    except ModuleNotFoundError as error:
        if error.name == "torch":
            raise Refused(
                "torch is not installed in this Python; install it beside nanscope: pip install torch"
            ) from None
        raise Refused(f"torch cannot be imported: {error}") from None
    except (ImportError, OSError) as error:
        raise Refused(f"torch cannot be imported: {error}") from None


def watcher_of(command: Any) -> Any:
    """The watch, not begun yet. Raises `Refused` where there is no run folder."""
    from nanscope.again.process import Again
    from nanscope.again.spare import keep
    from nanscope.distributed import job
    from nanscope.folder import fresh
    from nanscope.watcher import Watcher

    script, place = command.script or command.module, job.place()
    spec = {
        "script": command.script,
        "module": command.module,
        "args": command.args,
        "cwd": os.getcwd(),
        "states": states(),
    }
    again = None if place is not None else Again(spec, keep())
    out = command.out if place is None else job.folder(command.out, os.path.join("nanscope-runs", fresh(script)))
    whole, budget = None, command.budget
    if place is not None and command.on_trip == "heal":
        whole, budget = job.whole(spec, out, budget), 0.0  # nothing is tried by one rank alone
    try:
        return Watcher(
            script=script,
            argv=command.args,
            on_trip=command.on_trip,
            out=out,
            diagnose_first=command.diagnose_first,
            check=command.check or "none",  # `checkpoint` compares for itself
            budget=budget,
            whole=whole,
            lang=command.lang,
            again=again,
            module=command.module is not None,
            part=None if place is None else (*place, os.getcwd()),
        )
    except OSError as error:
        if again is not None:
            again.close()
        raise Refused(str(error)) from None


def states() -> dict[str, Any]:
    """States of the generators that no seed of the program may set; a rerun begins from the same."""
    import random

    version, internal, gauss = random.getstate()
    found: dict[str, Any] = {"random": [version, list(internal), gauss]}
    try:
        import numpy
    except ImportError:  # torch does without it
        return found
    state: Any = numpy.random.get_state(legacy=True)
    name, keys, position, has_gauss, cached = state
    return {**found, "numpy": [name, keys.tolist(), position, has_gauss, cached]}


def watched(program: Program, watcher: Any, command: Any, json_path: str | None) -> int:
    """Executes the program under the watch and tells what was found."""
    from nanscope.stop import Stop

    how, status = "finished", 0
    error: BaseException | None = None
    process = os.getpid()
    watcher.start()
    try:
        program.execute()
    except Stop:
        how = "stopped"
    except SystemExit as exit_:
        how, status = "exited", exit_status(exit_.code)
        if exit_.code is not None and not isinstance(exit_.code, int):
            say(sys.stderr, f"{exit_.code}\n")
    except KeyboardInterrupt as interrupt:
        how, status, error = "raised", 130, interrupt
    except BaseException as raised:  # noqa: BLE001 - shown as Python shows it
        how, status, error = "raised", 1, raised
    flush()
    if error is not None and command.on_trip in ("stop", "heal") and watcher.children.stopped():
        how, error = "stopped", None  # a rank has tripped, and the program was told that it is gone
    watcher.finish(how, status, error)
    if watcher.let_down:
        error = None
    if error is not None:
        program.print_traceback(error)
    if os.getpid() != process:  # a child that the program has forked: the watch is its parent's
        flush()
        return status
    if watcher.run_folder.is_part:
        from nanscope.distributed import job

        ended = watcher.stopped or watcher.let_down
        if not job.told_here(watcher):
            # torch's launcher takes a failed rank for an error of its own to show.
            return 1 if ended and not os.environ.get(job.LAUNCHED) else status
        watcher.tell_all()
        if watcher.report is not None and command.budget > 0:
            from nanscope.fixes.job import Job, offer

            folder = watcher.run_folder
            if offer(Job(folder.place, folder.path, folder.info["cwd"], folder.started), watcher.report):
                watcher.tell_all()
    return tell(watcher, command, json_path, status)


def launched(command: Any) -> int:
    """`--nproc-per-node`: the ranks are processes of their own; this one tells what they found."""
    from nanscope import _core
    from nanscope.distributed.launch import launch
    from nanscope.folder import fresh

    folder = command.out or os.path.join("nanscope-runs", fresh(command.script or command.module))
    since = time.time_ns()
    report, status = launch(command, folder)
    if report is None:
        return status or 2
    found = report["verdict"] != "finite"
    if found and command.budget > 0:
        report = proved(command, folder, report, since)
    show(report, command.json)
    if command.json != "-":
        if found:
            say(sys.stdout, _core.render(json.dumps(report), colour(command.color), folder=folder, lang=command.lang))
        else:
            say(sys.stderr, f"nanscope: {finished(report['run']['steps'], folder, command.lang)}\n")
    flush()
    return 1 if found else status


def proved(command: Any, folder: str, report: dict[str, Any], since: int) -> dict[str, Any]:
    """The report of a job that nanscope has launched, with the fixes that were tried; the job began at `since`."""
    from nanscope.distributed.launch import told

    try:
        need_torch()
    except Refused as refused:
        sys.stderr.write(f"nanscope run: {refused}\n")
        return report
    from nanscope.again.process import Again
    from nanscope.again.spare import keep
    from nanscope.fixes.job import Job, prove

    spec = {
        "script": command.script, "module": command.module, "args": command.args, "cwd": os.getcwd(),
        "launched": command.nproc_per_node,
    }  # fmt: skip
    again = Again(spec, keep())
    try:
        news = prove(Job(os.path.abspath(folder), folder, os.getcwd(), since), report, again, command.budget)
    finally:
        again.close()
    return told(folder, command.lang) if news else report


def holds_logs(folder: str) -> bool:
    """Whether it is the folder of a run."""
    inside = glob.escape(folder)
    return any(glob.glob(os.path.join(inside, *place, "rank-*.log")) for place in ([], ["ranks*"]))


def tell(watcher: Any, command: Any, json_path: str | None, status: int) -> int:
    """Prints the report; returns the exit status."""
    report = watcher.report
    if report is None:
        report = watcher.finite_report()
    show(report, json_path)
    if json_path != "-":
        if watcher.report is not None:
            say(sys.stdout, watcher.text(colour=colour(command.color)))
        else:
            say(sys.stderr, f"nanscope: {watcher.summary()}\n")
    flush()
    return status if watcher.report is None else 1


def show(report: dict[str, Any], json_path: str | None) -> None:
    """The report as JSON, where that was asked for."""
    if json_path == "-":
        say(sys.stdout, json.dumps(report, indent=2) + "\n")
    elif json_path is not None:
        try:
            with open(json_path, "w", encoding="utf-8") as file:
                json.dump(report, file, indent=2)
        except OSError as error:
            say(sys.stderr, f"nanscope run: cannot write the report: {error}\n")


def finished(steps: int, folder: str, lang: str) -> str:
    """One line for a run in which nothing was found."""
    if lang == "ko":
        what = "학습 스텝이 관찰되지 않았습니다" if steps == 0 else f"{steps}개 스텝, 발견된 문제가 없습니다"
        return f"{what}; 실행 폴더: {folder}"
    what = "no training step was seen" if steps == 0 else f"{steps} steps, nothing found"
    return f"{what}; run folder {folder}"


def colour(when: str) -> bool:
    """Whether stdout gets colour."""
    if when != "auto":
        return when == "always"
    return sys.stdout is not None and not sys.stdout.closed and sys.stdout.isatty() and "NO_COLOR" not in os.environ


def say(stream: Any, text: str) -> None:
    """Writes to a stream that the program may have closed or taken away."""
    try:
        try:
            stream.write(text)
        except UnicodeEncodeError as error:  # a locale without Hangul, say: better a ? than nothing
            stream.write(text.encode(error.encoding, "replace").decode(error.encoding))
    except (OSError, ValueError, AttributeError):
        flush()


def flush() -> None:
    """The program's own output comes before ours; a reader who has left is not an error."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            # Python flushes once more when it ends: into nothing, or it would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except (OSError, ValueError, AttributeError):  # full, closed, or None
            continue


def exit_status(code: Any) -> int:
    """What `sys.exit(code)` means to the shell."""
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


class Program:
    """Compiled code and the `__main__` module it will run in."""

    def __init__(self, code: types.CodeType, file: str, argv: list[str], path0: str, spec: Any = None) -> None:
        self.code = code
        self.file = file
        self.argv = argv
        self.path0 = path0
        self.spec = spec

    def execute(self) -> None:
        """Runs the code as `__main__`, so that `if __name__ == "__main__"`, pickling and spawned processes work."""
        main = types.ModuleType("__main__")
        main.__dict__.update(__file__=self.file, __builtins__=__builtins__, __spec__=self.spec, __cached__=None)
        if self.spec is not None:
            main.__dict__.update(__loader__=self.spec.loader, __package__=self.spec.parent)
        else:
            main.__dict__.update(
                __loader__=importlib.machinery.SourceFileLoader("__main__", self.file), __package__=None
            )
        if sys.version_info < (3, 14):  # later ones make it when it is asked for
            main.__dict__.update(__annotations__={})
        sys.modules["__main__"] = main
        enter_path(self.path0)
        sys.argv = self.argv
        exec(self.code, main.__dict__)

    def print_traceback(self, error: BaseException) -> None:
        """The script's own traceback, by its own hook: no frame of nanscope, neither above it nor where calls are watched."""
        seen: set[int] = set()
        todo: list[BaseException | None] = [error]
        while todo:
            one = todo.pop()
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            one.__traceback__ = without_ours(one.__traceback__, self.code if one is error else None)
            todo += [one.__cause__, one.__context__, *getattr(one, "exceptions", ())]
        sys.excepthook(type(error), error, error.__traceback__)


def without_ours(tb: types.TracebackType | None, first: types.CodeType | None) -> types.TracebackType | None:
    """`tb` from the frame of `first` on, frames of nanscope left out."""
    frames = []
    while tb is not None:
        frames.append(tb)
        tb = tb.tb_next
    starts = [i for i, t in enumerate(frames) if t.tb_frame.f_code is first]
    kept = [t for t in frames[starts[0] if starts else 0 :] if not t.tb_frame.f_code.co_filename.startswith(HERE)]
    below: types.TracebackType | None = None
    for t in reversed(kept):
        t.tb_next = below
        below = t
    return below


def enter_path(folder: str) -> None:
    """The first place where Python looks for modules is `folder`, instead of the one that starting nanscope has put there."""
    if sys.flags.safe_path or (sys.path and sys.path[0] == folder):
        return
    ours = {
        os.path.dirname(os.path.realpath(sys.argv[0])),
        os.path.dirname(os.path.abspath(sys.argv[0])),
        os.getcwd(),
        "",
    }
    if sys.path and sys.path[0] in ours:
        sys.path[0] = folder
    else:
        sys.path.insert(0, folder)


def load(script: str | None, module: str | None, args: list[str]) -> Program:
    """Finds and compiles the program. Raises `Refused` with one clear line."""
    if module is not None:
        return load_module(module, args)
    assert script is not None
    if os.path.isdir(script):
        raise Refused(f"{script} is a folder; expected a Python file, or -m MODULE")
    try:
        source = source_of(script)
    except FileNotFoundError:
        raise Refused(f"no such script: {script}") from None
    except OSError as error:
        raise Refused(f"cannot read {script}: {error.strerror}") from None
    path = os.path.abspath(script)
    return Program(compiled(source, path), path, [script, *args], os.path.dirname(os.path.realpath(path)))


def load_module(module: str, args: list[str]) -> Program:
    """As `python -m`: a package runs its `__main__`."""
    enter_path(os.getcwd())
    try:
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{module}.__main__")
            if spec is None:
                raise Refused(f"{module} is a package without {module}.__main__; name the module in it that is to run")
    except (ImportError, ValueError, AttributeError) as error:
        raise Refused(f"no module named {module} ({error})") from None
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - packages above the module are imported to find it
        lines = traceback.format_exception_only(type(error), error)
        raise Refused(f"cannot import what {module} lies in\n" + "".join(lines).rstrip()) from None
    if spec is None:
        raise Refused(f"no module named {module}; looked in {os.getcwd()} and on sys.path")
    if spec.origin is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
        raise Refused(f"{module} is not written in Python; expected a module with a source file")
    return Program(compiled(source_of(spec.origin), spec.origin), spec.origin, [spec.origin, *args], os.getcwd(), spec)


def source_of(path: str) -> bytes:
    """What the program is to be run from."""
    put = sources.of(path)
    if put is not None:
        return put
    with open(path, "rb") as file:
        return file.read()


def compiled(source: bytes, path: str) -> types.CodeType:
    """Code of a program; a syntax error is shown as Python shows it."""
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        lines = traceback.format_exception_only(type(error), error)
        raise Refused("the script does not parse\n" + "".join(lines).rstrip()) from None
