"""The output that README.md shows. `make readme` writes it anew."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=```console\n)\$ nanscope run (\S+)\n.*?(?=```)", re.DOTALL)


def shown() -> tuple[str, str]:
    """The script that README.md runs, and the block that shows it."""
    found = BLOCK.search(README.read_text())
    assert found, f"{README.name} shows no `$ nanscope run`"
    return found[1], found[0]


def actual(script: str, folder: Path) -> str:
    """The block as it would be now."""
    from tests.launch import nanscope

    (folder / script).parent.mkdir(parents=True)
    shutil.copy(ROOT / script, folder / script)
    return f"$ nanscope run {script}\n{nanscope(folder, 'run', script).out}"


def main() -> None:
    from tests.corpus_board.warm import warm

    warm()
    script, old = shown()
    with tempfile.TemporaryDirectory() as folder:
        README.write_text(README.read_text().replace(old, actual(script, Path(folder))))


if __name__ == "__main__":
    main()
