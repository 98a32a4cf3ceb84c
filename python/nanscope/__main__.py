"""`nanscope` and `python -m nanscope`: Rust reads the arguments; only what runs the program needs Python."""

from __future__ import annotations

import sys

from nanscope import _core


def main() -> int:
    """Entry point of the console script. Returns the exit status."""
    try:
        command = _core.parse(sys.argv)
    except UnicodeEncodeError as error:
        sys.stderr.write(f"nanscope: an argument is not valid UTF-8: {error.object!r}\n")
        return 2
    if command.kind == "prove":
        from nanscope.fixes.once_more import once_more

        return once_more(command)
    if command.kind == "checkpoint":
        from nanscope.tuner.command import checkpoint

        return checkpoint(command)
    if command.kind != "run":
        return command.status or 0
    from nanscope.run import run

    return run(command)


if __name__ == "__main__":
    sys.exit(main())
