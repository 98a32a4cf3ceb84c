"""A report in Korean says what the English one says, and a machine reads the same in both."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import nanscope
from tests.launch import forked, watched
from tests.launch import nanscope as command

HANGUL = re.compile("[가-힣]")
PROGRAM = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(3):
    out = model(torch.randn(8, 4))
    loss = (out - 100).log().mean() if step == BAD else out.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
FAILS, HEALTHY = PROGRAM.replace("BAD", "1"), PROGRAM.replace("BAD", "9")


def machine(report: dict[str, Any]) -> dict[str, Any]:
    """What a machine reads: no text for a person, nothing that is measured anew in each run."""
    return {
        "verdict": report["verdict"],
        "trip": report["trip"],
        "origin": report["origin"],
        "causes": [(c["id"], c["confidence"], len(c["evidence"]), c["docs"]) for c in report["causes"]],
        "chain": [{k: v for k, v in link.items() if k != "text"} for link in report["chain"]],
        "fixes": [fix["id"] for fix in report["fixes"]],
    }


def test_a_run_reports_in_the_language_asked_for(tmp_path: Path) -> None:
    english = watched(tmp_path / "en", FAILS)
    korean = watched(tmp_path / "ko", FAILS, options=("--lang", "ko"))
    assert (english.status, korean.status) == (1, 1)
    assert english.out.startswith("error[negative-argument]: ") and not HANGUL.search(english.out)
    assert korean.out.startswith("오류[negative-argument]: 함수의 정의역을 벗어난 인자 (증명됨)\n")
    assert machine(english.found) == machine(korean.found)
    assert all(HANGUL.search(text) for cause in korean.found["causes"] for text in [cause["title"], *cause["evidence"]])
    assert not HANGUL.search(json.dumps(english.found, ensure_ascii=False))


def test_the_locale_is_the_default(tmp_path: Path) -> None:
    ran = watched(tmp_path / "failed", FAILS, environment={"LC_ALL": "ko_KR.UTF-8"})
    assert ran.out.startswith("오류[negative-argument]: ")
    again = command(ran.folder, "explain", "run", "--lang", "en")
    assert again.out.startswith("error[negative-argument]: ") and not HANGUL.search(again.out)
    quiet = watched(tmp_path / "healthy", HEALTHY, environment={"LC_ALL": "ko_KR.UTF-8"})
    assert quiet.err == "nanscope: 3개 스텝, 발견된 문제가 없습니다; 실행 폴더: run\n"


def test_a_stream_that_cannot_hold_it_still_gets_the_line(tmp_path: Path) -> None:
    def action() -> int:
        import sys

        sys.stdout.reconfigure(encoding="ascii")  # type: ignore[union-attr]
        Path("program.py").write_text(FAILS)
        sys.argv = ["nanscope", "run", "--lang", "ko", "program.py"]
        from nanscope.__main__ import main

        return main()

    ran = forked(tmp_path, action)
    assert ran.status == 1, ran.err
    assert "[negative-argument]" in ran.out and "program.py:8" in ran.out


def test_a_block_can_be_watched_in_korean(tmp_path: Path) -> None:
    def action() -> int:
        with nanscope.watch(lang="ko") as scope:
            exec(compile(FAILS, "program.py", "exec"), {})
        assert scope.report is not None
        assert HANGUL.search(scope.report["causes"][0]["title"])
        return 0

    ran = forked(tmp_path, action)
    assert ran.status == 0, ran.err
    assert ran.out.startswith("오류[")
    with pytest.raises(ValueError, match="lang: expected 'en', 'ko' or None, got 'de'"):
        nanscope.watch(lang="de")  # type: ignore[arg-type]
