"""Collectives of a replay: answered from this rank's own part, or run again in step with all ranks of the job.

A replay never talks to another rank unless all have agreed to run the same step again.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from nanscope.capture import collectives
from nanscope.capture.recorder import flatten, storage_id
from nanscope.replay import births, values

if TYPE_CHECKING:
    from nanscope.replay.tracer import Tracer

Tensor = torch.Tensor
NAMESPACES = ("c10d", "_c10d_functional")
TIMEOUT_MILLIS = 60_000  # of one collective that all ranks run again
WIDE_MAX = 1 << 28  # elements of a payload that are summed in float64
_COUNTS = ("nan", "posinf", "neginf")
_SUMS = ("sum", "avg", "premul_sum")


def _c10d() -> Any:
    """torch's own module; not there in every build."""
    return torch._C._distributed_c10d


def ranks() -> bool:
    """Whether this process is one of several ranks."""
    distributed = torch.distributed
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def mode(together: bool) -> Any:
    """What a replay runs inside of."""
    return Exchange(together) if ranks() else contextlib.nullcontext()


def is_collective(func: Any) -> bool:
    """True for an operator that talks to other ranks."""
    return getattr(func, "namespace", "") in NAMESPACES and "wait_tensor" not in func.name()


class Exchange(TorchDispatchMode):
    """`last` tells of the collective that was run last: `Comm` of the ledger."""

    current: Exchange | None = None

    def __init__(self, together: bool) -> None:
        super().__init__()
        self.together = together
        self.counts: Counter[str] = Counter()  # collectives so far, by group
        self.last: dict[str, Any] = {}
        self.reference: dict[str, Any] | None = None

    def __enter__(self) -> Any:
        Exchange.current = self
        return super().__enter__()

    def __exit__(self, *args: Any) -> None:
        Exchange.current = None
        super().__exit__(*args)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not is_collective(func):
            return func(*args, **kwargs)
        group = group_of(func, args, kwargs)
        kind = func._overloadpacket.__name__.strip("_")
        name = group.group_name
        self.last = {
            "kind": kind, "group": name, "number": self.counts[name],
            "world": group.size(), "rank": group.rank(), "live": self.together,
        }  # fmt: skip
        self.counts[name] += 1
        self.reference = None
        reduction = collectives.reduction() or _named(func, args, kwargs) or "sum"
        if "reduce" in kind:
            self.last["reduction"] = reduction
        if not self.together:
            return alone(func, args, kwargs, group)
        return self._live(func, args, kwargs, group, reduction if "reduce" in kind else "")

    def _live(self, func: Any, args: Any, kwargs: Any, group: Any, reduction: str) -> Any:
        _, read = payload(func, args)
        before = [t.clone() for t in read]
        if any(a.name == "timeout" for a in func._schema.arguments):
            kwargs = {**kwargs, "timeout": TIMEOUT_MILLIS}
        result = func(*args, **kwargs)
        wait(result)
        if not before:
            return result
        written, _ = payload(func, args, result)
        device = before[0].device
        # Every rank takes part in what follows, whatever it holds itself.
        bad = torch.tensor([sum(_bad(t) for t in written)], dtype=torch.int64, device=device)
        _all_reduce(group, [bad], torch.distributed.ReduceOp.MAX)
        if bad.item():
            self._ask(group, before, reduction, device)
        return result

    def _ask(self, group: Any, before: list[Tensor], reduction: str, device: Any) -> None:
        """What the parts of all ranks were, and what their sum is in float64."""
        mine = torch.zeros(4, dtype=torch.float64, device=device)
        for tensor in before:
            counts = values.counts(tensor)
            if counts is not None:
                mine[:3] += torch.tensor(counts[:3], dtype=torch.float64, device=device)
                mine[3] = max(mine[3].item(), counts[3] or 0.0)
        parts = [torch.zeros_like(mine) for _ in range(group.size())]
        group.allgather([parts], [mine]).wait()
        self.last["parts"] = [{"rank": _global_rank(group, i), "counts": _counts(part)} for i, part in enumerate(parts)]
        finite = not any(p[:3].any() for p in parts)
        floating = [t for t in before if t.is_floating_point()]
        if not finite or reduction not in _SUMS or sum(t.numel() for t in floating) > WIDE_MAX:
            return
        wide = [t.double() for t in floating]
        _all_reduce(group, wide, torch.distributed.ReduceOp.SUM)
        if reduction == "avg":
            wide = [t / group.size() for t in wide]
        found = [values.counts(t) for t in wide]
        largest = max((c[3] for c in found if c is not None and c[3] is not None), default=None)
        self.reference = {"dtype": "float64", "finite": not any(sum(c[:3]) for c in found if c is not None)}
        if largest is not None:
            self.reference["largest"] = largest


def entry(tracer: Tracer, func: Any, args: Any, kwargs: Any, place: Any, module: Any) -> Any:
    """Runs a collective and writes its entry: what this rank gave, and what it got."""
    _, read = payload(func, args)
    inputs = [tracer._arg(f"part[{i}]" if len(read) > 1 else "part", t) for i, t in enumerate(read)]
    result = func(*args, **kwargs)
    wait(result)
    written, _ = payload(func, args, result)
    outputs = [tracer._arg(f"out[{i}]" if len(written) > 1 else "out", t, out=True) for i, t in enumerate(written)]
    for tensor in written:
        tracer._keep(tensor)
    if not outputs:
        return result
    index = len(tracer.entries)
    found: dict[str, Any] = {
        "index": index,
        "event": tracer._event.serial if tracer._event else 0,
        "phase": "comm",
        "op": str(func),
        "inputs": inputs,
        "outputs": outputs,
    }
    if place is None and tracer._event is not None:
        place = tracer._event.place
    if place is not None:
        found["place"] = place
    if module is not None:
        found["module"] = module
    exchange = Exchange.current
    if exchange is not None:
        found["comm"] = exchange.last
        if exchange.reference is not None:
            found["reference"] = exchange.reference
    for arg, tensor in zip(outputs, written, strict=True):
        if births.bad(arg):
            births._index(arg, tensor)
    tracer.entries.append(found)
    if tracer.shadows is not None:
        tracer.shadows.as_run(found, [("out", t) for t in written])
    for tensor, arg in zip(written, outputs, strict=True):
        key = storage_id(tensor)
        tracer.writers[key] = index
        if births.bad(arg):
            tracer._bad_writers[key] = index
    return result


# ---- what an operator reads and writes

_TWO = {
    "allgather_", "_allgather_base_", "allgather_coalesced_", "allgather_into_tensor_coalesced_", "reduce_scatter_",
    "_reduce_scatter_base_", "reduce_scatter_tensor_coalesced_", "alltoall_", "alltoall_base_", "gather_", "scatter_",
}  # fmt: skip


def payload(func: Any, args: Any, result: Any = None) -> tuple[list[Tensor], list[Tensor]]:
    """Floating tensors that are written, and those that are read."""
    name = func._overloadpacket.__name__
    if func.namespace != "c10d":
        target = result if result is not None else []
        return _floating(target), _floating(args[0])
    if name in _TWO:
        return _floating(args[0]), _floating(args[1])
    return _floating(args[0]) if name not in ("send", "barrier") else [], _floating(args[0])


def _floating(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    flatten(value, found)
    return [t for t in found if t.is_floating_point() or t.is_complex()]


def group_of(func: Any, args: Any, kwargs: Any) -> Any:
    """The process group of an operator."""
    for value in (*args, *kwargs.values()):
        kind: Any = value._type() if isinstance(value, torch.ScriptObject) else None
        if kind is not None and kind.name() == "ProcessGroup":
            return _c10d().ProcessGroup.unbox(value)
        if isinstance(value, _c10d().ProcessGroup):
            return value
    home: Any = torch.distributed.distributed_c10d
    return home._resolve_process_group(args[-1] if args and isinstance(args[-1], str) else kwargs.get("group_name"))


def _named(func: Any, args: Any, kwargs: Any) -> str | None:
    """The reduction of a functional collective, which has it as text."""
    names = [a.name for a in func._schema.arguments]
    found = dict(zip(names, args, strict=False), **kwargs).get("reduce_op")
    return found if isinstance(found, str) else None


def wait(result: Any) -> None:
    """Until the collective is over: what it writes is valid then only."""
    last = result[-1] if isinstance(result, tuple) else result
    if isinstance(last, torch.ScriptObject):
        _c10d().Work.unbox(last).wait()
    elif isinstance(last, Tensor):
        torch.ops._c10d_functional.wait_tensor(last)
    elif isinstance(last, list):
        for tensor in last:
            torch.ops._c10d_functional.wait_tensor(tensor)


def _all_reduce(group: Any, tensors: list[Tensor], op: Any) -> None:
    options = _c10d().AllreduceOptions()
    options.reduceOp = op
    for tensor in tensors:
        group.allreduce([tensor], options).wait()


def _counts(part: Tensor) -> dict[str, Any]:
    """Counts of the ledger from `[nan, +inf, -inf, largest magnitude]`."""
    return {**dict(zip(_COUNTS, map(int, part[:3].tolist()), strict=True)), "max_abs": part[3].item()}


def _bad(tensor: Tensor) -> int:
    counts = values.counts(tensor)
    return 0 if counts is None else sum(counts[:3])


def _global_rank(group: Any, rank: int) -> int:
    with contextlib.suppress(ValueError, KeyError, RuntimeError):
        return torch.distributed.get_global_rank(group, rank)
    return rank


# ---- without the others


def alone(func: Any, args: Any, kwargs: Any, group: Any) -> Any:
    """The result as if every rank had given what this one does."""
    size, rank = group.size(), group.rank()
    name = func._overloadpacket.__name__
    if func.namespace != "c10d":
        return _functional(name, args, size, rank)
    with torch.no_grad():
        _fill(name, args, size, rank)
    returns = func._schema.returns
    if not returns:
        return None
    future: Any = torch.futures.Future()
    future.set_result(args[0])
    work = _c10d()._create_work_from_future(future).boxed()
    return (args[0], work) if len(returns) == 2 else work


def _fill(name: str, args: Any, size: int, rank: int) -> None:
    outputs: Any = args[0]
    inputs: Any = args[1] if len(args) > 1 else None
    if name in ("allgather_", "allgather_coalesced_"):
        for out, part in zip(outputs, inputs, strict=False):
            for target in out:
                target.copy_(part) if target.shape == part.shape else None
    elif name == "_allgather_base_":
        outputs.reshape(size, -1).copy_(inputs.reshape(1, -1))
    elif name == "allgather_into_tensor_coalesced_":
        for out, part in zip(outputs, inputs, strict=True):
            out.reshape(size, -1).copy_(part.reshape(1, -1))
    elif name == "reduce_scatter_":
        for out, parts in zip(outputs, inputs, strict=True):
            out.copy_(parts[rank])
    elif name == "_reduce_scatter_base_":
        outputs.copy_(inputs.reshape(size, -1)[rank].reshape(outputs.shape))
    elif name == "reduce_scatter_tensor_coalesced_":
        for out, part in zip(outputs, inputs, strict=True):
            out.copy_(part.reshape(size, -1)[rank].reshape(out.shape))
    elif name == "alltoall_base_" and outputs.shape == inputs.shape:
        outputs.copy_(inputs)
    elif name == "alltoall_":
        for out, part in zip(outputs, inputs, strict=True):
            if out.shape == part.shape:
                out.copy_(part)
    elif name == "gather_" and outputs:
        for target in outputs[0]:
            target.copy_(inputs[0])
    elif name == "scatter_" and inputs:
        outputs[0].copy_(inputs[0][rank])


def _functional(name: str, args: Any, size: int, rank: int) -> Any:
    value = args[0]
    if name.startswith("all_gather"):
        gathered = [torch.cat([t] * size) for t in _listed(value)]
    elif name.startswith("reduce_scatter"):
        gathered = [t.chunk(size)[rank].clone() for t in _listed(value)]
    elif name.endswith("_") or name == "wait_tensor":
        return value
    else:
        gathered = [t.clone() for t in _listed(value)]
    return gathered if isinstance(value, list) else gathered[0]


def _listed(value: Any) -> list[Tensor]:
    return value if isinstance(value, list) else [value]
