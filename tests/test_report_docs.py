"""docs/report.md names every key of the report."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = (ROOT / "crates/trace/src/schema/report.rs").read_text()
PAGE = (ROOT / "docs/report.md").read_text()


def test_every_key_is_documented() -> None:
    keys = {key.rstrip("_") for key in re.findall(r"^    pub (\w+):", SCHEMA, re.MULTILINE)} - {"place"}
    assert len(keys) > 40
    assert sorted(key for key in keys if not re.search(rf"\b{key}\b", PAGE)) == []
