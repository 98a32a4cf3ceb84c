"""How much memory may be taken for what only explains."""

from __future__ import annotations

import torch

LIMIT_BYTES = 4 << 30


def room(device: torch.device) -> int:
    """Bytes that may be taken on `device`: half of what is free, at most `LIMIT_BYTES`."""
    return min(LIMIT_BYTES, _free(device) // 2)


def _free(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:  # not Linux
        pass
    return LIMIT_BYTES
