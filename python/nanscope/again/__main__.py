"""The program run again: `python -m nanscope.again REQUEST`, for nanscope's own use."""

from __future__ import annotations

import json
import os
import random
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nanscope.again.errand import Errand


def main(request: str) -> int:
    """Runs the program that the file `request` names, on the errand that it names."""
    with open(request, encoding="utf-8") as file:
        spec: dict[str, Any] = json.load(file)
    from nanscope.again import ranks, sources
    from nanscope.again.joint import joint
    from nanscope.again.trace import Trace
    from nanscope.again.trial import Trial

    errand = {"trace": Trace, "trial": Trial}[spec["errand"]](spec)
    sources.put(spec.get("sources", {}))
    if spec["module"]:
        package = spec["module"].partition(".")[0]  # imported on the way to the module, from sources as they were
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]
    if "MASTER_PORT" in os.environ:  # that of the first run may be taken
        os.environ["MASTER_PORT"] = str(ranks.free_port())
    if "launched" not in spec:
        begin(spec["states"])
        execute(spec, errand)
        return 0
    world = spec["launched"]

    def one(rank: int) -> int:
        import torch

        if "OMP_NUM_THREADS" not in os.environ:
            torch.set_num_threads(1)  # as torchrun has it
        of_rank = errand.of_rank(spec["out"], rank)
        assert of_rank is not None
        execute(spec, of_rank, (rank, world, spec["cwd"]))
        return 0

    ranks.start(world, spec["out"], one)
    errand.answer(joint(None, spec, spec["out"]))
    return 0


def execute(spec: dict[str, Any], errand: Errand, part: tuple[int, int, str] | None = None) -> None:
    """The program under watch, on the errand; `part` as `Watcher` takes it, for one rank of several."""
    from nanscope.run import load
    from nanscope.stop import Stop
    from nanscope.watcher import Watcher

    checks = ["once", *(["attention"] if spec.get("kernels") else []), *(["ranks=1"] if spec.get("apart") else [])]
    program = load(spec["script"], spec["module"], spec["args"])
    watcher = Watcher(
        script=spec["script"] or spec["module"], argv=spec["args"], out=spec["out"], errand=errand,
        check=",".join(checks), part=part,
    )  # fmt: skip
    watcher.start()
    how: str = "finished"
    error: BaseException | None = None
    try:
        program.execute()
    except Stop:
        how = "stopped"
    except SystemExit:
        how = "exited"
    except Exception as raised:  # noqa: BLE001 - handed to the watch, which looks at what was met before it
        how, error = "raised", raised
    watcher.finish(how, error=error)
    if watcher.let_down:
        how, error = "stopped", None
    errand.over(watcher, how, error)


def begin(states: dict[str, Any]) -> None:
    """States of the generators that no seed of the program may set, as in the first run."""
    version, internal, gauss = states["random"]
    random.setstate((version, tuple(internal), gauss))
    if "numpy" in states:
        import numpy

        name, keys, position, has_gauss, cached = states["numpy"]
        numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), position, has_gauss, cached))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
