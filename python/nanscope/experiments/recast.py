"""Operators at chosen sites computed in another number format, those that follow as the formats then have it.

What a chosen operator reads is cast first; what it writes stays in that format until something casts it: autocast, the
program, or an operator whose kernel takes one format only and has operands in two (they are cast to the narrower one, as the
program had them). A cast to a narrower format at a chosen site is left out. Memory of another format that is written in place
keeps its format. Random numbers are drawn in the format of the run, so that they are the same ones.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from nanscope.capture.event import Event
from nanscope.capture.recorder import flatten
from nanscope.experiments.change import Change
from nanscope.experiments.sites import NOWHERE, Site, Sites
from nanscope.replay.operators import REFUSED, Operator
from nanscope.replay.reference import below, mapped, seeded
from nanscope.replay.values import counts

Tensor = torch.Tensor
Chosen = Callable[[Site, str], bool]
# A `-inf` that one of these writes may be meant to exclude something.
_FILLS = {"masked_fill", "masked_fill_", "where", "full", "full_like", "fill_", "scalar_tensor", "constant_pad_nd"}
_SOFTMAX = {"_softmax", "_log_softmax"}


@functools.cache
def operator(func: Any) -> Operator:
    """What the schema of an overload says, read once."""
    return Operator(func)


class Birth:
    """The first operator of a replay that wrote something bad: its site, and a copy of its bad rows."""

    def __init__(self) -> None:
        self.site: Site | None = None
        self.rows: list[int] = []
        self.size = 0  # of the first dimension

    def look(self, op: Operator, site: Site, read: list[tuple[str, Tensor]], written: list[tuple[str, Tensor]]) -> None:
        """Costs one pass over what was written, until the first bad value. A `-inf` that is handed on was meant."""
        for _, tensor in written:
            nan, posinf, neginf = _bad(tensor)
            if not (nan or posinf or neginf):
                continue
            if not (nan or posinf) and (op.base in _FILLS or any(_bad(t)[2] for _, t in read)):
                continue
            self.site = site
            if tensor.dim():
                bad = ~torch.isfinite(tensor.detach()).reshape(tensor.shape[0], -1).all(1)
                self.rows, self.size = bad.nonzero().flatten().tolist(), tensor.shape[0]
            return


def _bad(tensor: Tensor) -> tuple[int, int, int]:
    """How many of its values are NaN, inf and -inf; none where it cannot be read."""
    return (counts(tensor) or (0, 0, 0, None))[:3]


class Recast(Change, TorchDispatchMode):
    """`chosen(site, operator)` says what runs in `dtype`; everything that is narrower is cast, or only `instead_of`."""

    def __init__(
        self,
        dtype: torch.dtype,
        chosen: Chosen | None,
        instead_of: torch.dtype | None = None,
        birth: Birth | None = None,
        told: Callable[[Site, Operator, list[tuple[str, Tensor]]], None] | None = None,
    ) -> None:
        super().__init__()
        self.dtype = dtype
        self.chosen = chosen
        self.instead_of = instead_of
        self.birth = birth
        self.told = told
        self.everywhere = False
        self._backward = False
        self._sites = Sites()

    @classmethod
    def throughout(cls, dtype: torch.dtype, instead_of: torch.dtype | None = None) -> Recast:
        """All operators in `dtype`; needs no sites."""
        change = cls(dtype, lambda _site, _op: True, instead_of)
        change.everywhere = True
        return change

    def idle(self) -> Change:
        """The same walk for every operator, and nothing chosen."""
        idle = Recast(self.dtype, lambda _site, _op: False)
        idle.everywhere = self.everywhere
        return idle

    def whole(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if self.everywhere else self._sites.watching()

    @contextlib.contextmanager
    def around(self, event: Event) -> Iterator[None]:
        self._backward = event.kind in ("backward", "grad")
        self._sites.event = event
        with self:
            yield

    # ---- operators

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        op = operator(func)
        if self.everywhere:
            return self._run(op, args, kwargs, self.chosen is not None and self.chosen(NOWHERE, op.name))
        node = torch._C._current_autograd_node()
        site = self._sites.of(node)
        result = self._run(op, args, kwargs, self.chosen is not None and self.chosen(site, op.name))
        self._sites.note(node, site)
        if not op.is_view and not op.allocates:
            if self.told is not None:
                self.told(site, op, [*op.tensors(args, kwargs), *op.results(args, kwargs, result)])
            if self.birth is not None and self.birth.site is None:
                self.birth.look(op, site, op.tensors(args, kwargs), op.results(args, kwargs, result))
        return result

    def _run(self, op: Operator, args: Any, kwargs: Any, chosen: bool) -> Any:
        if op.is_view or op.base == "detach":
            return op.func(*args, **kwargs)
        if not chosen:
            return self._as_is(op, args, kwargs)
        if getattr(op.func, "namespace", "aten") not in ("aten", "prims"):
            return self._as_is(op, args, kwargs)  # its schema need not tell what it writes
        with below():
            if op.base == "_to_copy" and self._backward and not torch.is_grad_enabled():
                return op.func(*args, **kwargs)  # a gradient has the format of what it belongs to
            if seeded(op):
                return self._drawn(op, args, kwargs)
            if op.writes or op.silent:
                return self._written(op, args, kwargs)
            if op.base in _SOFTMAX and len(args) == 3:
                args = (*args[:2], False)  # what is wide already needs no conversion from half
            wide = mapped(args, self._cast), mapped(kwargs, self._cast)
            try:
                return mapped(op.func(*wide[0], **wide[1]), self._cast)
            except REFUSED:  # no kernel in this format
                return self._as_is(op, args, kwargs)

    def _as_is(self, op: Operator, args: Any, kwargs: Any) -> Any:
        """The operator in the formats that come to it."""
        try:
            return op.func(*args, **kwargs)
        except REFUSED:
            read: list[Tensor] = []
            flatten((args, kwargs), read)
            formats = {t.dtype for t in read if t.is_floating_point()}
            if len(formats) < 2 or op.writes:
                raise
            narrow = min(formats, key=lambda dtype: dtype.itemsize)

            def cast(value: Any) -> Any:
                return value.to(narrow) if isinstance(value, Tensor) and value.is_floating_point() else value

            with below():
                return op.func(*mapped(args, cast), **mapped(kwargs, cast))

    def _drawn(self, op: Operator, args: Any, kwargs: Any) -> Any:
        """Random numbers as the run has drawn them."""
        if op.base == "native_dropout":
            x, p = args[0], args[1]
            mask = op.func(x.float(), *args[1:])[1]
            return self._cast(x) * mask * (0.0 if p == 1.0 else 1.0 / (1.0 - p)), mask
        if op.writes:
            return op.func(*args, **kwargs)

        def drawn(value: Any) -> Any:
            single = isinstance(value, Tensor) and value.dtype is torch.float64
            return value.float() if single else value

        return mapped(op.func(*mapped(args, drawn), **mapped(kwargs, drawn)), self._cast)

    def _written(self, op: Operator, args: Any, kwargs: Any) -> Any:
        """Targets of another format are computed beside their memory and put into it, rounded."""
        aside: dict[int, tuple[Tensor, Tensor]] = {}
        targets = {id(t) for _, t in op.targets(args, kwargs)}

        def cast(value: Any) -> Any:
            if isinstance(value, Tensor) and id(value) in targets:
                if not self._narrow(value.dtype):
                    return value
                pair = aside.setdefault(id(value), (value, value.to(self.dtype)))
                return pair[1]
            return value if isinstance(value, torch.dtype) else self._cast(value)

        wide = mapped(args, cast), mapped(kwargs, cast)
        result = op.func(*wide[0], **wide[1])
        back = {id(copy): value for value, copy in aside.values()}
        for value, copy in aside.values():
            value.copy_(copy)
        return mapped(result, lambda out: back.get(id(out), out))

    # ---- formats

    def _narrow(self, dtype: torch.dtype) -> bool:
        if self.instead_of is not None:
            return dtype is self.instead_of
        return dtype.is_floating_point and dtype.itemsize < self.dtype.itemsize

    def _cast(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.to(self.dtype) if self._narrow(value.dtype) else value
        return self.dtype if isinstance(value, torch.dtype) and self._narrow(value) else value
