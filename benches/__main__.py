"""What nanscope costs, beside its peers: `python -m benches [PART ...] [--models mlp,cnn] [--quick]`.

Measures every part, or those named, keeps the figures in target/bench, and writes the measured sections of docs/performance.md
anew. A part, or some models of a part, can be measured again by itself; the rest stays. `--quick` runs all of it on small models
in a few minutes to show that it works; its figures mean nothing and go into target/bench-quick, with a copy of the page.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import torch

from benches import breakdown, growth, identity, long_run, memory, table, trip
from benches.models import MODELS
from benches.peers import versions
from benches.render import rendered

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
PARTS = {
    "identity": identity.run,
    "table": table.run,
    "breakdown": breakdown.run,
    "memory": memory.run,
    "trip": trip.run,
    "growth": growth.run,
    "long_run": long_run.run,
}
OF_MODELS = {"identity", "table", "memory", "trip"}  # measured for each model, and kept for each


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    from nanscope import _core

    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "torch": torch.__version__, "python": platform.python_version(), "cores": os.cpu_count(),
        "processor": names[0] if names else platform.processor(), "nanscope": _core.__version__, "peers": versions(),
    }  # fmt: skip


def kept(folder: Path, part: str) -> dict[str, Any]:
    file = folder / f"{part}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join([*PARTS, "render"]))
    parser.add_argument("--models", help="some of " + ",".join(MODELS))
    parser.add_argument("--quick", action="store_true", help="does all of it work? No figures worth keeping")
    options = parser.parse_args()
    parts = options.parts or list(PARTS)
    models = options.models.split(",") if options.models else list(MODELS)
    for given, known in ((parts, [*PARTS, "render"]), (models, list(MODELS))):
        if unknown := [name for name in given if name not in known]:
            parser.error(f"expected some of {', '.join(known)}; got {', '.join(unknown)}")
    torch.set_num_threads(1)
    folder = ROOT / "target" / ("bench-quick" if options.quick else "bench")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "machine.json").write_text(json.dumps(machine(), indent=1))
    begin = time.perf_counter()
    for part in parts:
        if part == "render":
            continue
        start = time.perf_counter()
        print(f"{part} ...", flush=True)
        for names in [[name] for name in models] if part in OF_MODELS else [models]:
            found = PARTS[part](names, options.quick)
            if part in OF_MODELS:
                found = {**kept(folder, part), **found}
            (folder / f"{part}.json").write_text(json.dumps(found, indent=1))
            write(folder, options.quick)
        print(f"{part}: {time.perf_counter() - start:.0f} s", flush=True)
    write(folder, options.quick)
    print(f"all: {time.perf_counter() - begin:.0f} s; {page(folder, options.quick)}")


def page(folder: Path, quick: bool) -> Path:
    return folder / "performance.md" if quick else PAGE


def write(folder: Path, quick: bool) -> None:
    """The page, with all that is known by now: a measurement that is ended early costs only what was not measured yet."""
    parts = {part: found for part in ["machine", *PARTS] if (found := kept(folder, part))}
    page(folder, quick).write_text(rendered(PAGE.read_text(), parts))


def as_a_script() -> NoReturn:
    """Begins again as a training script does, without the frames of `python -m`: they have no file, and a peer that walks the
    stack with `inspect` takes ten times as long over each of them."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
    os.execve(sys.executable, [sys.executable, __file__, *sys.argv[1:]], environment)


if __name__ == "__main__":
    if __package__:
        as_a_script()
    main()
