"""Settings of the optimizer."""

from __future__ import annotations

from collections.abc import Iterator

from nanscope.fixes.fix import Candidate, Safety, candidate, family
from nanscope.fixes.site import Site
from nanscope.fixes.syntax import backwards, constant, optimizers, steps, torch_in, with_keyword


@family(15)
def epsilon(site: Site) -> Iterator[Candidate]:
    """A larger eps in the optimizer's denominator."""
    if "optimizer-epsilon" not in site.causes or site.main is None:
        return
    for call in optimizers(site.main).values():
        for eps in ("1e-4", "1e-3"):
            yield candidate(
                "optimizer-eps", ("optimizer-epsilon",), Safety.CHANGES_TRAINING,
                f"eps={eps} for the optimizer: large enough for the format of the parameters",
                f"옵티마이저에 eps={eps}: 파라미터의 자료형에서 0이 되지 않는 값",
                (site.main, with_keyword(site.main, call, "eps", eps)),
            )  # fmt: skip


@family(45)
def rate(site: Site) -> Iterator[Candidate]:
    """A tenth of the learning rate."""
    if site.main is None or not {"divergence", "outlier-input", "dead-units"} & set(site.causes):
        return
    for call in optimizers(site.main).values():
        given = next((k.value for k in call.keywords if k.arg == "lr"), call.args[1] if len(call.args) > 1 else None)
        value = constant(site.main, given) if given is not None else site.facts.get("optimizer.lr")
        if given is not None and value is None:
            edit = site.main.replace(given, f"0.1 * {site.main.operand(given)}")
            en, ko = "a tenth of the learning rate", "학습률을 10분의 1로 합니다"
        elif isinstance(value, float) and value > 0:
            lower = f"{value / 10:g}"
            positional = given is not None and given in call.args
            edit = site.main.replace(call.args[1], lower) if positional else with_keyword(site.main, call, "lr", lower)
            en, ko = f"a learning rate of {lower} instead of {value:g}", f"학습률을 {value:g} 대신 {lower}로 합니다"
        else:
            continue
        yield candidate(
            "lower-rate", ("divergence", "dead-units"), Safety.CHANGES_TRAINING,
            en, ko,
            (site.main, edit),
        )  # fmt: skip


@family(46)
def clip(site: Site) -> Iterator[Candidate]:
    """Gradients clipped to a norm of 1 before the update."""
    if site.main is None or not {"divergence", "outlier-input"} & set(site.causes):
        return
    for statement, optimizer in steps(site.main):
        torch = torch_in(site.main)
        if torch is None or not site.main.alone(statement):
            continue
        parameters = f'[p for group in {optimizer}.param_groups for p in group["params"]]'
        yield candidate(
            "clip-gradients", ("divergence",), Safety.CHANGES_TRAINING,
            "clip the gradients to a norm of 1 before the update", "업데이트 전에 기울기의 노름을 1로 자릅니다",
            (site.main, site.main.before(statement, f"{torch}.nn.utils.clip_grad_norm_({parameters}, 1.0)")),
        )  # fmt: skip


@family(15)
def zero_grad(site: Site) -> Iterator[Candidate]:
    """Gradients zeroed before every backward pass."""
    if site.main is None or "missing-zero-grad" not in site.causes:
        return
    source = site.main
    for _, optimizer in steps(source):
        for statement in backwards(source):
            yield candidate(
                "zero-gradients", ("missing-zero-grad",), Safety.CHANGES_TRAINING,
                "set the gradients to zero before every backward pass", "역전파하기 전에 매번 기울기를 0으로 되돌립니다",
                (source, source.before(statement, f"{optimizer}.zero_grad()")),
            )  # fmt: skip
