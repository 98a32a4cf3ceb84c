"""What was measured, as the marked sections of docs/performance.md. The text around them is written by hand and stays."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from benches.breakdown import STATEMENTS
from benches.breakdown import YOUNG as YOUNG_STEPS
from benches.models import MODELS
from benches.peers import MODES

Found = dict[str, Any]
SECTION = re.compile(r"(<!-- measured: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def rendered(text: str, parts: dict[str, Found]) -> str:
    """`text` with the sections of `parts` written anew; others stay. Raises `ValueError` for a part without a section."""
    there = {name for _, name, _, _ in SECTION.findall(text)}
    if not parts.keys() <= there:
        raise ValueError(f"sections: expected {sorted(parts)}, got {sorted(there)}")

    def section(match: re.Match[str]) -> str:
        head, name, old, tail = match.groups()
        return head + (SECTIONS[name](parts[name]) if name in parts else old) + tail

    return SECTION.sub(section, text)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def number(value: float, unit: str = "") -> str:
    """About three digits."""
    return f"{value:,.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}{unit}"


def in_order(found: Found) -> list[str]:
    return [name for name in MODELS if name in found]


def footnotes(found: Found) -> tuple[dict[str, int], str]:
    """Reasons why something was not measured, numbered, and the lines that tell them."""
    numbers: dict[str, int] = {}
    for row in found.values():
        for mode, one in row["modes"].items():
            if "reason" in one:
                numbers.setdefault(told(mode, one), len(numbers) + 1)
    return numbers, "".join(f"\n({n}) {text}\n" for text, n in numbers.items())


def cell(found: Found, mode: str, numbers: dict[str, int], say: Callable[[Found], str]) -> str:
    one = found["modes"].get(mode)
    if one is None:
        return ""
    if "reason" in one:
        return f"({numbers[told(mode, one)]})"
    return say(one)


def told(mode: str, one: Found) -> str:
    return f"{MODES[mode].title}: {one['reason']}"


# ---- sections


def machine(found: Found) -> str:
    peers = ", ".join(f"{name} {version}" for name, version in found["peers"].items())
    return (
        f"Measured with torch {found['torch']}, Python {found['python']}, one thread, on {found['cores']} cores of"
        f" {found['processor']}; nanscope {found['nanscope']}. Peers: {peers}.\n"
    )


def ratios(found: Found) -> str:
    watch = table(
        ["model", "plain step", "nanscope", "quartiles", "added", "aim"],
        [
            [
                MODELS[name].title, f"{found[name]['plain_ms']:.2f} ms", *watched(found[name]["modes"]["nanscope"]),
                f"{MODELS[name].aim:.2f}" if MODELS[name].aim else "",
            ]
            for name in in_order(found)
        ],
    )  # fmt: skip
    numbers, notes = footnotes(found)
    others = [mode for mode in MODES if mode not in ("plain", "nanscope")]
    names = in_order(found)
    peers = table(
        ["ratio to plain: median (quartiles)", *names],
        [
            [MODES[mode].title, *[cell(found[name], mode, numbers, ratio) for name in names]]
            for mode in ["nanscope", *others]
        ],
    )
    return f"{watch}\n{peers}{notes}"


def watched(one: Found) -> list[str]:
    if "reason" in one:
        return [one["reason"], "", ""]
    low, high = one["quartiles"]
    return [f"**{one['ratio']:.3f}**", f"{low:.3f} to {high:.3f}", f"{number(one['extra_us'])} µs"]


def ratio(one: Found) -> str:
    low, high = one["quartiles"]
    digits = 3 if one["ratio"] < 1.2 else 2
    return f"{one['ratio']:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def memory(found: Found) -> str:
    numbers, notes = footnotes(found)
    modes = [mode for mode in MODES if mode != "plain"]
    rows = []
    for name in in_order(found):
        plain = found[name]["plain_mib"]
        cells = [cell(found[name], mode, numbers, lambda one: f"{one['extra_mib']:+.1f}") for mode in modes]
        rows.append([name, f"{plain:,.0f}", *cells, f"{max(0.01 * plain, 16):.0f}"])
    return table(["MiB", "plain", *[MODES[mode].title for mode in modes], "aim for nanscope"], rows) + notes


def trip(found: Found) -> str:
    rows = []
    for name in in_order(found):
        one = found[name]
        rows.append([
            name, f"{one['plain_ms']:.2f} ms", f"{one['operators']:,}", f"{one['located_s']:.2f} s",
            number(one["steps"]), f"{one['limit_s']:.2f} s", "yes" if one["right"] else "**no**",
            f"{one['reported_s']:.1f} s", str(one["experiments"]),
        ])  # fmt: skip
    head = [
        "model",
        "plain step",
        "operators",
        "located",
        "in plain steps",
        "aim",
        "right line",
        "reported",
        "experiments",
    ]
    return table(head, rows)


def growth(found: Found) -> str:
    texts = []
    kinds = {
        "parameters": "parameters", "module": "operators in one module", "functions": "operators called by the loop",
    }  # fmt: skip
    for kind, title in kinds.items():
        rows = []
        for count, one in found[kind].items():
            if "reason" in one:
                rows.append([f"{int(count):,}", number(one["plain_ms"], " ms"), one["reason"], "", ""])
            else:
                rows.append([f"{int(count):,}", number(one["plain_ms"], " ms"), *watched(one)])
        texts.append(table([title, "plain step", "nanscope", "quartiles", "added"], rows))
    return "\n".join(texts)


def long_run(found: Found) -> str:
    rows = [[f"{m['steps']:,}", f"{m['us']:.0f} µs", f"{m['mib']:.1f} MiB"] for m in found["marks"]]
    explain = found["explain"]
    return table(["steps", "a watched step, since the line above", "resident memory"], rows) + (
        f"\nA plain step takes {found['plain_us']:.0f} µs; the run took {found['seconds']:.0f} s. Run folder:"
        f" {found['folder_mb']:.1f} MB (aim: 200). `nanscope explain`: {explain['seconds']:.2f} s (aim: 2),"
        f" {explain['peak_mib']:.0f} MiB at its peak.\n"
    )


def breakdown(found: Found) -> str:
    rows = []
    for name, one in found.items():
        plain, added = one["plain_us"], one["added_us"]
        rows.append([f"{name}: plain", *[number(plain[s]) for s in STATEMENTS], number(sum(plain.values())), ""])
        own = number(one["own_us"])
        rows.append(["added", *[number(added[s]) for s in STATEMENTS], number(sum(added.values())), own])
        rows.append([f"added in the first {YOUNG_STEPS}", *[""] * len(STATEMENTS), number(one["young_us"]), ""])
    return table(["µs", *STATEMENTS, "step", "counted by nanscope"], rows)


def identity(found: Found) -> str:
    rows = [
        [name, str(one["steps"]), "identical" if one["identical"] else "**different**"]
        for name, one in ((name, found[name]) for name in in_order(found))
    ]
    return table(["model", "steps", "digests"], rows)


SECTIONS: dict[str, Callable[[Found], str]] = {
    "machine": machine, "table": ratios, "memory": memory, "trip": trip, "growth": growth, "long_run": long_run,
    "breakdown": breakdown, "identity": identity,
}  # fmt: skip
