"""How the cost of watching grows with the number of parameters and with the number of operators of a step."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from benches.models import Training
from benches.processes import forked
from benches.table import Effort, measure

PARAMETERS = (10**4, 10**5, 10**6, 10**7, 10**8)
OPERATORS = (10**2, 10**3, 10**4, 10**5)
LAYERS, BATCH, WIDTH = 4, 8, 16
EFFORT = Effort(rounds=5, seconds=0.4, limit=25)
QUICK = Effort(rounds=1, seconds=0.02)


class Chain(nn.Module):
    """So many operators, one after the other, on a vector."""

    def __init__(self, operators: int) -> None:
        super().__init__()
        self.operators, self.weight = operators, nn.Parameter(torch.randn(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x * self.weight
        for _ in range(self.operators - 1):
            x = torch.sin(x)
        return x


def mean_square(x: torch.Tensor, _: Any) -> torch.Tensor:
    return x.square().mean()


def of_parameters(count: int) -> Training:
    """Layers without a bias, with so many weights in all."""
    torch.manual_seed(0)
    width = round((count / LAYERS) ** 0.5)
    model = nn.Sequential(*[nn.Linear(width, width, bias=False) for _ in range(LAYERS)])
    batches = [(torch.randn(BATCH, width), torch.randn(BATCH, width))]
    return Training(model, torch.optim.SGD(model.parameters(), lr=1e-4), batches, F.mse_loss, model[1])


def of_operators(count: int, module: bool) -> Training:
    """So many operators forward; in one module, or each called by the loop."""
    torch.manual_seed(0)
    model = Chain(count)
    called = None if module else model.forward
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    return Training(model, optimizer, [(torch.randn(WIDTH), None)], mean_square, None, called=called)


def parameters(count: int, effort: Effort) -> dict[str, Any]:
    return measure(of_parameters(count), ["plain", "nanscope"], effort)


def operators(count: int, module: bool, effort: Effort) -> dict[str, Any]:
    return measure(of_operators(count, module), ["plain", "nanscope"], effort)


def run(models: list[str], quick: bool) -> dict[str, Any]:
    effort, few = (QUICK, 2) if quick else (EFFORT, None)
    found: dict[str, Any] = {"parameters": {}, "module": {}, "functions": {}}
    for count in PARAMETERS[:few]:
        found["parameters"][str(count)] = told(f"{count:.0e} parameters", forked(parameters, count, effort))
    for kind in ("module", "functions"):
        for count in OPERATORS[:few]:
            result = forked(operators, count, kind == "module", effort)
            found[kind][str(count)] = told(f"{count:.0e} operators ({kind})", result)
    return found


def told(what: str, measured: dict[str, Any]) -> dict[str, Any]:
    watch = measured["modes"]["nanscope"]
    print(
        f"  {what:26} plain {measured['plain_ms']:9.3f} ms; nanscope {watch['ratio']:.3f}, {watch['extra_us']:+.0f} us",
        flush=True,
    )
    return {"plain_ms": measured["plain_ms"], **watch}
