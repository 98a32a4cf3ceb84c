"""What only torch can tell of an installation, as one line of JSON. Run by itself in a process that may crash or hang.

Needs nothing of nanscope: `nanscope doctor` runs this text in whatever Python trains.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

SETTINGS = (
    ("deterministic algorithms", "are_deterministic_algorithms_enabled"),
    ("float32 matmul precision", "get_float32_matmul_precision"),
    ("intra-op threads", "get_num_threads"),
)
BACKENDS = (
    ("cudnn.deterministic", "cudnn", "deterministic"),
    ("cudnn.benchmark", "cudnn", "benchmark"),
    ("cudnn.allow_tf32", "cudnn", "allow_tf32"),
)


def facts() -> dict[str, Any]:
    """Versions, devices, settings; a key that does not apply is absent. `problems` says what could not be asked."""
    found: dict[str, Any] = {"python": sys.version.split()[0], "problems": []}

    def tell(key: str, ask: Callable[[], Any]) -> None:
        try:
            value = ask()
        except Exception as error:  # noqa: BLE001 - an installation may be broken in any way
            found["problems"].append(f"{key}: {type(error).__name__}: {error}")
            return
        if value is not None:
            found[key] = value

    try:
        import torch
    except ModuleNotFoundError:
        return found
    except Exception as error:  # noqa: BLE001 - an installation may be broken in any way
        found["problems"].append(f"import torch: {type(error).__name__}: {error}")
        return found

    tell("torch", lambda: str(torch.__version__))
    tell("cuda", lambda: torch.version.cuda)
    tell("rocm", lambda: getattr(torch.version, "hip", None))
    tell("cudnn", lambda: _cudnn(torch.backends.cudnn.version()))
    if torch.version.cuda is not None:
        tell("nccl", lambda: ".".join(str(part) for part in torch.cuda.nccl.version()))
    if torch.cuda.is_available():
        tell("devices", lambda: [_device(torch.cuda, index) for index in range(torch.cuda.device_count())])
    tell("settings", lambda: _settings(torch))
    return found


def _cudnn(number: int | None) -> str | None:
    """91002 is 9.10.2; before 9, 8907 is 8.9.7."""
    if not number:
        return None
    major, rest = divmod(number, 10000 if number >= 90000 else 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _device(cuda: Any, index: int) -> dict[str, str]:
    about = cuda.get_device_properties(index)
    return {"name": about.name, "capability": f"{about.major}.{about.minor}"}


def _settings(torch: Any) -> list[tuple[str, str]]:
    told = [(name, str(getattr(torch, ask)())) for name, ask in SETTINGS]
    told += [(name, str(getattr(getattr(torch.backends, home), flag))) for name, home, flag in BACKENDS]
    return told


if __name__ == "__main__":
    sys.stdout.write("\n" + json.dumps(facts()) + "\n")
