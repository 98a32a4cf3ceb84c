"""Fused attention by its operators: what each is called with, brought into one form.

Known are the backends of `torch.nn.functional.scaled_dot_product_attention`, and FlashAttention and xFormers by the operators that
they register. A kernel that is called in any other way looks like any other operator, and is taken for one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

Tensor = torch.Tensor


@dataclass
class Call:
    """One call. `query`, `key`, `value`, `grad_out`, `out` are [B, H, L, D] whatever the kernel takes; `bias` broadcasts to
    [B, H, L, S] and is added. `align_end`: a causal mask whose last row sees every key; otherwise its first row sees the first."""

    op: str
    query: Tensor
    key: Tensor
    value: Tensor
    bias: Tensor | None
    causal: bool
    align_end: bool
    dropout: float
    scale: float
    window: tuple[int, int] | None = None  # keys before and after the diagonal that are seen
    softcap: float = 0.0
    out: Tensor | None = None
    grad_out: Tensor | None = None

    @property
    def backward(self) -> bool:
        return self.grad_out is not None

    @property
    def backend(self) -> str:
        """A short name, as `flash-attention-for-cpu`."""
        name = self.op.split(".")[1].strip("_")
        for part in ("scaled_dot_product_", "_forward", "_backward", "_fwd", "_bwd"):
            name = name.replace(part, "")
        return name.replace("_", "-")


@dataclass(frozen=True)
class Signature:
    """Where the parts are in the schema of an operator, and in its results. `heads_last`: tensors are [B, L, H, D]. `results` are
    the position of the output, or of the gradients of query, key, value and bias; `lse` that of log sum exp [B, H, L]."""

    bias: str | None = None
    scale: str = "scale"
    causal: str | None = "is_causal"
    grad_out: str | None = None
    results: tuple[int, ...] = (0,)
    lse: int | None = None
    heads_last: bool = False
    align_end: bool = False
    names: tuple[str, str, str] = ("query", "key", "value")
    out: str = "out"
    dropout: str = "dropout_p"
    refuse: tuple[str, ...] = ()  # arguments that make it something else: sequences of several lengths in one tensor


_FORWARD = Signature(lse=1)
_BACKWARD = Signature(grad_out="grad_out", results=(0, 1, 2))
_BIASED = Signature(bias="attn_bias", lse=1)
_PACKED = ("cum_seq_q", "cum_seq_k", "alibi_slopes", "seqused_k", "cu_seqlens_q", "cu_seqlens_k", "seqlen_k", "block_table",
           "seqstart_q", "seqstart_k", "alibi_slopes_", "window_size", "bias")  # fmt: skip

SIGNATURES: dict[str, Signature] = {
    "aten._scaled_dot_product_flash_attention_for_cpu": Signature(bias="attn_mask", lse=1),
    "aten._scaled_dot_product_flash_attention_for_cpu_backward": Signature(
        bias="attn_mask", grad_out="grad_out", results=(0, 1, 2)
    ),
    "aten._scaled_dot_product_flash_attention": Signature(lse=1, align_end=True),  # as torch.nn.attention.bias has it
    "aten._scaled_dot_product_flash_attention_backward": Signature(
        grad_out="grad_out", results=(0, 1, 2), align_end=True
    ),
    "aten._scaled_dot_product_efficient_attention": _BIASED,
    "aten._scaled_dot_product_efficient_attention_backward": Signature(
        bias="attn_bias", grad_out="grad_out_", results=(0, 1, 2, 3)
    ),
    "aten._scaled_dot_product_cudnn_attention": _BIASED,
    "aten._scaled_dot_product_cudnn_attention_backward": Signature(
        bias="attn_bias", grad_out="grad_out", results=(0, 1, 2)
    ),
    "aten._scaled_dot_product_fused_attention_overrideable": _BIASED,
    "aten._scaled_dot_product_fused_attention_overrideable_backward": Signature(
        bias="attn_bias", grad_out="grad_out", results=(0, 1, 2, 3)
    ),
    "aten._scaled_dot_product_attention_math": Signature(bias="attn_mask", refuse=("dropout_mask",)),
    "aten._scaled_dot_product_attention_math_for_mps": Signature(bias="attn_mask", refuse=("dropout_mask",)),
    "aten._flash_attention_forward": Signature(lse=1, heads_last=True, align_end=True, refuse=_PACKED),
    "aten._flash_attention_backward": Signature(
        grad_out="grad_out", results=(0, 1, 2), heads_last=True, align_end=True, refuse=_PACKED
    ),
    "flash_attn._flash_attn_forward": Signature(
        scale="softmax_scale", causal="causal", lse=1, heads_last=True, align_end=True, names=("q", "k", "v"), refuse=_PACKED
    ),
    "flash_attn._flash_attn_backward": Signature(
        scale="softmax_scale", causal="causal", grad_out="dout", heads_last=True, align_end=True, names=("q", "k", "v"),
        results=(), refuse=_PACKED,
    ),
    "xformers_flash.flash_fwd": Signature(
        scale="softmax_scale", causal="is_causal", lse=1, heads_last=True, align_end=True, dropout="p", refuse=_PACKED
    ),
    "xformers.efficient_attention_forward_cutlass": Signature(
        bias="attn_bias", causal=None, heads_last=True,
        refuse=("seqstart_q", "seqstart_k", "seqlen_k", "custom_mask_type", "window_size"),
    ),
}  # fmt: skip
_NAMED = {"dq": 0, "dk": 1, "dv": 2}  # results that a kernel writes into arguments


def read(func: Any, args: Any, kwargs: Any) -> Call | None:
    """The call, where `func` is an attention that is understood; `None` for any other operator and for what is not."""
    signature = SIGNATURES.get(str(func).rsplit(".", 1)[0])
    if signature is None:
        return None
    given = bound(func, args, kwargs)
    if any(_is_set(given.get(name)) for name in signature.refuse):
        return None
    if not all(isinstance(given.get(name), Tensor) for name in signature.names):
        return None
    query, key, value = (_turned(given[name], signature) for name in signature.names)
    if not (query.dim() == key.dim() == value.dim() == 4 and query.is_floating_point()) or _nested(query, key, value):
        return None
    bias = given.get(signature.bias) if signature.bias is not None else None
    if bias is not None and not (isinstance(bias, Tensor) and bias.numel()):
        bias = None
    if bias is not None and bias.dtype is torch.bool:
        bias = torch.zeros(bias.shape, dtype=query.dtype, device=bias.device).masked_fill_(~bias, -torch.inf)
    scale = given.get(signature.scale)
    window = (given.get("window_size_left", -1), given.get("window_size_right", -1))
    grad_out = given.get(signature.grad_out) if signature.grad_out is not None else None
    if signature.grad_out is not None and not isinstance(grad_out, Tensor):
        return None
    out = given.get(signature.out)
    return Call(
        op=str(func),
        query=query,
        key=key,
        value=value,
        bias=bias,
        causal=bool(signature.causal is not None and given.get(signature.causal)),
        align_end=signature.align_end,
        dropout=float(given.get(signature.dropout) or 0.0),
        scale=float(scale) if scale is not None else 1.0 / math.sqrt(query.shape[-1] or 1),
        window=None if all(side in (-1, None) for side in window) else tuple(-1 if s is None else s for s in window),  # type: ignore[arg-type]
        softcap=float(given.get("softcap") or 0.0),
        out=_turned(out, signature) if isinstance(out, Tensor) and grad_out is not None else None,
        grad_out=_turned(grad_out, signature) if grad_out is not None else None,
    )


def results(func: Any, args: Any, kwargs: Any, result: Any) -> dict[str, Tensor]:
    """What the kernel gave, by name: `out` and `logsumexp`, or `grad_query`, `grad_key`, `grad_value`, `grad_bias`."""
    signature = SIGNATURES[str(func).rsplit(".", 1)[0]]
    given = list(result) if isinstance(result, (tuple, list)) else [result]
    if signature.grad_out is None:
        found = {"out": _turned(given[0], signature)}
        if signature.lse is not None and len(given) > signature.lse and isinstance(given[signature.lse], Tensor):
            found["logsumexp"] = given[signature.lse]
        return found
    names = ("grad_query", "grad_key", "grad_value", "grad_bias")
    if not signature.results:
        arguments = bound(func, args, kwargs)
        return {
            names[i]: _turned(arguments[k], signature)
            for k, i in _NAMED.items()
            if isinstance(arguments.get(k), Tensor)
        }
    found = {}
    for name, position in zip(names, signature.results, strict=False):
        tensor = given[position] if position < len(given) else None
        if isinstance(tensor, Tensor) and tensor.numel() and tensor.dim() == 4:
            found[name] = _turned(tensor, signature) if name != "grad_bias" else tensor
    return found


def bound(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """Arguments by the names of the schema, defaults among them."""
    found = {a.name: a.default_value for a in func._schema.arguments}
    found.update(zip((a.name for a in func._schema.arguments), args, strict=False))
    found.update(kwargs)
    return found


def _turned(tensor: Tensor, signature: Signature) -> Tensor:
    return tensor.transpose(1, 2) if signature.heads_last and tensor.dim() == 4 else tensor


def _nested(*tensors: Tensor) -> bool:
    return any(t.is_nested or t.layout is not torch.strided for t in tensors)


def _is_set(value: Any) -> bool:
    return value.numel() > 0 if isinstance(value, Tensor) else value not in (None, 0, False)
