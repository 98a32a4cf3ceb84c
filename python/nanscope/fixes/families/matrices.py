"""A matrix that is singular, or whose spectrum is degenerate, is moved a little."""

from __future__ import annotations

from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.syntax import torch_in

SPECTRUM = ("svd", "eigh", "qr", "eig")
INVERSE = (
    "inv",
    "inverse",
    "solve",
    "cholesky",
    "logdet",
    "slogdet",
    "det",
    "pinv",
    "inv_ex",
    "solve_ex",
    "cholesky_ex",
)


@family(15)
def matrices(site: Site) -> Iterator[Candidate]:
    """`svd(h)` becomes `svd(h + small multiples of 1, 2, 3... on the diagonal)`; `inv(a)` becomes `inv(a + eps * eye)`."""
    for suspect in site.suspects:
        torch = torch_in(suspect.source)
        if torch is None or not suspect.operands:
            continue
        node = suspect.operands[0]
        text = suspect.source.operand(node)
        shape = f"{torch}.eye(*{text}.shape[-2:], dtype={text}.dtype, device={text}.device)"
        if suspect.called(*SPECTRUM):
            diagonal = f"1e-4 * {torch}.arange(1, {text}.shape[-1] + 1, device={text}.device)"
            yield candidate(
                "separate-spectrum", ("degenerate-decomposition",), Safety.CHANGES_TRAINING,
                "add small, different numbers to the diagonal, so that no two singular values are equal",
                "대각 성분에 서로 다른 작은 값을 더해 같은 특잇값이 생기지 않게 합니다",
                (suspect.source, suspect.source.replace(node, f"{text} + {shape} * ({diagonal})")),
            )  # fmt: skip
        if suspect.called(*INVERSE):
            for ridge in ("1e-6", "1e-3"):
                yield candidate(
                    "ridge", ("singular-matrix", "half-overflow", "division-by-zero", "log-of-zero"), Safety.CHANGES_TRAINING,
                    f"add {ridge} to the diagonal, so that the matrix can be inverted",
                    f"대각 성분에 {ridge}을 더해 역행렬이 존재하게 합니다",
                    (suspect.source, suspect.source.replace(node, f"{text} + {ridge} * {shape}")),
                )  # fmt: skip
