"""The fresh process of a rerun: `python -m nanscope.replay.again REQUEST`, for nanscope's own use."""

from __future__ import annotations

import json
import random
import sys
from typing import Any


def main(request: str) -> int:
    """Runs the program of `request` with one step traced; the ledger goes where the request says."""
    with open(request, encoding="utf-8") as file:
        spec: dict[str, Any] = json.load(file)
    from nanscope.replay.rerun import Live
    from nanscope.run import load
    from nanscope.stop import Stop
    from nanscope.watcher import Watcher

    version, internal, gauss = spec["states"]["random"]
    random.setstate((version, tuple(internal), gauss))
    if "numpy" in spec["states"]:
        import numpy

        name, keys, position, has_gauss, cached = spec["states"]["numpy"]
        numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), position, has_gauss, cached))
    Live.answer = spec["answer"]
    program = load(spec["script"], spec["module"], spec["args"])
    watcher = Watcher(script=spec["script"] or spec["module"], argv=spec["args"], out=spec["out"], arm=spec["arm"])
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
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
