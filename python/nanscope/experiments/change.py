"""One change of a replay. A family overrides the places where it has to act; everything else runs as recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from nanscope.capture.event import Event


class Change:
    """Nothing changed: the plain replay."""

    def whole(self) -> contextlib.AbstractContextManager[Any]:
        """In force around the whole replay."""
        return contextlib.nullcontext()

    def around(self, event: Event) -> contextlib.AbstractContextManager[Any]:
        """In force around one event, inside the settings that were recorded with it."""
        return contextlib.nullcontext()

    def arguments(self, event: Event, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """What the event is called with."""
        return args, kwargs

    def call(self, event: Event, args: Any, kwargs: Any, call: Callable[[], Any]) -> Any:
        """The event itself; `call` makes it as recorded."""
        return call()

    def idle(self) -> Change:
        """A replay that costs as much to observe and changes nothing: what the time of this one is compared with."""
        return Change()
