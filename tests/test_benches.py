"""The benchmark: its trainings are the same to the bit when watched, its parts run, its page keeps what people wrote."""

import random
from typing import Any

import pytest
import torch

from benches import identity, table, trip
from benches.__main__ import PAGE, PARTS
from benches.models import MODELS, build
from benches.peers import MODES
from benches.render import SECTION, rendered


@pytest.mark.apart
@pytest.mark.parametrize("name", MODELS)
def test_watched_training_is_the_same_to_the_bit(name: str) -> None:
    if name == "llama":
        pytest.importorskip("transformers")
    digests = identity.compared(name, steps=3, small=True)
    assert digests["plain"] == digests["nanscope"]


@pytest.mark.apart
def test_a_digest_sees_one_bit() -> None:
    random.seed(0)
    training = build("mlp", small=True)
    before = identity.digest(training, [])
    assert identity.digest(training, []) == before
    weight = next(training.model.parameters())
    with torch.no_grad():
        weight.view(torch.int32)[0, 0] ^= 1
    assert identity.digest(training, []) != before


@pytest.mark.apart
def test_every_mode_is_measured_or_says_why_not() -> None:
    found = table.run(["mlp"], quick=True)["mlp"]
    assert found["modes"].keys() == MODES.keys() - {"plain"}
    for name in ("nanscope", "anomaly", "dispatch"):
        assert found["modes"][name]["ratio"] > 0
    for name, one in found["modes"].items():
        assert "ratio" in one or one["reason"], name


@pytest.mark.apart
def test_a_planted_value_is_located() -> None:
    found = trip.run(["mlp"], quick=True)["mlp"]
    assert found["right"]
    assert 0 < found["located_s"] <= found["reported_s"]


WATCH = {"ratio": 1.05, "quartiles": [1.04, 1.06], "rounds": 9, "extra_us": 150.0}
FOUND: dict[str, Any] = {
    "table": {"mlp": {"plain_ms": 2.0, "modes": {"nanscope": WATCH, "sherlorch": {"reason": "not installed"}}}},
    "identity": {"mlp": {"steps": 3, "identical": True}},
}


def test_the_page_has_a_section_for_every_part() -> None:
    assert {name for _, name, _, _ in SECTION.findall(PAGE.read_text())} == {"machine", *PARTS}


def test_sections_are_written_and_the_rest_stays() -> None:
    page = PAGE.read_text()
    written = rendered(page, FOUND)
    assert SECTION.sub("", written) == SECTION.sub("", page)
    sections = {name: body for _, name, body, _ in SECTION.findall(written)}
    assert "**1.050**" in sections["table"]
    assert "sherlorch: not installed" in sections["table"]
    assert "identical" in sections["identity"]
    old = {name: body for _, name, body, _ in SECTION.findall(page)}
    assert sections["memory"] == old["memory"]
    assert rendered(written, FOUND) == written


def test_a_part_without_a_section_is_an_error() -> None:
    with pytest.raises(ValueError, match="sections: expected"):
        rendered("no section", FOUND)
