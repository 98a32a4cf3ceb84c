"""The program run again: `python -m nanscope.again REQUEST`, for nanscope's own use."""

from __future__ import annotations

import json
import random
import sys
from typing import Any


def main(request: str) -> int:
    """Runs the program that the file `request` names, on the errand that it names."""
    with open(request, encoding="utf-8") as file:
        spec: dict[str, Any] = json.load(file)
    from nanscope.again import sources
    from nanscope.again.trace import Trace
    from nanscope.again.trial import Trial
    from nanscope.run import load
    from nanscope.stop import Stop
    from nanscope.watcher import Watcher

    errand = {"trace": Trace, "trial": Trial}[spec["errand"]](spec)
    sources.put(spec.get("sources", {}))
    if spec["module"]:
        package = spec["module"].partition(".")[0]  # imported on the way to the module, from sources as they were
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]
    begin(spec["states"])
    program = load(spec["script"], spec["module"], spec["args"])
    watcher = Watcher(
        script=spec["script"] or spec["module"], argv=spec["args"], out=spec["out"], errand=errand,
        check_attention=1 if spec.get("kernels") else None,
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
    errand.over(watcher, how, error)
    return 0


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
