"""Sources as fixes edit them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from nanscope.fixes.source import Source, Unreadable, read


def source(text: str) -> Source:
    return Source("/x/train.py", "train.py", text.encode())


def expression(of: Source, text: str) -> ast.expr:
    """The only expression with this text."""
    found = [n for n in ast.walk(of.tree) if isinstance(n, ast.expr) and of.segment(n) == text]
    assert found, text
    return found[0]


@pytest.mark.parametrize(
    ("text", "node", "result"),
    [
        ("y = a / b\n", "b", "y = a / b.clamp(min=1)\n"),
        ("y = a / (b + c)\n", "b + c", "y = a / (b + c).clamp(min=1)\n"),
        ("y = f(b + c)\n", "b + c", "y = f((b + c).clamp(min=1))\n"),
        ("y = f(k=-b)\n", "-b", "y = f(k=(-b).clamp(min=1))\n"),
        ("값 = 가 / 나\n", "나", "값 = 가 / 나.clamp(min=1)\n"),
        ("y = a / x[0](3)\n", "x[0](3)", "y = a / x[0](3).clamp(min=1)\n"),
        ("y = a / 3\n", "3", "y = a / (3).clamp(min=1)\n"),
    ],
)
def test_a_method_binds_to_the_whole_expression(text: str, node: str, result: str) -> None:
    of = source(text)
    assert of.edited([of.method(expression(of, node), "clamp(min=1)")]) == result


def test_edits_of_the_same_text_are_refused() -> None:
    of = source("y = a / b\n")
    node = expression(of, "b")
    with pytest.raises(Unreadable, match="two edits"):
        of.edited([of.replace(node, "c"), of.replace(node, "d")])


def test_an_edit_that_does_not_parse_is_refused() -> None:
    of = source("y = a / b\n")
    with pytest.raises(Unreadable, match="does not parse"):
        of.edited([of.replace(expression(of, "b"), "(")])


def test_a_statement_goes_below_a_header_with_its_strings_as_they_were() -> None:
    of = source("if x:\n  f(\n    '''a\n b''',\n  )\n")
    statement = of.tree.body[0].body[0]  # type: ignore[attr-defined]
    assert of.edited(of.nested(statement, "if y:")) == "if x:\n  if y:\n    f(\n      '''a\n b''',\n    )\n"


def test_a_statement_that_shares_its_line_is_not_moved() -> None:
    of = source("a = 1; b = 2\n")
    with pytest.raises(Unreadable, match="more than one statement"):
        of.nested(of.tree.body[1], "if y:")


def test_a_place_with_columns_means_one_expression() -> None:
    of = source("값 = f(a / b) + c / d\n")
    (node,) = of.at({"line": 1, "columns": [6, 11]})
    assert of.segment(node) == "a / b"


def test_a_place_without_columns_means_all_of_its_line_innermost_first() -> None:
    of = source("y = f(\n    a / b,\n)\n")
    assert of.segment(of.at({"line": 2})[0]) in ("a", "b")
    assert "a / b" in [of.segment(n) for n in of.at({"line": 2})]


@pytest.mark.parametrize("text", ["x = 1", "x = 1\n", "x = 1\r\ny = 2\r\n", "x = 1\n\f\ny = '\\u2028'\n"])
def test_a_diff_has_every_byte(text: str, tmp_path: Path) -> None:
    of = source(text)
    diff = of.diff(text.replace("1", "3"))
    assert "-x = 1" in diff and "+x = 3" in diff
    assert ("\\ No newline" in diff) == (not text.endswith("\n"))


@pytest.mark.parametrize("data", [b"x = (\n", b"x = '\xff'\n", b"# coding: nowhere\n", b"x\0"])
def test_what_is_no_python_says_so(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(data)
    with pytest.raises(Unreadable, match=r"a\.py cannot be read as Python source"):
        read("a.py", str(tmp_path))
    with pytest.raises(Unreadable, match=r"b\.py cannot be read: No such file"):
        read("b.py", str(tmp_path))


def test_a_byte_order_mark_stays(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xef\xbb\xbfx = 1\n")
    of = read("a.py", str(tmp_path))
    assert of.diff(of.bom + of.edited([of.replace(expression(of, "1"), "2")])) == (
        "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-\ufeffx = 1\n+\ufeffx = 2\n"
    )


def test_another_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("# coding: cp949\nx = '값'\n".encode("cp949"))
    with pytest.raises(Unreadable, match=r"a\.py is in cp949; only files in UTF-8 are edited"):
        read("a.py", str(tmp_path))
