"""What names of a JavaScript file are bound to: imports, `const x = …`, destructuring, assignments, properties."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from skillkeep.auditor.engines.javascript.tokens import Tokens

__all__ = ["Binding", "Bindings", "collect_bindings", "end_of_expression", "module_path"]

_ENDS: Final = frozenset(")]},;")
_MOST: Final = 512


@dataclass(frozen=True, slots=True)
class Binding:
    """A value of a name: the module member `path`, or the expression in ``[first, last)``, then `members` of it."""

    path: str = ""
    first: int = 0
    last: int = 0
    members: tuple[str, ...] = ()


@dataclass
class Bindings:
    """Values by name, and values stored under a property's name anywhere in the file."""

    names: dict[str, list[Binding]] = field(default_factory=dict)
    properties: dict[str, list[Binding]] = field(default_factory=dict)
    calls: list[int] = field(default_factory=list)  # indexes of names that may start a chain

    def bind(self, name: str, binding: Binding) -> None:
        """Add one possible value of `name`."""
        known = self.names.setdefault(name, [])
        if len(known) < _MOST:
            known.append(binding)


def module_path(name: str) -> str:
    """``node:fs/promises`` is ``fs.promises``."""
    return name.removeprefix("node:").replace("/", ".") if not name.startswith((".", "/")) else f"file:{name}"


def end_of_expression(tokens: Tokens, at: int) -> int:
    """The index after an expression that starts at `at`: its comma, semicolon, closing bracket, or new statement."""
    while at < len(tokens.kinds) and tokens.looks > 0:
        tokens.looks -= 1
        kind, value = tokens.kinds[at], tokens.values[at]
        if kind == "punct" and value in _ENDS:
            return at
        if kind == "name" and value in _STATEMENTS and not (value == "import" and tokens.is_punct(at + 1, "(")):
            return at
        at = tokens.next(at)
    return min(at, len(tokens.kinds))


_STATEMENTS: Final = frozenset({"const", "let", "var", "import", "export", "return", "if", "for", "while", "throw"})


def collect_bindings(tokens: Tokens) -> Bindings:
    """One pass over the tokens."""
    found = Bindings()
    kinds, values = tokens.kinds, tokens.values
    for at, kind in enumerate(kinds):
        if kind != "name":
            continue
        value = values[at]
        if value in {"const", "let", "var"}:
            _declaration(tokens, at + 1, found)
        elif value == "import":
            _import(tokens, at + 1, found)
        elif tokens.is_punct(at + 1, "=") and not (at and tokens.is_punct(at - 1, ".")):
            found.bind(value, Binding("", at + 2, end_of_expression(tokens, at + 2)))
        elif tokens.is_punct(at + 1, "=") or (tokens.is_punct(at + 1, ":") and _is_key(tokens, at)):
            stored = found.properties.setdefault(value, [])
            if len(stored) < _MOST:
                stored.append(Binding("", at + 2, end_of_expression(tokens, at + 2)))
    return found


def _is_key(tokens: Tokens, at: int) -> bool:
    return at > 0 and tokens.kinds[at - 1] == "punct" and tokens.values[at - 1] in {"{", ","}


def _declaration(tokens: Tokens, at: int, found: Bindings) -> None:
    """``const a = 1, {b, c: d} = x, [e] = y``."""
    while at < len(tokens.kinds):
        first = at
        if tokens.kinds[at] == "name":
            at = _after_type(tokens, at + 1)
        elif tokens.values[at] in {"{", "["}:
            at = _after_type(tokens, _matching(tokens, at))
        else:
            return
        if not tokens.is_punct(at, "="):
            return
        end = end_of_expression(tokens, at + 1)
        if tokens.kinds[first] == "name":
            found.bind(tokens.values[first], Binding("", at + 1, end))
        elif tokens.values[first] == "{":
            _destructure(tokens, first, at + 1, end, found)
        if not tokens.is_punct(end, ","):
            return
        at = end + 1


def _after_type(tokens: Tokens, at: int) -> int:
    """Skip a TypeScript annotation."""
    if not tokens.is_punct(at, ":"):
        return at
    limit = min(len(tokens.kinds), at + 64)
    depth = 0
    while at < limit:
        value = tokens.values[at] if tokens.kinds[at] == "punct" else ""
        if depth == 0 and value in {"=", ";", ",", ")"}:
            break
        depth += (value in {"<", "(", "{", "["}) - (value in {">", ")", "}", "]"})
        at += 1
    return at


def _matching(tokens: Tokens, at: int) -> int:
    """The index after the bracket that closes the one at `at`."""
    return tokens.closing.get(at, at) + 1


def _destructure(tokens: Tokens, at: int, first: int, last: int, found: Bindings) -> None:
    """``{a, b: c, d = 1}``; deeper patterns are left alone."""
    end = _matching(tokens, at) - 1
    at += 1
    while at < end:
        if tokens.kinds[at] not in {"name", "string"}:
            at += 1
            continue
        member, local = tokens.values[at], tokens.values[at]
        if tokens.is_punct(at + 1, ":") and at + 2 < end:
            at += 2
            local = tokens.values[at]
        if tokens.kinds[at] == "name":
            found.bind(local, Binding("", first, last, (member,)))
        while at < end and not tokens.is_punct(at, ","):
            at = tokens.after.get(at, at + 1)
        at += 1


def _import(tokens: Tokens, at: int, found: Bindings) -> None:
    """``import a, {b as c} from "m"``, ``import * as a from "m"``, ``import a = require("m")``."""
    locals_: list[tuple[str, str]] = []
    limit = min(len(tokens.kinds), at + 400)
    while at < limit and not (tokens.is_name(at, "from") or tokens.is_name(at, "import")):
        if tokens.kinds[at] == "name" and tokens.values[at] not in {"as", "type"}:
            name = tokens.values[at]
            if tokens.is_punct(at + 1, "="):
                found.bind(name, Binding("", at + 2, end_of_expression(tokens, at + 2)))
                return
            inside = tokens.is_punct(at - 1, "{") or tokens.is_punct(at - 1, ",") or tokens.is_name(at - 1, "type")
            member = name if inside and _in_braces(tokens, at) else ""
            if tokens.is_name(at + 1, "as") and at + 2 < limit:
                at += 2
                locals_.append((tokens.values[at], "" if member == "default" else member))
            else:
                locals_.append((name, member))
        elif tokens.kinds[at] in {"string", "number"} or tokens.values[at] in {"(", ";", "."}:
            return
        at += 1
    if not tokens.is_name(at, "from") or at + 1 >= len(tokens.kinds) or tokens.kinds[at + 1] != "string":
        return
    module = module_path(tokens.values[at + 1])
    for local, member in locals_:
        found.bind(local, Binding(f"{module}.{member}" if member else module))


def _in_braces(tokens: Tokens, at: int) -> bool:
    while at > 0 and not tokens.is_name(at, "import"):
        if tokens.is_punct(at, "{"):
            return True
        if tokens.is_punct(at, "}"):
            return False
        at -= 1
    return False
