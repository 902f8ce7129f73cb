"""Packages named by package.json, Gemfile, go.mod and Cargo.toml."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.dependencies.model import Ecosystem, Named, source_of

__all__ = ["cargo_toml", "gemfile", "go_mod", "package_json"]

_NPM_KEYS: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_GEM: Final = compiled(r"^[ \t]*gem[ \t(]+['\"]([\w.-]+)['\"]([^\n]*)", re.MULTILINE)
_GEM_VERSION: Final = compiled(r"^[ \t]*,[ \t]*['\"]([^'\"]+)['\"]")
_GEM_SOURCE: Final = compiled(r"\b(?:git|github|source|gist):?[ \t]*(?:=>)?[ \t]*['\"]([^'\"]+)['\"]")
_REQUIRE: Final = compiled(r"^[ \t]*(?:require[ \t]+)?([\w.-]+\.[\w.-]+/[\w./~-]+)[ \t]+(v[\w.+-]+)", re.MULTILINE)
_REPLACE: Final = compiled(r"^[ \t]*(?:replace[ \t]+)?(\S+)(?:[ \t]+v\S+)?[ \t]+=>[ \t]+(\S+\.\S+/\S+)", re.MULTILINE)


def package_json(text: str) -> Iterator[Named]:
    """``package.json``: every list of dependencies."""
    data = _json(text)
    for key in _NPM_KEYS:
        table = data.get(key)
        for name, value in table.items() if isinstance(table, dict) else ():
            if isinstance(value, str) and not value.startswith(("file:", "link:", "workspace:", "portal:", ".")):
                start = max(0, text.find(f'"{name}"'))
                address = source_of(value, shorthand=True)
                yield Named(Ecosystem.NPM, str(name), "" if address else value, start, start + len(name) + 2, address)


def gemfile(text: str) -> Iterator[Named]:
    """A ``Gemfile``, by its lines."""
    for found in _GEM.finditer(text):
        version, source = _GEM_VERSION.match(found[2]), _GEM_SOURCE.search(found[2])
        spec = version[1] if version else ""
        yield Named(Ecosystem.GEM, found[1], spec, found.start(), found.end(), source[1] if source else "")


def go_mod(text: str) -> Iterator[Named]:
    """A ``go.mod``: what it requires, and what it replaces by something from elsewhere."""
    for found in _REQUIRE.finditer(text):
        yield Named(Ecosystem.GO, found[1], found[2], found.start(), found.end())
    for found in _REPLACE.finditer(text):
        yield Named(Ecosystem.GO, found[1], "", found.start(), found.end(), found[2])


def cargo_toml(text: str) -> Iterator[Named]:
    """A ``Cargo.toml``, its target tables included."""
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError):
        return
    targets = data.get("target")
    tables = [data, *(targets.values() if isinstance(targets, dict) else ())]
    for table in tables:
        for key in ("dependencies", "dev-dependencies", "build-dependencies"):
            entries = table.get(key) if isinstance(table, dict) else None
            for name, value in entries.items() if isinstance(entries, dict) else ():
                yield _crate(text, str(name), value)


def _crate(text: str, name: str, value: Any) -> Named:
    start = max(0, text.find(name))
    table = value if isinstance(value, dict) else {"version": value}
    address = str(table.get("git", ""))
    if address and table.get("rev"):
        address += f"@{table['rev']}"
    package = str(table.get("package", name))
    return Named(Ecosystem.CARGO, package, str(table.get("version", "")), start, start + len(name), address)


def _json(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}
