"""The fast path of `nn.MultiheadAttention`: projections, attention and output in one operator, where no gradient is needed."""

from __future__ import annotations

from typing import Any

import torch

from nanscope.attention.operators import Call, bound

NAME = "aten._native_multi_head_attention"


def read(func: Any, args: Any, kwargs: Any) -> Call | None:
    """The attention inside, on queries, keys and values projected anew in float64; `None` where it is masked or something else.
    What the operator gives lies behind another projection, and is not compared."""
    if str(func).rsplit(".", 1)[0] != NAME:
        return None
    given = bound(func, args, kwargs)
    heads, width = given["num_head"], given["embed_dim"]
    if given.get("mask") is not None or any(given[name].is_nested for name in ("query", "key", "value")):
        return None
    weight, bias = given["qkv_weight"].double(), given["qkv_bias"]
    parts = []
    for i, name in enumerate(("query", "key", "value")):
        rows = slice(i * width, (i + 1) * width)
        one = given[name].double() @ weight[rows].mT
        one = one if bias is None else one + bias[rows].double()
        parts.append(one.unflatten(-1, (heads, -1)).transpose(1, 2))
    scale = (width // heads) ** -0.5
    with torch.no_grad():
        return Call(str(func), parts[0], parts[1], parts[2], None, False, False, 0.0, scale)
