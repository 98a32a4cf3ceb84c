"""A call of fused attention beside the formula in float64 from the same inputs: what differs by more than its formats allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from nanscope.attention.bound import BackwardBound, ForwardBound, Rounding
from nanscope.attention.formula import Backward, Forward, Inputs
from nanscope.attention.operators import Call, read
from nanscope.attention.statistics import MASKED, Heads
from nanscope.replay.values import number, unravel

Tensor = torch.Tensor
PAIRS_MAX = 1 << 22  # logits that are computed at a time: some 20 tensors of 32 MB
WHOLE_MAX = 1 << 26  # logits in all; of a larger call some heads are left out
IMPROBABLE = 1e-12  # a verdict about random numbers that is wrong so rarely


class Unchecked(Exception):
    """The call cannot be compared; the text says why."""


@dataclass
class Gap:
    """One result of a kernel beside the formula. `ratio` is the largest error over what is allowed there; `of` elements were
    compared, `differ` of them are beyond. `index`, `value`, `reference`, `error`, `allowed` are those of that element."""

    name: str
    dtype: str
    of: int = 0
    differ: int = 0
    ratio: float = 0.0
    error: float = 0.0
    allowed: float = 0.0
    value: float = 0.0
    reference: float = 0.0
    index: list[int] | None = None
    expected: bool = False  # what was compared is a mean over the elements that dropout may have left out

    def plain(self) -> dict[str, Any]:
        """As the ledger holds it."""
        found: dict[str, Any] = {"name": self.name, "dtype": self.dtype, "of": self.of, "differ": self.differ}
        for key in ("ratio", "error", "allowed", "value", "reference"):
            found[key] = number(getattr(self, key))
        if self.index is not None:
            found["index"] = self.index
        if self.expected:
            found["expected"] = True
        return found


class Shadow:
    """Compares what one call gave, `given` by the names of `operators.results`. Raises `Unchecked`."""

    def __init__(self, call: Call, given: dict[str, Tensor]) -> None:
        self.call = call
        self.given = given
        q, k, v = call.query, call.key, call.value
        self.batch, self.heads, self.queries, _ = q.shape
        self.keys, self.key_heads = k.shape[2], k.shape[1]
        if not all(t.numel() for t in (q, k, v)):
            raise Unchecked("it is empty")
        if v.shape[1] != k.shape[1] or self.heads % self.key_heads:
            raise Unchecked("its heads do not belong together")
        if call.softcap:
            raise Unchecked("its logits are capped")
        read = [q, k, v] + ([call.grad_out] if call.grad_out is not None else [])
        if not all(bool(torch.isfinite(t).all()) for t in read):
            raise Unchecked("its inputs are not finite")
        if call.bias is not None and bool((torch.isnan(call.bias) | (call.bias == torch.inf)).any()):
            raise Unchecked("its mask holds nan or inf")
        self.groups = self.heads // self.key_heads
        self.rounding = Rounding.of(q.dtype, q.device.type)
        self.gaps = {name: Gap(name, str(t.dtype).removeprefix("torch.")) for name, t in given.items()}
        self.compared = self.total = self.batch * self.key_heads
        self.seen: Heads | None = None  # what the heads see, gathered on the way where somebody wants it
        self._sums: dict[str, list[float]] = {}

    def run(self) -> list[Gap]:
        """Every result, compared."""
        with torch.no_grad():
            for part in self._parts():
                self._part(*part)
        for name, sums in self._sums.items():
            self._judge_mean(self.gaps[name], *sums)
        return list(self.gaps.values())

    def _parts(self) -> Iterator[tuple[int, int, int]]:
        """`(batch element, first key head, one past the last)`: what is computed at a time."""
        each = self.groups * self.queries * self.keys
        size = max(1, min(self.key_heads, PAIRS_MAX // max(each, 1)))
        pieces = [
            (b, h, min(h + size, self.key_heads)) for b in range(self.batch) for h in range(0, self.key_heads, size)
        ]
        most = max(1, WHOLE_MAX // max(each * size, 1))
        if len(pieces) > most:
            stride = -(-len(pieces) // most)
            pieces = pieces[::stride]
            self.compared = sum(last - first for _, first, last in pieces)
        if size == self.key_heads and self.batch * each * size <= PAIRS_MAX:
            yield -1, 0, self.key_heads
            return
        yield from pieces

    # ---- one part

    def inputs(self, b: int, first: int, last: int) -> Inputs:
        """Batch element `b` (-1: all) and key heads from `first` to `last`, in float64."""
        call, groups = self.call, self.groups
        at = slice(None) if b < 0 else slice(b, b + 1)

        def kv(tensor: Tensor) -> Tensor:
            return tensor.detach()[at, first:last].double().flatten(0, 1).unsqueeze(1)

        query = self._grouped(call.query, b, first, last)
        return Inputs(query, kv(call.key), kv(call.value), self._bias(at, first * groups, last * groups), call.scale)

    def _grouped(self, tensor: Tensor, b: int, first: int, last: int) -> Tensor:
        """[B, H, L, D] as [N, G, L, D]."""
        at = slice(None) if b < 0 else slice(b, b + 1)
        part = tensor.detach()[at, first * self.groups : last * self.groups].double()
        return part.reshape(-1, self.groups, *tensor.shape[2:])

    def _bias(self, at: slice, first: int, last: int) -> Tensor | None:
        call = self.call
        bias = None
        if call.bias is not None:
            whole = call.bias.detach().expand(self.batch, self.heads, self.queries, self.keys)
            bias = whole[at, first:last].double()
        excluded = excluded_keys(call)
        if excluded is not None:
            if bias is None:
                rows = (self.batch if at.stop is None else 1) * (last - first)
                bias = torch.zeros(1, rows, 1, 1, dtype=torch.float64, device=excluded.device).expand(
                    1, rows, self.queries, self.keys
                )
            bias = bias.masked_fill(excluded, -torch.inf)
        return None if bias is None else bias.reshape(-1, self.groups, self.queries, self.keys)

    def _part(self, b: int, first: int, last: int) -> None:
        inputs = self.inputs(b, first, last)
        f = Forward(inputs)
        ahead = ForwardBound(inputs, f, self.rounding)
        skip = f.keyless | ahead.overflow
        place = (b, first)
        if not self.call.backward:
            if self.seen is not None:
                self._look(self.seen, inputs, f, first)
            if "logsumexp" in self.given:
                self._logsumexp(f, ahead, skip, place)
            out = self._grouped(self.given["out"], b, first, last)
            if self.call.dropout:
                self._dropped(inputs, f, ahead, out)
            else:
                self._compare("out", out, f.out, ahead.out, skip[..., None], place)
            return
        assert self.call.grad_out is not None
        grad_out = self._grouped(self.call.grad_out, b, first, last)
        if self.call.out is not None and not bool(torch.isfinite(self.call.out).all()):
            raise Unchecked("what it kept from forward is not finite")
        if bool(ahead.overflow.any()):
            raise Unchecked("its products may leave the number format")
        back = Backward(inputs, f, grad_out)
        behind = BackwardBound(inputs, f, back, ahead, self.rounding)
        if self.call.dropout:
            self._dropped_backward(inputs, f, back, behind, b, first, last)
            return
        none = torch.zeros((), dtype=torch.bool, device=f.p.device)
        if "grad_query" in self.given:
            given = self._grouped(self.given["grad_query"], b, first, last)
            self._compare("grad_query", given, back.query, behind.query, none, place)
        at = slice(None) if b < 0 else slice(b, b + 1)
        for name, mine, allowed in (
            ("grad_key", back.key, behind.key), ("grad_value", back.value, behind.value),
        ):  # fmt: skip
            if name in self.given:
                given = self.given[name].detach()[at, first:last].double().flatten(0, 1).unsqueeze(1)
                self._compare(name, given, mine, allowed, none, place)
        bias = self.given.get("grad_bias")
        if bias is not None and bias.shape == (self.batch, self.heads, self.queries, self.keys):
            self._compare("grad_bias", self._grouped(bias, b, first, last), back.bias, behind.bias, none, place)

    def _look(self, heads: Heads, inputs: Inputs, f: Forward, first: int) -> None:
        seen = f.logits != -torch.inf
        if inputs.bias is not None:
            seen &= inputs.bias > MASKED
        pairs, groups = f.p.shape[:2]
        head = first + torch.arange(pairs) % self.key_heads
        heads.add(head[:, None] * groups + torch.arange(groups), f.raw, seen, f.p)

    def _logsumexp(self, f: Forward, ahead: ForwardBound, skip: Tensor, place: tuple[int, int]) -> None:
        lse = self.given["logsumexp"].detach()
        if lse.dim() != 3 or lse.shape[:2] != (self.batch, self.heads) or lse.shape[2] < self.queries:
            self.gaps.pop("logsumexp", None)  # padded or packed in a way of its own
            return
        b, first = place
        at = slice(None) if b < 0 else slice(b, b + 1)
        count = f.lse.shape[0] // (self.batch if b < 0 else 1)
        part = lse[at, first * self.groups : (first + count) * self.groups, : self.queries].double()
        self._compare("logsumexp", part.reshape(f.lse.shape[:-1]), f.lse[..., 0], ahead.lse[..., 0], skip, place)

    def _compare(
        self, name: str, given: Tensor, reference: Tensor, allowed: Tensor, skip: Tensor, place: tuple[int, int]
    ) -> None:
        gap = self.gaps[name]
        error = (given - reference).abs()
        error = torch.where(torch.isnan(error), torch.inf, error)
        limit = self.rounding.largest if name != "logsumexp" else math.inf
        unsure = skip | (reference.abs() + allowed >= limit)  # it may be infinite there
        ratio = torch.where(unsure, 0.0, error / allowed)
        gap.of += ratio.numel() - int(unsure.expand_as(ratio).sum())
        gap.differ += int((ratio > 1).sum())
        flat = ratio.reshape(-1)
        worst = int(flat.argmax())
        if gap.index is None or float(flat[worst]) > gap.ratio:
            gap.ratio = float(flat[worst])
            gap.error, gap.allowed = float(error.reshape(-1)[worst]), float(allowed.reshape(-1)[worst])
            gap.value, gap.reference = float(given.reshape(-1)[worst]), float(reference.reshape(-1)[worst])
            gap.index = self._index(unravel(worst, ratio.shape), place, name)

    def _index(self, at: list[int], place: tuple[int, int], name: str) -> list[int]:
        """[N, G, ...] as [batch, head, ...]."""
        b, first = place
        heads = 1 if name in ("grad_key", "grad_value") else self.groups
        whole, head = divmod(at[0], self.key_heads) if b < 0 else (b, first + at[0])
        return [whole, head * heads + (at[1] if heads > 1 else 0), *at[2:]]

    # ---- dropout: what is left out is not known, so a mean over many elements is compared with its expectation

    def _dropped(self, inputs: Inputs, f: Forward, ahead: ForwardBound, out: Tensor) -> None:
        """The kernel's output, weighted by the formula's: sum_i o_i o'_i = sum_ij (m_ij / (1 - p)) p_ij (v_j o_i), of which every
        term is independent of the others."""
        terms = f.p * (f.out @ inputs.value.mT)
        self._mean("out", out, f.out, ahead.out, lambda weight: weight * terms)

    def _dropped_backward(
        self, inputs: Inputs, f: Forward, back: Backward, behind: BackwardBound, b: int, first: int, last: int
    ) -> None:
        """Given dO the gradients are linear in the mask as well: dS_ij = p_ij (m_ij / (1 - p) dP_ij - D_i), and so is D."""
        at = slice(None) if b < 0 else slice(b, b + 1)

        def kv(name: str) -> Tensor:
            return self.given[name].detach()[at, first:last].double().flatten(0, 1).unsqueeze(1)

        if "grad_value" in self.given:
            terms = f.p * (back.grad_out @ back.value.mT)
            self._mean("grad_value", kv("grad_value"), back.value, behind.value, lambda weight: weight * terms)

        def through_scores(along: Tensor) -> Tensor:
            """An element of the mask is in D of its whole row: weights of keys do not factor out."""
            return f.p * back.grad_p * (along - (f.p * along).sum(-1, keepdim=True))

        if "grad_query" in self.given:
            given = self._grouped(self.given["grad_query"], b, first, last)
            along_query = inputs.scale * (back.query @ inputs.key.mT)
            self._mean(
                "grad_query", given, back.query, behind.query, lambda weight: through_scores(weight * along_query)
            )
        if "grad_key" in self.given:
            along_key = inputs.scale * (inputs.query @ back.key.mT)
            self._mean(
                "grad_key", kv("grad_key"), back.key, behind.key, lambda weight: through_scores(weight * along_key)
            )

    def _mean(
        self, name: str, given: Tensor, reference: Tensor, allowed: Tensor, terms: Callable[[Tensor], Tensor]
    ) -> None:
        """Adds up rows of a result [N, G, L, D] or [N, 1, S, D], each with the weight that makes an error of all of them show best:
        what is expected of it over its variance. `terms` gives what the sum is of in the mean, [N, G, L, S], an element of the
        mask each, for weights of queries [N, G, L, 1] or of keys [N, 1, 1, S]."""
        rate = self.call.dropout
        by_key = name in ("grad_key", "grad_value")
        size = reference.square().sum(-1)
        alone = terms(torch.ones((), dtype=torch.float64, device=reference.device)).square()
        squares = alone.sum((1, 2)).unsqueeze(1) if by_key else alone.sum(-1)
        weight = torch.where(squares > 0, size / squares.clamp(min=1e-300), 0.0)
        weighted = terms(weight.unsqueeze(-2 if by_key else -1))
        # What rounding may add: every error is that of a probability, of which 1 / (1 - p) is left at most.
        rounding = (weight * (reference.abs() * allowed).sum(-1)).sum() * 2 / (1 - rate)
        found = [
            float((weight * (reference * given).sum(-1)).sum()), float((weight * size).sum()), float(rounding),
            float(weighted.square().sum()) * rate / (1 - rate), float(weighted.abs().max()) / (1 - rate),
            float(given.numel()),
        ]  # fmt: skip
        sums = self._sums.setdefault(name, [0.0] * 6)
        for i, value in enumerate(found):
            sums[i] = max(sums[i], value) if i == 4 else sums[i] + value

    def _judge_mean(
        self, gap: Gap, given: float, reference: float, rounding: float, variance: float, largest: float, of: float
    ) -> None:
        """By Bernstein's inequality a sum is farther away than t with probability 2 exp(-t^2 / 2 / (variance + largest t / 3))."""
        a = math.log(2 / IMPROBABLE)
        t = largest * a / 3 + math.sqrt((largest * a / 3) ** 2 + 2 * a * variance)
        gap.of, gap.expected = int(of), True
        gap.value, gap.reference = given, reference
        gap.error, gap.allowed = abs(given - reference), t + rounding
        if gap.error != gap.error:
            gap.error = math.inf
        gap.ratio = gap.error / gap.allowed if gap.allowed else (math.inf if gap.error else 0.0)
        gap.differ = gap.of if gap.ratio > 1 else 0


def formula(func: Any, args: Any, kwargs: Any) -> list[Tensor] | None:
    """What an operator of fused attention should give, in float64: output, or gradients. `None` for any other operator, for one
    that cannot be told, and for a large one."""
    call = read(func, args, kwargs)
    if call is None or call.dropout or call.query.shape[:-1].numel() * call.key.shape[2] > PAIRS_MAX:
        return None
    try:
        inputs = Shadow(call, {}).inputs(-1, 0, call.key.shape[1])
    except Unchecked:
        return None
    with torch.no_grad():
        f = Forward(inputs)
        if call.grad_out is None:
            return [f.out]
        back = Backward(inputs, f, call.grad_out.detach().double().reshape(f.out.shape))
        return [back.query, back.key, back.value]


def excluded_keys(call: Call) -> Tensor | None:
    """Keys that causality or a window leaves out, [L, S]; `None` where all may be seen."""
    queries, keys = call.query.shape[2], call.key.shape[2]
    left, right = call.window or (-1, -1)
    if call.causal:
        right = 0
    if left < 0 and right < 0:
        return None
    device = call.query.device
    shift = keys - queries if call.align_end else 0
    offset = torch.arange(keys, device=device)[None, :] - torch.arange(queries, device=device)[:, None] - shift
    excluded = torch.zeros_like(offset, dtype=torch.bool)
    if right >= 0:
        excluded |= offset > right
    if left >= 0:
        excluded |= offset < -left
    return excluded
