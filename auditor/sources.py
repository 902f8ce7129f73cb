"""Bytes of a file made into segments: what each part is to the machine or the agent that will meet it.

Nothing is left out because of its name, its folder or a label: a part whose label is no language is still sniffed.
Replacements keep the length, so offsets in a segment are offsets in the file.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from skillkeep.auditor.collect import Derived
from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.disguised import disguised_languages
from skillkeep.auditor.engines.interface import CODE, Context, Segment, SourceFile
from skillkeep.auditor.frontmatter import parse_frontmatter
from skillkeep.auditor.interface import Location
from skillkeep.auditor.languages import (
    command_lines,
    is_other_language,
    language_of_label,
    languages_of_file,
    looks_like,
    may_be_shell,
    sniff,
)
from skillkeep.auditor.markdown import Fence, code_blocks, cut_at_fences, without_blocks, without_fences
from skillkeep.auditor.notebook import Cell, cells_of

__all__ = ["Decoded", "cut_file", "decode", "derived_file", "source_file"]

_LONE_CR = compiled(r"\r(?!\n)")
_PROMPT = compiled(r"^([ \t]*)(?:[$%❯](?=[ \t])|>(?=[ \t]+/\w))", re.MULTILINE)
_PLAIN_LABELS = frozenset({"", "text", "txt", "plain", "plaintext", "none"})
_PAGES = frozenset({"markdown", "md", "mdx", "skill"})
_ESCAPED_FENCE = compiled(r"^([ \t]*)\\`\\`\\`", re.MULTILINE)
_ITEM = compiled(r"^[ \t]*(?:[-*+]|\d{1,3}[.)]|\||#{1,6})[ \t][^\n]*`[^\n]*$", re.MULTILINE)
_SPAN = compiled(r"(?<![`\\])`([^`\n]{1,600})`(?!`)")
_MARKUP = frozenset({"html", "htm", "xhtml", "svg", "vue", "svelte", "astro"})
_TEXT_SUFFIX = compiled(
    r"\.(?:py|pyw|js|mjs|cjs|jsx|ts|tsx|sh|bash|zsh|ps1|bat|cmd|rb|pl|php|lua|md|mdx|mdc|txt|json|ya?ml|toml|ini|cfg|conf|env|"
    r"html?|svg|xml|csv|rst)$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Decoded:
    """`text` is None for what is not text; `note` says what was odd about the encoding."""

    text: str | None
    note: str = ""


def decode(path: str, data: bytes) -> Decoded:
    """Read `data` as UTF-8, by its byte order mark, or as Latin-1. Bytes with NUL are text only by name or ``#!``."""
    for mark, codec in (
        (codecs.BOM_UTF32_LE, "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return Decoded(_lines(data.decode(codec, "replace")), f"encoded as {codec}")
    note = ""
    if b"\0" in data:
        if not (data.startswith(b"#!") or _TEXT_SUFFIX.search(path)):
            return Decoded(None)
        data = data.replace(b"\0", b"")
        note = "holds NUL bytes"
    try:
        return Decoded(_lines(data.decode("utf-8-sig")), note)
    except UnicodeDecodeError:
        if not note and _looks_binary(data) and not (data.startswith(b"#!") or _TEXT_SUFFIX.search(path)):
            return Decoded(None)
        return Decoded(_lines(data.decode("latin-1")), note or "is not UTF-8")


def cut_file(path: str, data: bytes, executable: bool) -> SourceFile:
    """A file of a tree by its bytes alone."""
    return source_file(path, data, decode(path, data), executable)


def source_file(path: str, data: bytes, decoded: Decoded, executable: bool) -> SourceFile:
    """Cut one file into segments."""
    if decoded.text is None:
        return SourceFile(path, data, None, executable, (_name_segment(path),))
    text = decoded.text
    contexts = languages_of_file(path, text, executable)
    by_name = bool(CODE.intersection(languages_of_file(path, "", False)))
    contexts += disguised_languages(text, contexts, claimed=by_name)
    segments = [_name_segment(path)]
    if Context.INSTRUCTION in contexts:
        segments += _instruction_segments(path, text)
        contexts = tuple(context for context in contexts if context is not Context.INSTRUCTION)
    if path.endswith(".ipynb"):
        segments += _notebook_segments(path, text)
    segments += [Segment(path, context, text) for context in contexts]
    if path.rpartition(".")[2].lower() in _MARKUP:
        segments += _script_segments(path, text)
    return SourceFile(path, data, text, executable, tuple(segments))


def derived_file(found: Derived) -> SourceFile:
    """Text found inside a file, as a file of its own whose every place is shown where it was found."""
    parent, data, context = found.at, found.data, found.context
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if found.name and context is None:
        return _member_file(found, raw)
    text = _lines(data) if isinstance(data, str) else decode(parent.path if context else "", raw).text
    if text is None:
        segments: tuple[Segment, ...] = (_name_segment(parent.path),)
        return SourceFile(parent.path, raw, None, False, segments, found.depth, found.name)
    contexts = (context,) if context else sniff(text) or (Context.TEXT,)
    segments = tuple(Segment(parent.path, each, text, anchor=parent, provenance=found.via) for each in contexts)
    if context is Context.INSTRUCTION:
        blocks = [each for block in code_blocks(text) for each in _block_segments(parent.path, block)]
        segments += tuple(replace(each, anchor=parent, provenance=(*found.via, *each.provenance)) for each in blocks)
    return SourceFile(parent.path, raw, text, False, segments, found.depth, found.name)


def _member_file(found: Derived, raw: bytes) -> SourceFile:
    """A container's member, cut like a file of the tree with its name."""
    cut = source_file(found.name, raw, decode(found.name, raw), executable=False)
    moved = tuple(
        replace(
            each,
            path=found.at.path,
            anchor=found.at,
            provenance=(*found.via, *each.provenance),
            marks=(),
            member=len(found.via),
        )
        for each in cut.segments
    )
    return SourceFile(found.at.path, raw, cut.text, False, moved, found.depth, found.name)


def _lines(text: str) -> str:
    text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    return _LONE_CR.sub("\n", text) if "\r" in text else text


def _looks_binary(data: bytes) -> bool:
    head = data[:8192]
    controls = sum(byte < 9 or 13 < byte < 32 for byte in head)
    return controls > len(head) // 20


def _name_segment(path: str) -> Segment:
    text = path.encode("utf-8", "replace").decode("utf-8")
    return Segment(path, Context.FILENAME, text, anchor=Location(path))


def _instruction_segments(path: str, text: str) -> list[Segment]:
    front = parse_frontmatter(text)
    blocks = code_blocks(text, front.body_line)
    segments = [Segment(path, Context.INSTRUCTION, without_blocks(text, blocks, front.body_line))]
    if front.present:
        segments.append(Segment(path, Context.METADATA, front.text, first_line=2))
    for block in blocks:
        segments += _block_segments(path, block)
    return segments


def _nested_segments(path: str, block: Fence) -> list[Segment]:
    """A block of Markdown is a template to write or follow: its own blocks, and the rest where it looks like code."""
    shift = block.first_line - 1
    text = _ESCAPED_FENCE.sub(r"\1```   ", block.text) if "\\`" in block.text else block.text
    inner = code_blocks(text)
    rest = without_fences(without_blocks(text, inner))
    segments = []
    for context in sniff(rest):
        if context is Context.SHELL and "`" in rest:
            segments += [
                Segment(path, context, span, shift + line, block.indent, provenance=("fence", "inline code"))
                for line, span in _spans(rest)
            ]
            segments.append(Segment(path, context, _without_spans(rest), shift + 1, block.indent, None, ("fence",)))
        else:
            segments.append(Segment(path, context, rest, shift + 1, block.indent, provenance=("fence",)))
    for each in inner:
        moved = replace(each, first_line=each.first_line + shift, indent=each.indent + block.indent)
        for piece in cut_at_fences(moved) if each.label.lower() in _PLAIN_LABELS else [moved]:
            segments += _block_segments(path, piece, nested=True)
    return segments


def _spans(page: str) -> Iterator[tuple[int, str]]:
    """The inline code in lists, headings and tables of a page that is a command, with its line."""
    line = at = 0
    for item in _ITEM.finditer(page):
        line, at = line + page.count("\n", at, item.start()), item.start()
        for span in _SPAN.finditer(item[0]):
            if may_be_shell(span[1]):
                yield line + 1, span[1]


def _without_spans(page: str) -> str:
    """`page`, just as long, with such inline code as a word: no shell takes an item of a list for a command."""
    return _ITEM.sub(lambda item: _SPAN.sub(lambda span: "_" * len(span[0]), item[0]), page)


def _block_segments(path: str, block: Fence, nested: bool = False) -> list[Segment]:
    label = block.label.split()[0] if block.label else ""
    holds_blocks = "```" in block.text or "~~~" in block.text
    if (label.lower() in _PAGES or (holds_blocks and label.lower() in _PLAIN_LABELS)) and not nested:
        whole = Segment(path, Context.FENCED, block.text, block.first_line, block.indent, None, ("fence:markdown",))
        return [whole, *_nested_segments(path, block)]
    provenance = (f"fence:{label[:40]}" if label else "fence",)
    whole = Segment(path, Context.FENCED, block.text, block.first_line, block.indent, None, provenance)
    claimed = language_of_label(block.label)
    segments = [whole]
    for context in _other_readings(block.text) if is_other_language(block.label) else _readings(claimed, block.text):
        text = block.text
        if context is Context.SHELL:
            text = _PROMPT.sub(r"\1 ", text) if claimed in {None, Context.SHELL} else command_lines(text)
            text = command_lines(text) if is_other_language(block.label) else text
        if text.strip():
            segments.append(Segment(path, context, text, block.first_line, block.indent, None, provenance))
    return segments


def _readings(claimed: Context | None, text: str) -> tuple[Context, ...]:
    """A label that the content bears out is believed; else every language the content looks like counts too."""
    if claimed is None:
        looks = sniff(text)
    else:
        looks = (claimed,) if looks_like(claimed, text) else tuple(dict.fromkeys((claimed, *sniff(text))))
    return looks + disguised_languages(text, looks, claimed=claimed is not None)


def _other_readings(text: str) -> tuple[Context, ...]:
    """Below a label of another language: lines that are commands, and what all of the text is a program in."""
    return (Context.SHELL, *disguised_languages(text, {Context.SHELL}))


def _script_segments(path: str, text: str) -> list[Segment]:
    lowered = text.lower() if text.isascii() else text
    segments = []
    at = lowered.find("<script")
    while at >= 0:
        start = lowered.find(">", at) + 1
        end = lowered.find("</script", start) if start else -1
        end = len(text) if end < 0 else end
        line = text.count("\n", 0, start) + 1
        segments.append(Segment(path, Context.JAVASCRIPT, text[start:end], line, provenance=("script",)))
        at = lowered.find("<script", end) if start else -1
    return segments


def _notebook_segments(path: str, text: str) -> list[Segment]:
    cells = cells_of(text)
    if cells is None:
        return [Segment(path, context, text) for context in sniff(text)]
    segments: list[Segment] = []
    for cell in cells:
        plain = Segment(path, cell.context, cell.text)
        cut = _instruction_segments(path, cell.text) if cell.context is Context.INSTRUCTION else [plain]
        segments += (_in_cell(each, cell) for each in cut)
    return segments


def _in_cell(piece: Segment, cell: Cell) -> Segment:
    """A piece of a cell as a piece of the notebook, where its lines are known; else the whole file is its place."""
    steps = (cell.step, *piece.provenance)
    marks = cell.marks[piece.first_line - 1 :]
    if not marks:
        return replace(piece, anchor=Location(piece.path), provenance=steps)
    return replace(piece, first_line=marks[0].line, provenance=steps, marks=marks)
