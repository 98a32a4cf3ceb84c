"""The same attention by other backends: which of them gives what the formula gives, and how long each takes."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from nanscope.attention.operators import Call
from nanscope.attention.shadow import Shadow, Unchecked, excluded_keys
from nanscope.experiments.attention import backends
from nanscope.replay.operators import REFUSED
from nanscope.replay.values import number

REPEATS = 3  # the shortest time counts


def others(call: Call) -> list[dict[str, Any]]:
    """`Backend`s of the ledger, the plain one first. Runs them on what `call` was given, without dropout; to be called outside
    any dispatch mode. One that does not take these shapes is left out."""
    found = []
    for name in backends({call.query.device.type}):
        one = _one(call, name)
        if one is not None:
            found.append(one)
    return found


def _one(call: Call, name: str) -> dict[str, Any] | None:
    q, k, v = (t.detach().clone().requires_grad_() for t in (call.query, call.key, call.value))
    bias, causal = _mask(call)
    seconds = []
    try:
        for _ in range(REPEATS):
            for t in (q, k, v):
                t.grad = None
            start = time.perf_counter()
            with torch.enable_grad(), sdpa_kernel(getattr(SDPBackend, name)):
                out = scaled_dot_product_attention(
                    q, k, v, attn_mask=bias, is_causal=causal, scale=call.scale, enable_gqa=q.shape[1] != k.shape[1]
                )
                if call.grad_out is not None:
                    out.backward(call.grad_out.detach().to(out.dtype))
            if q.is_cuda:
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - start)
    except REFUSED:
        return None
    made = {"out": out.detach()}
    plain = Call(call.op, q.detach(), k.detach(), v.detach(), bias, causal, False, 0.0, call.scale)
    try:
        gaps = Shadow(plain, made).run()
        if call.grad_out is not None:
            grads = {"grad_query": q.grad, "grad_key": k.grad, "grad_value": v.grad}
            plain.out, plain.grad_out = out.detach(), call.grad_out.detach()
            gaps += Shadow(plain, {key: g for key, g in grads.items() if g is not None}).run()
    except Unchecked:
        return None
    worst = max(gaps, key=lambda gap: gap.ratio)
    return {
        "name": name.lower().replace("_", "-"),
        "right": not any(gap.differ for gap in gaps),
        "error": number(worst.error),
        "allowed": number(worst.allowed),
        "seconds": min(seconds),
    }


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
