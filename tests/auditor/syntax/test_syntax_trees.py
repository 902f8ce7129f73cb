"""Trees of hostile, broken and foreign text."""

from __future__ import annotations

import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.syntax import Syntax, UnparsedError, parse, walk

LANGUAGES = [Context.JAVASCRIPT, Context.TYPESCRIPT, Context.SHELL, Context.POWERSHELL, Context.RUBY]
SAMPLES = {
    Context.JAVASCRIPT: "const a = require('b');\n",
    Context.TYPESCRIPT: "const a: string = b as string;\n",
    Context.SHELL: 'curl -s "$url" | tail -1\n',
    Context.POWERSHELL: "Get-Item $path | Select-Object Name\n",
    Context.RUBY: "puts `date`\n",
}


def texts(syntax: Syntax, kind: str) -> list[str]:
    return [syntax.source(node) for node in walk(syntax.root) if node.type == kind]


@pytest.mark.parametrize("context", LANGUAGES)
def test_every_language_has_a_grammar_that_reads_it_whole(context: Context) -> None:
    syntax = parse(context, SAMPLES[context])
    assert syntax.complete
    assert syntax.errors == ()


def test_prose_has_no_grammar() -> None:
    with pytest.raises(UnparsedError):
        parse(Context.INSTRUCTION, "hello")


@pytest.mark.parametrize("text", ["let a: string = b;", "const p = <p>Don't</p>;", "a!.b(<T>c)", "f(<A b={1} />)"])
def test_a_dialect_under_the_wrong_name_is_read_whole(text: str) -> None:
    assert parse(Context.JAVASCRIPT, text).complete
    assert parse(Context.TYPESCRIPT, text).complete


def test_what_is_broken_is_named_and_the_rest_is_a_tree() -> None:
    text = "before('x');\n}} é ((\nafter('y');\n"
    syntax = parse(Context.JAVASCRIPT, text)
    assert not syntax.complete
    assert syntax.errors
    assert {"before", "after"} <= set(texts(syntax, "identifier"))


def test_a_token_that_is_missing_is_an_empty_span() -> None:
    syntax = parse(Context.JAVASCRIPT, "if (a) { b(); ")
    assert not syntax.complete
    assert [end - start for start, end in syntax.errors] == [0]


def test_spans_count_characters_of_any_width() -> None:
    text = "é = '\U0001f600';" * 400 + "naïve('ü', eval);"
    syntax = parse(Context.JAVASCRIPT, text)
    call = next(node for node in walk(syntax.root) if node.type == "call_expression")
    start, end = syntax.span(call)
    assert text[start:end] == "naïve('ü', eval)" == syntax.source(call)


def test_lone_surrogates_and_nul_are_given_back_as_they_came() -> None:
    text = "a('\ud800\0\udfff', b)"
    syntax = parse(Context.JAVASCRIPT, text)
    assert syntax.complete
    assert texts(syntax, "string") == ["'\ud800\0\udfff'"]


@pytest.mark.parametrize("context", LANGUAGES)
@pytest.mark.parametrize("nest", ["[]", "()", "{}", "$()", "<>", "``", '""', "a?:"])
def test_nesting_and_repetition_neither_crash_nor_stall(context: Context, nest: str) -> None:
    for text in (nest[:-1] * 5_000, nest[:-1] * 5_000 + nest[-1] * 5_000):
        try:
            syntax = parse(context, text)
        except UnparsedError:
            continue
        assert syntax.complete == (syntax.errors == ())
        assert syntax.span(syntax.root)[1] <= len(text)


@pytest.mark.parametrize("context", LANGUAGES)
def test_a_hundred_thousand_nested_brackets_are_walked_without_recursion(context: Context) -> None:
    depth = 100_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    syntax = parse(context, "(" * depth + "a" + ")" * depth)
    assert sum(1 for _ in walk(syntax.root)) >= 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 512 << 10


def test_what_costs_more_than_its_size_explains_is_given_up() -> None:
    with pytest.raises(UnparsedError, match="costly"):
        parse(Context.SHELL, "if(a)b;else " * 30_000)


def test_what_is_larger_than_the_limit_is_not_parsed() -> None:
    with pytest.raises(UnparsedError, match="large"):
        parse(Context.RUBY, "#" * (9 << 20))


@given(st.sampled_from(LANGUAGES), st.text(max_size=80))
def test_any_text_gives_a_tree_with_spans_inside_it(context: Context, text: str) -> None:
    syntax = parse(context, text)
    for node in walk(syntax.root):
        start, end = syntax.span(node)
        assert 0 <= start <= end <= len(text)
        assert syntax.source(node) == text[start:end]
    assert all(0 <= start <= end <= len(text) for start, end in syntax.errors)


@pytest.mark.parametrize(
    "text",
    [
        "cat > a <<E\nExecStart=x\nE\necho b\n",
        "cat <<-'EOF'\n\tEOFs are here\n\tEOF\necho b\n",
        "sudo tee a <<END | cat\nENDS $HOME\nEND\necho b\n",
    ],
)
def test_a_here_documents_line_that_begins_as_its_end_does_not_end_it(text: str) -> None:
    syntax = parse(Context.SHELL, text)
    assert syntax.complete
    assert texts(syntax, "word")[-1] == "b"
    assert text.splitlines()[1].strip() in "".join(texts(syntax, "heredoc_body"))


def test_what_is_no_here_document_is_read_as_it_stands() -> None:
    syntax = parse(Context.SHELL, "echo '<<i'\nif true; then\n  echo b\nfi\n")
    assert syntax.complete
    assert "if_statement" in [node.type for node in walk(syntax.root)]
