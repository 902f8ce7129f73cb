"""Python packages named by requirements, pyproject.toml, setup.cfg, setup.py, Pipfile and inline metadata (PEP 723)."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.dependencies.model import Ecosystem, Named, source_of
from skillkeep.auditor.syntax.other_python import python_tree

__all__ = ["inline_metadata", "pipfile", "pyproject", "requirement", "requirements", "setup_cfg", "setup_py"]

_REQUIREMENT: Final = compiled(
    r"^\s*(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:\[[^\]]*\])?\s*(?P<rest>@\s*\S+|[=<>!~(][^;#]*)?\s*(?:;.*)?$"
)
_EGG: Final = compiled(r"[#&]egg=([\w.-]+)")
_ARCHIVE: Final = compiled(r"/(?:zipball|tarball|archive)/.*$")
_LONGEST_TAIL: Final = 2_000
_TAIL: Final = compiled(r"(?<![\w.-])([\w.-]+?)(?:\.git)?(?:@[\w./-]+)?(?:#.*)?$")
_INDEX: Final = compiled(r"^\s*(?:-i|--index-url|--extra-index-url)[ =]+(\S+)")
_BLOCK: Final = compiled(r"^# /// script[ \t\r]*$", re.MULTILINE)
_MOST_BLOCK: Final = 64 << 10
_SECTION: Final = compiled(
    r"^(?:install_requires|setup_requires|tests_require)[ \t]*=(.*(?:\n[ \t]+.*)*)", re.MULTILINE
)
_SETUP_KEYS: Final = frozenset({"install_requires", "setup_requires", "tests_require", "extras_require"})


def requirement(text: str, start: int = 0, index: str = "") -> Named | None:
    """One requirement (PEP 508, or pip's own forms of an address); None for anything else."""
    text = text.strip().strip("\"'")
    end = start + len(text)
    if (address := source_of(text)) and not text.startswith("-") and (egg := _EGG.search(text)):
        return Named(Ecosystem.PYPI, egg[1], "", start, end, address, index)
    matched = _REQUIREMENT.match(text)
    if matched:
        rest = (matched["rest"] or "").strip(" ()")
        return Named(Ecosystem.PYPI, matched["name"], rest, start, end, source_of(rest), index)
    if address:
        plain = _ARCHIVE.sub("", address.partition("?")[0]).rstrip("/")
        tail = _TAIL.search(plain[-_LONGEST_TAIL:])
        return Named(Ecosystem.PYPI, tail[1] if tail else address, "", start, end, address, index)
    return None


def requirements(text: str) -> Iterator[Named]:
    """Lines of a requirements file. An index given anywhere counts for all of them."""
    lines = text.split("\n")
    indexes = (_INDEX.match(line) for line in lines)
    index = next((each[1] for each in indexes if each), "")
    start = 0
    for line in lines:
        plain = line.partition(" #")[0].rstrip("\\ \t\r")
        body = re.sub(r"\s--hash[= ]\S+", "", plain)
        if body.lstrip().startswith(("-e ", "--editable")):
            body = body.lstrip().partition(" ")[2]
        if body.strip() and not body.lstrip().startswith(("-", "#", ".", "/")):
            found = requirement(body, start + line.find(body.strip()[:20]), index)
            if found:
                yield found
        start += len(line) + 1


def pyproject(text: str) -> Iterator[Named]:
    """``pyproject.toml``: PEP 621, 735 and 518, Poetry's own tables, uv's sources and indexes."""
    data = _toml(text)
    project, tool = _table(data, "project"), _table(data, "tool")
    uv = _table(tool, "uv")
    index = _index_of(uv.get("index")) or _index_of(_table(tool, "poetry").get("source"))
    sources = _table(uv, "sources")
    groups = (*_table(project, "optional-dependencies").values(), *_table(data, "dependency-groups").values())
    for item in _strings(project.get("dependencies"), _table(data, "build-system").get("requires"), *groups):
        found = requirement(item, max(0, text.find(item)), index)
        if found:
            yield _sourced(found, sources.get(found.name))
    poetry = _table(tool, "poetry")
    tables = [poetry.get("dependencies"), poetry.get("dev-dependencies")]
    tables += [_table(group, "dependencies") for group in _table(poetry, "group").values() if isinstance(group, dict)]
    for table in tables:
        yield from _entries(text, table, index)


def pipfile(text: str) -> Iterator[Named]:
    """A ``Pipfile``."""
    data = _toml(text)
    for key in ("packages", "dev-packages"):
        yield from _entries(text, data.get(key), _index_of(data.get("source")))


def inline_metadata(text: str) -> Iterator[Named]:
    """The first ``script`` block of PEP 723; more than one is an error there."""
    opening = _BLOCK.search(text)
    if opening is None:
        return
    lines = []
    for line in text[opening.end() + 1 : opening.end() + _MOST_BLOCK].split("\n"):
        if not line.startswith("#") or line.rstrip() == "# ///":
            break
        lines.append(line[2:] if line.startswith("# ") else line[1:])
    data = _toml("\n".join(lines))
    index = _index_of(_table(_table(data, "tool"), "uv").get("index"))
    for item in _strings(data.get("dependencies")):
        found = requirement(item, max(opening.start(), text.find(item, opening.start())), index)
        if found:
            yield found


def setup_cfg(text: str) -> Iterator[Named]:
    """The requirement lists of a ``setup.cfg``."""
    for section in _SECTION.finditer(text):
        start = section.start(1)
        for line in section[1].split("\n"):
            if line.strip() and (found := requirement(line, start + len(line) - len(line.lstrip()))):
                yield found
            start += len(line) + 1


def setup_py(text: str) -> Iterator[Named]:
    """The literal requirement lists of a ``setup.py``, read and not run."""
    try:
        tree, _ = python_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in _SETUP_KEYS:
            for item in _listed(node.value):
                if found := requirement(item, max(0, text.find(item))):
                    yield found


def _listed(value: ast.expr) -> Iterator[str]:
    for node in ast.walk(value):
        for item in node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else ():
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                yield item.value


def _entries(text: str, table: Any, index: str) -> Iterator[Named]:
    for name, value in table.items() if isinstance(table, dict) else ():
        if name == "python":
            continue
        spec = value if isinstance(value, str) else str(value.get("version", "")) if isinstance(value, dict) else ""
        start = max(0, text.find(name))
        found = Named(Ecosystem.PYPI, name, "" if spec == "*" else spec, start, start + len(name), "", index)
        yield _sourced(found, value)


def _sourced(found: Named, value: Any) -> Named:
    address = value.get("git") or value.get("url") if isinstance(value, dict) else None
    if not isinstance(address, str):
        return found
    pin = value.get("rev") or value.get("tag") or ""
    return Named(found.ecosystem, found.name, "", found.start, found.end, f"{address}@{pin}" if pin else address)


def _index_of(value: Any) -> str:
    entries = value if isinstance(value, list) else [value]
    urls = [str(entry.get("url", "")) for entry in entries if isinstance(entry, dict)]
    return next((url for url in urls if url and "pypi.org" not in url), "")


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _table(data: Any, key: str) -> dict[str, Any]:
    value = data.get(key) if isinstance(data, dict) else None
    return value if isinstance(value, dict) else {}


def _strings(*values: Any) -> Iterator[str]:
    for value in values:
        for item in value if isinstance(value, list) else ():
            if isinstance(item, str):
                yield item
