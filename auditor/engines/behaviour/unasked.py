"""Which files are started without being asked: by their name, by a setting that names them, by what those load."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import SourceFile, SourceTree
from skillkeep.auditor.engines.tables import table

__all__ = ["loaded_by", "unasked"]

_MOST_FILES: Final = 400
_MOST_LOADED: Final = 40
_WORD: Final = compiled(r"[\w.@/\\-]{2,200}")
_LOADED: Final = compiled(
    r"(?:\brequire\(\s*|\bfrom\s+|\bimport\s+|\bimport\(\s*)[\"'`](?P<script>\.{1,2}/[^\"'`\n]{1,160})[\"'`]"
    r"|^[ \t]*from[ \t]+(?P<python>\.?[\w.]+)[ \t]+import[ \t]+(?:\([ \t]*)?(?P<member>\w*)"
    r"|^[ \t]*import[ \t]+(?P<module>[\w.]+)",
    re.MULTILINE,
)
_ENDINGS: Final = (
    "",
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".mts",
    ".cts",
    "/index.js",
    "/index.ts",
    ".py",
    "/__init__.py",
    ".sh",
)
_MODES: Final = compiled(
    r"(?<![\w./-])chmod[ \t]+(?:-\w+[ \t]+)?[ugoa]*[+=]?[rwx\d]+[ \t][^;&|\n\"'`$()]*"
)  # starts nothing
_AGENT_ASKS: Final = compiled(r"\.(?:py|sh|ps1|rb|(?:c|m)?[jt]s)$")


def unasked(tree: SourceTree) -> dict[str, str]:
    """Paths of files that run unasked, with what starts them, in words."""
    files = tree.texts()
    found: dict[str, str] = {}
    for path, file in files.items():
        if (what := _by_name(path.lower())) and not _is_own_script(path, file):
            found[path] = what
            for other in _named_by(file, files):
                found.setdefault(other, what)
        elif path.rpartition("/")[2] in {"pyproject.toml", "package.json"}:
            for other in _backend(file, files) if path.endswith(".toml") else _named_by(file, files):
                found.setdefault(other, "the installer" if path.endswith(".toml") else "a build or test tool")
    for each in tree.capabilities:
        if each.kind == "autorun" and each.evidence.path in files:
            setting = files[each.evidence.path]
            shown = _shown(setting, each.evidence.line, each.evidence.end_line)
            for other in _in_command(shown, path_of(setting), files):
                found.setdefault(other, each.value)
    for path, what in list(found.items())[:_MOST_FILES]:
        for other in _loads(files[path], files):
            found.setdefault(other, what)
    return {path: what for path, what in found.items() if path in files}


def path_of(file: SourceFile) -> str:
    """The folder that `file` lies in, without a slash at the end."""
    return file.path.rpartition("/")[0]


def _is_own_script(path: str, file: SourceFile) -> bool:
    """A ``setup.py`` that builds no package is a script that somebody has to start."""
    text = file.text or ""
    return path.rpartition("/")[2] == "setup.py" and "setuptools" not in text and "distutils" not in text


def _by_name(path: str) -> str:
    return next((what for what, pattern in _names() if pattern.search(path)), "")


@cache
def _names() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((item["what"], compiled(item["pattern"])) for item in table("acts")["unasked"])


@cache
def _names_file() -> re.Pattern[str]:
    return compiled(table("acts")["names_file"])


def _named_by(file: SourceFile, files: dict[str, SourceFile]) -> Iterator[str]:
    for found in _names_file().finditer(file.text or ""):
        yield from _in_command(found["at"], path_of(file), files)


def _backend(file: SourceFile, files: dict[str, SourceFile]) -> Iterator[str]:
    """The build backend that the project itself brings."""
    try:
        system: Any = tomllib.loads(file.text or "").get("build-system", {})
    except (ValueError, RecursionError):
        return
    backend, folders = system.get("build-backend"), system.get("backend-path")
    if isinstance(backend, str) and isinstance(folders, list):
        module = backend.partition(":")[0].replace(".", "/")
        for folder in folders:
            yield from _resolve(posixpath.join(path_of(file), str(folder), module), files)


def _shown(file: SourceFile, line: int, end_line: int) -> str:
    return "\n".join((file.text or "").split("\n")[max(line - 1, 0) : max(end_line, line)])[:4000]


def _in_command(command: str, folder: str, files: dict[str, SourceFile]) -> Iterator[str]:
    """Files of the tree that words of a command line name, seen from the setting's folder and above it."""
    for word in dict.fromkeys(_WORD.findall(_MODES.sub(" ", command))):
        if "/" in word or _AGENT_ASKS.search(word):
            plain = word.replace("\\", "/").lstrip("/") if word.startswith("/") else word.replace("\\", "/")
            for base in dict.fromkeys((folder, posixpath.dirname(folder), "")):
                yield from _resolve(posixpath.join(base, plain), files)


def loaded_by(file: SourceFile, files: dict[str, SourceFile]) -> dict[str, SourceFile]:
    """The files of the tree that `file` loads, and those that they load, by path; at most some forty."""
    found: dict[str, SourceFile] = {}
    waiting = [file]
    while waiting and len(found) < _MOST_LOADED:
        for path in _loads(waiting.pop(), files):
            if path not in found and path != file.path:
                found[path] = files[path]
                waiting.append(files[path])
    return found


def _loads(file: SourceFile, files: dict[str, SourceFile]) -> Iterator[str]:
    folder = path_of(file)
    for found in _LOADED.finditer(file.text or ""):
        if found["script"]:
            target = re.sub(r"\.(?:c|m)?js$", "", found["script"])
            yield from _resolve(posixpath.join(folder, found["script"]), files)
            yield from _resolve(posixpath.join(folder, target), files)
        elif file.path.endswith(".py"):
            module = (found["python"] or found["module"]).lstrip(".").replace(".", "/")
            if module:
                yield from _resolve(posixpath.join(folder, module), files)
            if found["member"]:  # ``from . import catalog``
                yield from _resolve(posixpath.join(folder, module, found["member"]), files)


def _resolve(path: str, files: dict[str, SourceFile]) -> Iterator[str]:
    plain = posixpath.normpath(path)
    yield from (plain + ending for ending in _ENDINGS if plain + ending in files)
