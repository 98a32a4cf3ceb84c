"""Attention that is spelled out: matmul, scale, mask, softmax, dropout, matmul, found again in the ledger around a softmax."""

from __future__ import annotations

from typing import Any

PRODUCTS = ("bmm", "baddbmm", "mm", "matmul")
PASSED = ("_to_copy", "clone", "_unsafe_view", "contiguous", "copy", "expand_copy", "native_dropout", "dropout")
BEFORE = ("add", "sub", "mul", "div", "masked_fill", "where", "tanh", "nan_to_num", "clamp", "index_put", "index_fill")
OVER = ("fill", "copy")  # in place, over part of what was there
HOPS_MAX = 12  # operators between two parts
AHEAD_MAX = 40  # entries after the softmax in which the second product must come
MASK_LEAST = 1e3  # a bias of this magnitude is a mask


class Spelled:
    """One attention around the entry `softmax` of `entries`. `under`: for an entry that has written over part of a memory, the
    entry that had written it before."""

    def __init__(self, entries: list[dict[str, Any]], softmax: int, under: dict[int, int]) -> None:
        self.entries = entries
        self.under = under
        self.softmax = softmax
        self.members: list[int] = []
        self.scale: float | None = 1.0
        self.mask: dict[str, Any] | None = None
        self.capped = False
        self.dropout: float | None = None
        self.product = self._up(entries[softmax]["inputs"][0])
        self.values = self._down() if self.product is not None else None
        if self.product is not None:
            self.width = self._width(entries[self.product])
            self._operands(entries[self.product])

    @property
    def found(self) -> bool:
        return self.product is not None and self.values is not None

    def _up(self, arg: dict[str, Any]) -> int | None:
        """From the logits to the product of queries and keys; scale and mask on the way."""
        shape = self.entries[self.softmax]["inputs"][0]["shape"]
        for _ in range(HOPS_MAX):
            index = arg.get("from")
            if index is None:
                return None
            entry = self.entries[index]
            name = base(entry)
            if name in PRODUCTS:
                if not self._learned(entry):
                    self.members.append(index)
                    return int(index)
                return None
            if name in OVER and index in self.under:
                self.members.append(index)
                self._masked_over(entry)
                arg = {"from": self.under[index]}
                continue
            if name not in PASSED and name not in BEFORE:
                return None
            self.members.append(index)
            self._reads(name, entry, shape)
            # What comes from the product has the shape of the logits, or that of several of them side by side.
            inputs = [a for a in entry["inputs"] if a.get("from") is not None and len(a["shape"]) >= 2]
            if not inputs:
                return None
            arg = max(inputs, key=lambda a: (size(a["shape"]), self._is_product(a["from"])))
        return None

    def _is_product(self, index: int) -> bool:
        """Whether an entry is a product, or one step from it."""
        for _ in range(4):
            entry = self.entries[index]
            if base(entry) in PRODUCTS:
                return True
            before = [a["from"] for a in entry["inputs"] if a.get("from") is not None]
            if not before:
                return False
            index = before[0]
        return False

    def _reads(self, name: str, entry: dict[str, Any], shape: list[int]) -> None:
        if name in ("mul", "div"):
            self._scaled(name, entry)
        elif name == "tanh":
            self.capped = True
        elif name == "masked_fill":
            self._masked(entry.get("scalars", {}).get("value"), entry["inputs"][0]["dtype"], "filled")
        elif name in ("add", "sub", "where", "index_put", "index_fill"):
            for arg in entry["inputs"]:
                self._bias(arg, entry)

    def _masked_over(self, entry: dict[str, Any]) -> None:
        """Part of the logits was set to one number."""
        value = entry.get("scalars", {}).get("value")
        if value is not None:
            self._masked(value, entry["outputs"][0]["dtype"], "filled")
        for arg in entry["inputs"]:
            if (arg.get("counts") or {}).get("neginf"):
                self._masked("-inf", arg["dtype"], "filled")

    def _bias(self, arg: dict[str, Any], entry: dict[str, Any]) -> None:
        counts = arg.get("counts")
        if counts is None or (arg.get("from") is not None and self._is_product(arg["from"])):
            return
        if counts["neginf"]:
            self._masked("-inf", arg["dtype"], "added")
        elif (counts.get("max_abs") or 0.0) >= MASK_LEAST:
            self._masked(-counts["max_abs"], arg["dtype"], "added")

    def _masked(self, constant: Any, dtype: str, kind: str) -> None:
        self.mask = {"kind": kind, "dtype": dtype}
        if constant is not None:
            self.mask["constant"] = constant

    def _scaled(self, name: str, entry: dict[str, Any]) -> None:
        factor = entry.get("scalars", {}).get("other", entry.get("scalars", {}).get("scalar"))
        if factor is None and not any(not a["shape"] for a in entry["inputs"]) and len(entry["inputs"]) > 1:
            return  # a product of two tensors: a mask, or a gate
        if self.scale is not None and isinstance(factor, (int, float)) and factor:
            self.scale *= factor if name == "mul" else 1.0 / factor
        else:
            self.scale = None

    def _operands(self, entry: dict[str, Any]) -> None:
        """Queries or keys may have been scaled before."""
        if base(entry) == "baddbmm":
            alpha = entry.get("scalars", {}).get("alpha")
            if self.scale is not None and isinstance(alpha, (int, float)):
                self.scale *= alpha
            self._bias(entry["inputs"][0], entry)
        for arg in entry["inputs"][-2:]:
            for _ in range(3):
                if arg.get("from") is None:
                    break
                before = self.entries[arg["from"]]
                if base(before) in ("mul", "div"):
                    self.members.append(before["index"])
                    self._scaled(base(before), before)
                    break
                if base(before) not in PASSED:
                    break
                arg = before["inputs"][0]

    @staticmethod
    def _width(entry: dict[str, Any]) -> int:
        """Length of a query."""
        return int(entry["inputs"][-2]["shape"][-1])

    def _learned(self, entry: dict[str, Any]) -> bool:
        """A product with a parameter is a layer: what it gives are scores of classes, not of keys."""
        for arg in entry["inputs"][-2:]:
            if arg.get("from") is not None and base(self.entries[arg["from"]]) in PASSED:
                arg = self.entries[arg["from"]]["inputs"][0]
            if (arg.get("source") or {}).get("kind") == "param":
                return True
        return False

    def _down(self) -> int | None:
        """From the probabilities to the product with the values."""
        reached = {self.softmax}
        members: list[int] = []
        for entry in self.entries[self.softmax + 1 : self.softmax + 1 + AHEAD_MAX]:
            if entry["phase"] != self.entries[self.softmax]["phase"]:
                break
            if not any(arg.get("from") in reached for arg in entry["inputs"]):
                continue
            name = base(entry)
            if name in PRODUCTS:
                self.members += [*members, entry["index"]]
                return int(entry["index"])
            if name in PASSED or name in ("mul", "div"):
                rate = entry.get("scalars", {}).get("p")
                if "dropout" in name and isinstance(rate, (int, float)):
                    self.dropout = float(rate)
                reached.add(entry["index"])
                members.append(entry["index"])
        return None

    def plain(self) -> dict[str, Any]:
        """`Attention` of the ledger, as far as the ledger tells it."""
        softmax = self.entries[self.softmax]
        found: dict[str, Any] = {
            "entry": self.softmax,
            "product": self.product,
            "members": sorted({*self.members, self.softmax}),
            "kind": "math" if base(softmax) == "_safe_softmax" else "spelled",
            "op": softmax["op"],
            "dtype": self.entries[self.product or 0]["outputs"][0]["dtype"],
            "width": self.width,
            "shape": softmax["inputs"][0]["shape"],
        }
        if self.scale is not None:
            found["scale"] = self.scale
        if self.mask is not None:
            found["mask"] = self.mask
        if self.dropout:
            found["dropout"] = self.dropout
        if self.capped:
            found["capped"] = True
        return found


def base(entry: dict[str, Any]) -> str:
    """Name of the operator without namespace, overload and the mark of one in place."""
    name: str = entry["op"].split(".")[1]
    return name[:-1] if name.endswith("_") else name


def size(shape: list[int]) -> int:
    """Elements of a shape."""
    n = 1
    for length in shape:
        n *= length
    return n
