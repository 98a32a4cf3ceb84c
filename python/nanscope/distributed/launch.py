"""`nanscope run --nproc-per-node N`: torch's own launcher starts the ranks, each under watch; the report is one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from nanscope import _core
from nanscope.distributed.job import LAUNCHED, wait_or_end

GRACE_SECONDS = 10.0
KILL_SECONDS = 40.0  # torch's launcher gives the ranks 30 s of these, and ends them itself then


def launch(command: Any, folder: str) -> tuple[dict[str, Any] | None, int]:
    """Runs all ranks. Returns the report of all, `None` where no rank came so far as to write anything, and the launcher's
    exit status."""
    heals = command.on_trip == "heal"
    budget = command.budget if heals else 0  # otherwise fixes are tried when all ranks have ended
    options = ["--out", folder, "--diagnose-first", str(command.diagnose_first)]
    options += ["--heal"] if heals else ["--on-trip", command.on_trip]
    options += ["--check", command.check, "--lang", command.lang, "--budget", str(budget)]
    target = ["-m", command.module] if command.module is not None else [command.script]
    argv = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(command.nproc_per_node),
        "-m", "nanscope", "run", *options, *target, *command.args,
    ]  # fmt: skip
    # What torch's launcher would choose, without the words that it has for it.
    environment = {"OMP_NUM_THREADS": "1", **os.environ, LAUNCHED: "1"}
    status = 130
    with subprocess.Popen(argv, env=environment) as process:
        try:
            status = wait_or_end(process, folder, GRACE_SECONDS, KILL_SECONDS)
        except KeyboardInterrupt:  # the launcher has it as well, and ends the ranks
            process.wait()
    try:
        return told(folder, command.lang), status
    except OSError:
        return None, status


def told(folder: str, lang: str) -> dict[str, Any]:
    """The report of all ranks, which the run folder holds from now on. Raises `OSError` where no rank has left a log."""
    merged: dict[str, Any] = json.loads(_core.merged(folder, lang))
    _core.write_report(folder, json.dumps(merged))
    return merged
