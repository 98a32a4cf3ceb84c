"""Models as people train them: no alarm when healthy, the same losses, and the line and layer of a fault that was planted."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest

from tests.launch import PROGRAMS, explained, line_of, plain, watched

LIBRARIES = PROGRAMS / "libraries"
# Every one takes an argument: healthy, data (a NaN in one batch at step 2) or layer (a fault in one block at step 2).
MODELS = {
    "gpt2": ("transformers", "transformer.h.1.mlp"),
    "llama": ("transformers", "model.layers.1.mlp"),
    "resnet18": ("torchvision", "layer3.0"),
}


@pytest.fixture(scope="module", autouse=True)
def _warm_libraries() -> None:
    """Imported before the forks, where they are installed."""
    for name in (
        "transformers.models.gpt2.modeling_gpt2",
        "transformers.models.llama.modeling_llama",
        "torchvision.models",
    ):
        if importlib.util.find_spec(name.split(".")[0]) is not None:
            importlib.import_module(name)


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> str:
    package = MODELS[request.param][0]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed; requirements-dev.txt pins it")
    return request.param


def test_healthy(model: str, tmp_path: Path) -> None:
    path = LIBRARIES / f"{model}.py"
    bare = plain(tmp_path / "plain", path, "healthy")
    seen = watched(tmp_path / "watched", path, "healthy")
    assert bare.status == 0, bare.err
    assert bare.out.count("loss") == 4
    assert seen.out == bare.out
    assert seen.status == 0
    assert seen.found["verdict"] == "finite"


def test_nan_in_one_batch(model: str, tmp_path: Path) -> None:
    """The row of the batch is named; no layer is blamed."""
    ran = watched(tmp_path, LIBRARIES / f"{model}.py", "data")
    assert ran.status == 1, ran.err
    for report in (ran.found, explained(tmp_path)):
        assert report["trip"]["step"] == 2
        assert report["origin"]["phase"] == "data", report["origin"]
        assert report["origin"]["first_index"][0] == 1, "the second sample"
        assert report["causes"][0]["id"] == "bad-input"
        assert report["replay"]["faithful"], report["warnings"]


def test_fault_in_one_layer(model: str, tmp_path: Path) -> None:
    path = LIBRARIES / f"{model}.py"
    ran = watched(tmp_path, path, "layer")
    assert ran.status == 1, ran.err
    for report in (ran.found, explained(tmp_path)):
        origin = report["origin"]
        assert report["trip"]["step"] == 2
        assert origin["phase"] == "forward"
        assert (Path(origin["file"]).name, origin["line"]) == (path.name, line_of(path, "# BAD")), origin
        assert origin["module"] == MODELS[model][1]
        assert report["replay"]["faithful"], report["warnings"]
