"""README.md shows what a person will see, numbers apart: they differ between processors."""

import re
from pathlib import Path

from tests.readme import actual, shown


def wording(text: str) -> list[list[str]]:
    """Words of each line, every number as `#`, underlines and padding left out."""
    return [re.sub(r"\d[\d.]*(e[+-]?\d+)?", "#", line).replace("^", "").split() for line in text.splitlines()]


def test_output_is_real(tmp_path: Path) -> None:
    script, block = shown()
    assert wording(block) == wording(actual(script, tmp_path)), "run: make readme"
