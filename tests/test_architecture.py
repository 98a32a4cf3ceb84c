"""The code map of ARCHITECTURE.md names every source file, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAP = re.compile(r"^\| (\**)`([^`]+)`", re.MULTILINE)
BASES = ("crates/", "python/nanscope/")
SOURCES = ("crates/*/src/**/*.rs", "python/nanscope/**/*.py", "python/nanscope/**/*.pyi")


def listed() -> list[str]:
    """Paths of the code map, from the root. A part (in bold) speaks for none of its files, another folder for all."""
    text = (ROOT / "ARCHITECTURE.md").read_text().split("## Code map")[1].split("### Beside them")[0]
    found, base = [], ""
    for bold, cell in MAP.findall(text):
        if cell in BASES:
            base = cell
        elif not bold:
            found.append(base + cell)
    return found


def test_what_is_listed_exists() -> None:
    assert len(listed()) > 80
    assert [path for path in listed() if not (ROOT / path).exists()] == []


def test_every_source_is_listed() -> None:
    files = [str(file.relative_to(ROOT)) for pattern in SOURCES for file in ROOT.glob(pattern)]
    names = listed()
    folders = tuple(name for name in names if name.endswith("/"))
    missing = [f for f in files if f not in names and not f.startswith(folders) and not f.endswith("/tests.rs")]
    assert sorted(missing) == [], "add a line to the code map of ARCHITECTURE.md"
