"""The same attention by other backends: which of them gives what the formula gives, how long each takes and how much memory."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from nanscope.attention.operators import Call
from nanscope.attention.shadow import Shadow, Unchecked, excluded_keys
from nanscope.experiments.attention import backends
from nanscope.experiments.peak import Peak, allocated, devices
from nanscope.replay.operators import REFUSED
from nanscope.replay.values import number

Tensor = torch.Tensor
REPEATS = 3  # the shortest time counts


def others(call: Call) -> list[dict[str, Any]]:
    """`Backend`s of the ledger, the plain one first. Runs them on what `call` was given, without dropout; to be called outside
    any dispatch mode. One that does not take these shapes is left out. Ratios are to what torch chooses by itself."""
    chosen = _measured(call, None)
    found = []
    for name in backends({call.query.device.type}):
        one = _one(call, name, chosen)
        if one is not None:
            found.append(one)
    return found


@dataclass
class Measured:
    """Results of one backend, the shortest time, and the peak of the storages that it has made."""

    given: dict[str, Tensor]
    seconds: float
    bytes: int


def _measured(call: Call, name: str | None) -> Measured | None:
    """`None` where the backend does not take these shapes."""
    q, k, v = (t.detach().clone().requires_grad_() for t in (call.query, call.key, call.value))
    bias, causal = _mask(call)

    def run() -> Tensor:
        for t in (q, k, v):
            t.grad = None
        chosen: Any = contextlib.nullcontext() if name is None else sdpa_kernel(getattr(SDPBackend, name))
        with torch.enable_grad(), chosen:
            out = scaled_dot_product_attention(
                q, k, v, attn_mask=bias, is_causal=causal, scale=call.scale, enable_gqa=q.shape[1] != k.shape[1]
            )
            if call.grad_out is not None:
                out.backward(call.grad_out.detach().to(out.dtype))
        if q.is_cuda:
            torch.cuda.synchronize()
        return out.detach()

    seconds, peak, on = [], Peak(), devices([q])
    try:
        for _ in range(REPEATS):
            start = time.perf_counter()
            out = run()
            seconds.append(time.perf_counter() - start)
        with allocated(peak, on) if on else peak:
            run()
    except REFUSED:
        return None
    grads = {"grad_query": q.grad, "grad_key": k.grad, "grad_value": v.grad}
    return Measured({"out": out, **{key: g for key, g in grads.items() if g is not None}}, min(seconds), peak.bytes)


def _one(call: Call, name: str, chosen: Measured | None) -> dict[str, Any] | None:
    made = _measured(call, name)
    if made is None:
        return None
    (q, k, v), (bias, causal) = [t.detach() for t in (call.query, call.key, call.value)], _mask(call)
    plain = Call(call.op, q, k, v, bias, causal, False, 0.0, call.scale)
    out = made.given.pop("out")
    try:
        gaps = Shadow(plain, {"out": out}).run()
        if call.grad_out is not None:
            plain.out, plain.grad_out = out, call.grad_out.detach()
            gaps += Shadow(plain, made.given).run()
    except Unchecked:  # the output is not finite, and there is nothing to compare of its gradients
        pass
    worst = max(gaps, key=lambda gap: gap.ratio)
    found = {
        "name": name.lower().replace("_", "-"),
        "right": not any(gap.differ for gap in gaps),
        "error": number(worst.error),
        "allowed": number(worst.allowed),
    }
    if chosen is not None:
        found["time_ratio"] = made.seconds / chosen.seconds
        if chosen.bytes:
            found["memory_ratio"] = made.bytes / chosen.bytes
    return found


def _mask(call: Call) -> tuple[torch.Tensor | None, bool]:
    """The mask as torch's own function takes it."""
    square = call.query.shape[2] == call.key.shape[2]
    if call.bias is None and call.window is None and (not call.align_end or square):
        return None, call.causal
    excluded = excluded_keys(call)
    if excluded is None:
        return (None if call.bias is None else call.bias.detach()), False
    if call.bias is None:
        return torch.zeros_like(excluded, dtype=call.query.dtype).masked_fill(excluded, -torch.inf), False
    return call.bias.detach().masked_fill(excluded, -torch.inf), False
