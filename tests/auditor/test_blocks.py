"""Code blocks of Markdown: the same as the reference reader finds, in linear time."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from skillkeep.auditor.blocks import MAX_DEPTH, find_blocks
from skillkeep.auditor.markdown import code_blocks

PIECES = st.sampled_from(
    ["```", "~~~", "````", "`", " ", "  ", "    ", "\t", "\n", "\n\n", "\n    ", "\n- ", "\n> ", "> ", ">", ">\t", "- ",
     "-\n", "-\t", "+", "* ", "1. ", "2. ", "10) ", "1.\n", "---", "===", "***", "_", "* * *", "# ", "#", "<!--", "-->",
     "<div>", "<pre>", "</pre>", "<a b=c>", "<a b='c' d>", "<?", "?>", "<!A", "<![CDATA[", "]]>", "<b", "a", "x y", "é"]
)  # fmt: skip


def _reference(text: str) -> list[tuple[str, str]]:
    parser = MarkdownIt("commonmark", {"maxNesting": 40})
    parser.core.ruler.enableOnly(["normalize", "block"])
    found = [token for token in parser.parse(text) if token.type in {"fence", "code_block"}]
    return [(token.info.strip(), token.content) for token in found]


@given(st.lists(PIECES, max_size=40).map("".join))
def test_code_is_where_the_reference_reader_finds_it(text: str) -> None:
    try:
        expected = _reference(text)
    except IndexError:  # a crash of the reference
        assume(False)
    assert [(block.info, block.text) for block in find_blocks(text)] == expected


@pytest.mark.parametrize(
    ("text", "line", "indent", "code"),
    [
        ("# A\n\n```sh\nls\n```\n", 4, 0, "ls\n"),
        ("- a\n\n  ```sh\n  ls\n  ```\n", 4, 2, "ls\n"),
        ("> ```\n> ls\n> ```\n", 2, 2, "ls\n"),
        ("a\r\n\r\n    ls\r\n", 3, 4, "ls\n"),
        ("1. a\n\n       ls\n", 3, 7, "ls\n"),
        ("~~~\nls", 2, 0, "ls"),
        ("-     ls\n", 1, 6, "ls\n"),
    ],
)
def test_a_block_knows_its_line_and_what_was_cut(text: str, line: int, indent: int, code: str) -> None:
    [block] = code_blocks(text)
    assert (block.first_line, block.indent, block.text) == (line, indent, code)


def test_lines_before_the_first_are_blank() -> None:
    assert [block.first_line for block in code_blocks("```\na\n---\n\n```\nb\n```\n", 4)] == [6]


def test_nesting_hides_nothing_that_follows() -> None:
    deep = "- " * (MAX_DEPTH * 3) + "x\n\n" + "> " * (MAX_DEPTH * 3) + "x\n\n# A\n\n```sh\nls\n```\n"
    assert [block.text for block in code_blocks(deep)] == ["ls\n"]
