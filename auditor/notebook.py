"""Jupyter notebooks cut into cells: each in the language that its kernel or its first line gives it.

Of nbformat 3, which Jupyter upgrades when it opens it, the cells of all worksheets are read. Of a notebook that is
broken, or nested too deep for Python, every text of a cell is read that can be found, and `is_unread` says so.
Lines that IPython hands to the shell (``!command``, ``%pip``) are cut out as shell, and leave ``pass`` behind.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.disguised import disguised_languages
from skillkeep.auditor.engines.interface import Context, Mark
from skillkeep.auditor.languages import language_of_label, languages_of_file, sniff
from skillkeep.auditor.notebook_lines import source_marks

__all__ = ["Cell", "cells_of", "is_unread"]

_CELL_MAGIC = compiled(r"^\s*%%(?P<name>!|\w+)[ \t]*(?P<rest>[^\n]*)\n?")
_LINE_MAGIC = compiled(
    r"^(?P<indent>[ \t]*)(?P<target>[\w, .\[\]]+=[ \t]*)?"
    r"(?:!{1,2}(?P<shell>[^\n=][^\n]*)|%(?P<magic>\w+)[ \t]*(?P<rest>[^\n]*)|(?P<help>\?+[\w.]+|[\w.]+\?+)[ \t]*)$",
    re.MULTILINE,
)
_SHELL_MAGICS = frozenset({"pip", "conda", "mamba", "uv", "sx", "system", "sc"})
_LONGEST_SCRIPT = 20_000


@dataclass(frozen=True)
class Cell:
    """A part of a notebook: `step` says where it comes from, such as ``cell 3``, `marks` where its lines stand."""

    context: Context
    text: str
    step: str
    marks: tuple[Mark, ...] = ()


def cells_of(text: str) -> list[Cell] | None:
    """The cells of a notebook, small scripts in their outputs too; None when `text` is no notebook."""
    try:
        book = json.loads(text)
    except (ValueError, RecursionError):
        return _torn(text) or None
    cells = _cells(book)
    if cells is None:
        return None
    metadata = book.get("metadata")
    language = _kernel(metadata)
    known = source_marks(text)
    marked = known if len(known) == len(cells) else [("", ())] * len(cells)
    found: list[Cell] = []
    for number, (cell, (source, marks)) in enumerate(zip(cells, marked, strict=True), 1):
        if isinstance(cell, dict):
            body = _joined(cell.get("source") or cell.get("input"))
            found += _cell(f"cell {number}", cell, body, marks if source == body else (), language)
    return found


def is_unread(text: str) -> bool:
    """True for what is no JSON to Python's reader: another may forgive more, or read deeper."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return bool(text.strip())
    return False


def _cells(book: Any) -> list[Any] | None:
    """The cells of nbformat 4 and, below worksheets, of 3."""
    if not isinstance(book, dict):
        return None
    cells = book.get("cells")
    sheets = book.get("worksheets")
    if not isinstance(cells, list) and not isinstance(sheets, list):
        return None
    found = list(cells) if isinstance(cells, list) else []
    for sheet in sheets if isinstance(sheets, list) else ():
        inner = sheet.get("cells") if isinstance(sheet, dict) else None
        found += inner if isinstance(inner, list) else []
    return found


def _torn(text: str) -> list[Cell]:
    """What the cells of a broken notebook hold, as the code that it looks like."""
    found: list[Cell] = []
    for number, (body, marks) in enumerate(source_marks(text), 1):
        step = f"cell {number}"
        looks = dict.fromkeys((*sniff(body), *disguised_languages(body)))
        for context in looks:
            found += _python(body, step, marks) if context is Context.PYTHON else [Cell(context, body, step, marks)]
        if not looks:
            found.append(Cell(Context.INSTRUCTION, body, step, marks))
    return found


def _cell(step: str, cell: dict[str, Any], body: str, marks: tuple[Mark, ...], language: Context) -> Iterator[Cell]:
    if cell.get("cell_type") != "code":
        yield Cell(Context.INSTRUCTION, body, step, marks)
        return
    magic = _CELL_MAGIC.match(body)
    if isinstance(named := cell.get("language"), str) and named:  # of nbformat 3
        language = language_of_label(named) or Context.TEXT
    if magic:
        whole = Cell(language, body, step, marks)
        yield from _magic_cell(magic, whole, language)
    elif language is Context.PYTHON:
        yield from _python(body, step, marks)
    else:
        yield Cell(language, body, step, marks)
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        data = output.get("data") if isinstance(output, dict) else None
        script = _joined(data.get("application/javascript")) if isinstance(data, dict) else ""
        if script and len(script) <= _LONGEST_SCRIPT:
            yield Cell(Context.JAVASCRIPT, script, f"output of {step}")


def _magic_cell(magic: re.Match[str], whole: Cell, language: Context) -> Iterator[Cell]:
    name, rest, step = magic["name"].lower(), magic["rest"], whole.step
    body = whole.text[magic.end() :]
    marks = whole.marks[whole.text.count("\n", 0, magic.end()) :]
    if name in {"!", "sx", "system"}:
        yield Cell(Context.SHELL, body, step, marks)
    elif name == "writefile":
        target = rest.split()[-1] if rest.split() else ""
        for context in languages_of_file(target, body, False):
            yield Cell(context, body, f"{step} writes {target[:80]}", marks)
    elif claimed := language_of_label(
        rest.split()[0].rpartition("/")[2] if name == "script" and rest.split() else name
    ):
        yield Cell(claimed, body, step, marks)
    else:  # timers and the like run the body as it is
        yield from _python(body, step, marks) if language is Context.PYTHON else [Cell(language, body, step, marks)]
        if language is Context.PYTHON and rest.strip():
            yield from _python(rest, step, whole.marks[:1])


def _python(body: str, step: str, marks: tuple[Mark, ...]) -> Iterator[Cell]:
    commands: list[str] = []
    places: list[Mark] = []

    def cut(match: re.Match[str]) -> str:
        command = match["shell"] or ""
        if match["magic"] in _SHELL_MAGICS:
            named = match["magic"] not in {"sx", "system", "sc"}
            command = f"{match['magic']} {match['rest']}" if named else match["rest"]
        if command:
            commands.append(command)
            places.extend(marks[(line := body.count("\n", 0, match.start())) : line + 1])
        return f"{match['indent']}{match['target']}None" if match["target"] else f"{match['indent']}pass"

    code = _LINE_MAGIC.sub(cut, body) if re.search(r"[!%?]", body) else body
    yield Cell(Context.PYTHON, code, step, marks)
    if commands:
        yield Cell(Context.SHELL, "\n".join(commands) + "\n", f"{step} shell", tuple(places))


def _kernel(metadata: Any) -> Context:
    for key, field in (("kernelspec", "language"), ("language_info", "name"), ("kernelspec", "name")):
        table = metadata.get(key) if isinstance(metadata, dict) else None
        claimed = str(table.get(field, "")) if isinstance(table, dict) else ""
        if claimed:
            return language_of_label(claimed) or Context.TEXT
    return Context.PYTHON


def _joined(source: Any) -> str:
    return "".join(str(line) for line in source) if isinstance(source, list) else str(source or "")
