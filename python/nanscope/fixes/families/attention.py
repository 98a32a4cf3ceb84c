"""Attention: another backend, or logits that cannot grow as large."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site, Suspect
from nanscope.fixes.syntax import name_of, torch_in

CAP = 50.0  # as Gemma 2 caps the logits of its attention
PRODUCTS = ("bmm", "baddbmm", "mm", "matmul")
TURNED = ("transpose", "swapaxes", "permute", "t")


@family(11)
def backend(site: Site) -> Iterator[Candidate]:
    """The call below `sdpa_kernel` of a backend that gave what the formula gives."""
    for suspect in site.suspects:
        call = attention(site, suspect)
        if call is None or call["kind"] != "fused" or not isinstance(suspect.node, ast.Call):
            continue
        source = suspect.source
        statement = source.above(suspect.node, ast.stmt)
        if not isinstance(statement, ast.stmt) or not source.alone(statement):
            continue
        torch = torch_in(source)
        if torch is None:
            continue
        right = [one["name"] for one in call.get("backends", []) if one["right"]] or ["math"]
        for name in right[:2]:
            member = name.upper().replace("-", "_")
            header = f"with {torch}.nn.attention.sdpa_kernel({torch}.nn.attention.SDPBackend.{member}):"
            yield candidate(
                f"attention-{name}", ("kernel-mismatch",), Safety.CHANGES_TRAINING,
                f"attention by the backend {name}", f"어텐션을 {name} 백엔드로 실행합니다",
                *((source, edit) for edit in source.nested(statement, header)),
            )  # fmt: skip


@family(13)
def scaled_query(site: Site) -> Iterator[Candidate]:
    """`q / sqrt(d) @ k` instead of `(q @ k) / sqrt(d)`, and a factor where there is none."""
    for suspect, call in products(site):
        source, (query, _) = suspect.source, suspect.operands[:2]
        up = source.parents.get(suspect.node)
        if isinstance(up, ast.BinOp) and up.left is suspect.node and isinstance(up.op, (ast.Div, ast.Mult)):
            sign = "/" if isinstance(up.op, ast.Div) else "*"
            first = f"({source.operand(query)} {sign} {source.operand(up.right)})"
            product = replaced(suspect, query, first)
            yield candidate(
                "scale-query-first", ("half-overflow",), Safety.CHANGES_TRAINING,
                "scale the query before the product instead of the logits after it",
                "곱한 뒤의 로짓 대신 곱하기 전의 쿼리에 스케일을 적용합니다",
                (source, source.replace(up, product)),
            )  # fmt: skip
        scale = call.get("scale")
        if isinstance(scale, (int, float)) and math.isclose(scale, 1.0):
            text = source.operand(query)
            yield candidate(
                "scale-query", ("half-overflow",), Safety.CHANGES_TRAINING,
                f"divide the query by sqrt({call['width']}), the root of its length",
                f"쿼리를 그 길이의 제곱근 sqrt({call['width']})로 나눕니다",
                (source, source.replace(query, f"({text} * {text}.shape[-1] ** -0.5)")),
            )  # fmt: skip


@family(55)
def bounded_logits(site: Site) -> Iterator[Candidate]:
    """QK normalisation (https://arxiv.org/abs/2302.05442) and soft-capping (https://arxiv.org/abs/2408.00118)."""
    for suspect, _ in products(site):
        source, (query, key) = suspect.source, suspect.operands[:2]
        torch, base = torch_in(source), turned(key)
        if torch is None:
            continue
        if base is not None:
            normed = [
                (source, source.replace(node, f"{torch}.nn.functional.layer_norm({text}, {text}.shape[-1:])"))
                for node in (query, base)
                for text in [source.operand(node)]
            ]
            yield candidate(
                "qk-norm", ("half-overflow",), Safety.CHANGES_TRAINING,
                "normalise queries and keys: a logit is then at most their length",
                "쿼리와 키를 정규화합니다: 그러면 로짓은 그 길이를 넘지 않습니다",
                *normed,
            )  # fmt: skip
        text = source.operand(suspect.node) if isinstance(suspect.node, ast.expr) else ""
        yield candidate(
            "soft-cap", ("half-overflow",), Safety.CHANGES_TRAINING,
            f"cap the logits softly at {CAP:g}", f"로짓을 {CAP:g}에서 부드럽게 제한합니다",
            (source, source.replace(suspect.node, f"({CAP:g} * {torch}.tanh({text} / {CAP:g}))")),
        )  # fmt: skip


def attention(site: Site, suspect: Suspect) -> dict[str, Any] | None:
    """The call of attention that an operator belongs to."""
    index = suspect.entry["index"]
    calls: list[dict[str, Any]] = site.ledger.get("attention", [])
    return next((call for call in calls if index in call["members"]), None)


def products(site: Site) -> Iterator[tuple[Suspect, dict[str, Any]]]:
    """Products of queries and keys that are spelled out."""
    for suspect in site.suspects:
        call = attention(site, suspect)
        is_product = isinstance(suspect.node, ast.BinOp) and isinstance(suspect.node.op, ast.MatMult)
        is_product = is_product or name_of(suspect.node) in PRODUCTS
        if (
            call is not None
            and call.get("product") == suspect.entry["index"]
            and is_product
            and len(suspect.operands) > 1
        ):
            yield suspect, call


def replaced(suspect: Suspect, part: ast.expr, text: str) -> str:
    """The text of the expression with another for one of its parts."""
    source = suspect.source
    start, end = source.span(suspect.node)
    first, last = source.span(part)
    inside = source.text[start:first] + text + source.text[last:end]
    return f"({inside})" if isinstance(suspect.node, ast.BinOp) else inside


def turned(key: ast.expr) -> ast.expr | None:
    """`k` of `k.transpose(-2, -1)` and of `k.mT`; `None` where it is not known what was turned."""
    if isinstance(key, ast.Attribute) and key.attr in ("mT", "T", "mH"):
        return key.value
    if isinstance(key, ast.Call) and isinstance(key.func, ast.Attribute) and key.func.attr in TURNED:
        return key.func.value
    return None
