"""`nanscope run`: a script or module, unchanged, under watch."""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import os
import sys
import traceback
import types
from typing import Any


class Refused(Exception):
    """nanscope could not start; the text is the one line that is shown."""


def run(command: Any) -> int:
    """Runs what `command` names. Returns the exit status: the script's own when nothing was found, 1 when something was,
    2 when nanscope could not start."""
    try:
        program = load(command.script, command.module, command.args)
        from nanscope.watcher import Watcher
    except Refused as refused:
        sys.stderr.write(f"nanscope run: {refused}\n")
        return 2
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        sys.stderr.write("nanscope run: torch is not installed in this Python; install it beside nanscope: pip install torch\n")
        return 2
    try:
        watcher = Watcher(
            script=command.script or command.module,
            argv=command.args,
            on_trip=command.on_trip,
            out=command.out,
            diagnose_first=command.diagnose_first,
            again={"script": command.script, "module": command.module, "args": command.args, "states": states()},
        )
    except OSError as error:
        sys.stderr.write(f"nanscope run: {error}\n")
        return 2
    return watched(program, watcher, command)


def states() -> dict[str, Any]:
    """States of the generators that no seed of the program may set; a rerun begins from the same."""
    import random

    import numpy

    version, internal, gauss = random.getstate()
    name, keys, position, has_gauss, cached = numpy.random.get_state(legacy=True)
    return {
        "random": [version, list(internal), gauss],
        "numpy": [name, keys.tolist(), position, has_gauss, cached],
    }


def watched(program: Program, watcher: Any, command: Any) -> int:
    """Executes the program under the watch and tells what was found."""
    from nanscope.stop import Stop

    how, status, error = "finished", 0, None
    watcher.start()
    try:
        program.execute()
    except Stop:
        how = "stopped"
    except SystemExit as exit_:
        how, status = "exited", exit_status(exit_.code)
        if isinstance(exit_.code, str):
            sys.stderr.write(exit_.code + "\n")
    except KeyboardInterrupt as interrupt:
        how, status, error = "raised", 130, interrupt
    except Exception as raised:
        how, status, error = "raised", 1, raised
    flush()
    watcher.finish(how, status, error)
    if error is not None:
        program.print_traceback(error)
    return tell(watcher, command, status)


def tell(watcher: Any, command: Any, status: int) -> int:
    """Prints the report; returns the exit status."""
    report = watcher.report
    if report is None:
        report = watcher.finite_report()
    if command.json == "-":
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    else:
        if command.json is not None:
            try:
                with open(command.json, "w", encoding="utf-8") as file:
                    json.dump(report, file, indent=2)
            except OSError as error:
                sys.stderr.write(f"nanscope run: cannot write the report: {error}\n")
        if watcher.report is not None:
            sys.stdout.write(watcher.text(colour=colour(command.color)))
        else:
            sys.stderr.write(f"nanscope: {watcher.summary()}\n")
    flush()
    return status if watcher.report is None else 1


def colour(when: str) -> bool:
    """Whether stdout gets colour."""
    if when != "auto":
        return when == "always"
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def flush() -> None:
    """The program's own output comes before ours."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):  # a closed pipe is the reader's wish
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
            main.__dict__.update(__loader__=None, __package__=None)
        sys.modules["__main__"] = main
        sys.argv = self.argv
        if sys.path and sys.path[0] != self.path0:
            sys.path.insert(0, self.path0)
        exec(self.code, main.__dict__)

    def print_traceback(self, error: BaseException) -> None:
        """The script's own traceback, without nanscope's frames above it."""
        tb = error.__traceback__
        while tb is not None and tb.tb_frame.f_code is not self.code and tb.tb_next is not None:
            tb = tb.tb_next
        traceback.print_exception(type(error), error, tb)


def load(script: str | None, module: str | None, args: list[str]) -> Program:
    """Finds and compiles the program. Raises `Refused` with one clear line."""
    if module is not None:
        return load_module(module, args)
    assert script is not None
    if os.path.isdir(script):
        raise Refused(f"{script} is a folder; expected a Python file, or -m MODULE")
    try:
        with open(script, "rb") as file:
            source = file.read()
    except FileNotFoundError:
        raise Refused(f"no such script: {script}") from None
    except OSError as error:
        raise Refused(f"cannot read {script}: {error.strerror}") from None
    path = os.path.abspath(script)
    return Program(compiled(source, path), path, [script, *args], os.path.dirname(path))


def load_module(module: str, args: list[str]) -> Program:
    """As `python -m`: a package runs its `__main__`."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{module}.__main__")
    except (ImportError, ValueError) as error:
        raise Refused(f"no module named {module} ({error})") from None
    if spec is None or spec.origin is None or not isinstance(spec.loader, importlib.abc.InspectLoader):
        raise Refused(f"no module named {module}; looked in {os.getcwd()} and on sys.path")
    with open(spec.origin, "rb") as file:
        source = file.read()
    return Program(compiled(source, spec.origin), spec.origin, [spec.origin, *args], os.getcwd(), spec)


def compiled(source: bytes, path: str) -> types.CodeType:
    """Code of a program; a syntax error is shown as Python shows it."""
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        lines = traceback.format_exception_only(type(error), error)
        raise Refused("the script does not parse\n" + "".join(lines).rstrip()) from None
