"""Memory that saved-tensor hooks gave to backward and that held something else by then: who has written into it."""

from __future__ import annotations

from nanscope.kept import Pair
from nanscope.replay.witness import Witness, Write


def writer(witness: Witness, pair: Pair) -> Write | None:
    """The last operator that wrote, after `pair` was packed, into the memory that came out or into that it was copied from."""
    storage = pair.now.storage
    last = _last(witness, storage, pair.found)
    source = witness.copies.get(storage)
    if source is not None and (last is None or last.op == "aten.copy_.default"):
        into = _last(witness, source, pair.found)
        if into is not None and into.operators > pair.packed:
            return into
    return last if last is not None and last.operators > pair.packed else None


def _last(witness: Witness, storage: int, operators: int) -> Write | None:
    writes = [write for write in witness.writes.get(storage, ()) if write.operators <= operators]
    return writes[-1] if writes else None
