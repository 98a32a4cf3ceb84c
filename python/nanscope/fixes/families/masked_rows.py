"""A row in which everything is masked becomes one in which everything counts the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.syntax import name_of

CAUSES = ("fully-masked-row", "masked-class-in-loss", "mask-constant-overflow")
LOWEST = {"float16": "-6e4"}
LOSSES = ("cross_entropy", "kl_div", "nll_loss", "binary_cross_entropy_with_logits")
MASKS = ("key_padding_mask", "src_key_padding_mask", "attn_mask", "mask", "src_mask", "attention_mask")


@family(15)
def masked_rows(site: Site) -> Iterator[Candidate]:
    """A very low finite number stands for -inf: where anything else is in the row it still counts nothing."""
    for suspect in site.suspects:
        source, node = suspect.source, suspect.node
        if isinstance(node, ast.Call):
            keep = name_of(node) == "scaled_dot_product_attention"
            for name in MASKS:
                mask = suspect.keyword(name)
                if mask is None or isinstance(mask, ast.Constant):
                    continue
                text = source.operand(mask)
                open_rows = (
                    f"{text} | ~{text}.any(-1, keepdim=True)" if keep else f"{text} & ~{text}.all(-1, keepdim=True)"
                )
                yield candidate(
                    "open-masked-rows", CAUSES, Safety.SAFE,
                    "a row in which every key is masked is not masked at all",
                    "모든 키가 가려진 행에서는 마스크를 적용하지 않습니다",
                    (source, source.replace(mask, open_rows)),
                )  # fmt: skip
                yield candidate(
                    "finite-mask", CAUSES, Safety.SAFE,
                    "a very low finite number in the mask instead of -inf", "마스크에 -inf 대신 매우 작은 유한한 값을 씁니다",
                    (source, source.method(mask, "clamp(min=-1e30)")),
                )  # fmt: skip
        if (
            isinstance(node, ast.Call)
            and name_of(node) in LOSSES
            and node.args
            and "masked-class-in-loss" in site.causes
        ):
            yield candidate(
                "finite-logits", ("masked-class-in-loss",), Safety.SAFE,
                "logits of -50 at least instead of -inf: such a class has no chance, and its loss is defined",
                "로짓을 -inf 대신 -50 이상으로 합니다: 확률은 사실상 0이고 손실은 정의됩니다",
                (source, source.method(node.args[0], "clamp(min=-50)")),
            )  # fmt: skip
        if suspect.op in ("softmax", "log_softmax", "logsumexp") and suspect.operands and suspect.called(suspect.op):
            low = LOWEST.get(suspect.dtype or "", "-1e30")
            yield candidate(
                "finite-scores", CAUSES, Safety.SAFE,
                f"scores of {low} at least instead of -inf: a row that is all masked is even instead of undefined",
                f"점수를 -inf 대신 {low} 이상으로 합니다: 모두 가려진 행은 정의되지 않는 대신 고르게 됩니다",
                (source, source.method(suspect.operands[0], f"clamp(min={low})")),
            )  # fmt: skip
