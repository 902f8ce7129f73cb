"""The files of one tool that are judged together: what a dotted name of one file stands for in another.

Python finds a module by folders the audit cannot know (the working folder, ``sys.path``, an installed package), so a
name matches every file whose path ends with it; the nearest one is taken, and all of them where the importing file
changes the search path.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from skillkeep.auditor.engines.python.scopes import Binding, Collected, Scope

__all__ = ["Member", "Program", "Source"]

_MOST_MODULES: Final = 4
_HANDED: Final = 256


@dataclass(frozen=True, slots=True)
class Member:
    """A name in a scope; one that begins with a dot is an attribute of any object of that file."""

    scope: Scope
    name: str


@dataclass(eq=False)
class Source:
    """One file of the program. `parts` are its folders and its module name; a package is named after its folder."""

    path: str
    found: Collected
    searches: bool = False  # changes where modules are looked for
    parts: tuple[str, ...] = ()
    folder: tuple[str, ...] = ()
    handed: dict[str, list[tuple[ast.Call, int, Scope]]] | None = None
    outside: dict[int, list[tuple[ast.Call, Scope]]] = field(default_factory=lambda: defaultdict(list))
    written: bool | None = None  # whether all calls of its functions are written down, once that was asked
    plain: bool | None = None  # whether it holds no module as a value, but for those that are `chosen`; once asked
    chosen: list[tuple[ast.expr, Scope]] = field(default_factory=list)  # names of modules that it imports by a call
    used: frozenset[str] = frozenset()  # words of snippets elsewhere in the tool that import it

    def __post_init__(self) -> None:
        *folder, name = self.path.split("/")
        stem = name.partition(".")[0]
        self.folder = tuple(folder)
        self.parts = self.folder if stem == "__init__" else (*self.folder, stem)


class Program:
    """Several files, or one. Every answer is a look-up, and imports in a circle end where they meet themselves."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self._by_scope = {id(source.found.module): source for source in sources}
        self._by_last: dict[str, list[Source]] = defaultdict(list)
        for source in sources:
            if source.parts:
                self._by_last[source.parts[-1]].append(source)
        self.linked = len(sources) > 1
        self._only = None if self.linked or not sources else sources[0]
        self._memo: dict[tuple[int, str], tuple[Member, ...]] = {}

    def source(self, scope: Scope) -> Source:
        """The file that `scope` belongs to."""
        if self._only is not None:
            return self._only
        return self._by_scope[id(scope.module)]

    def name_of(self, binding: Binding, home: Scope) -> tuple[str, ...]:
        """A name by which `target` finds a function or class that a file defines at its top."""
        if not self.linked or home.parent is not None or not isinstance(binding.node, ast.ClassDef | ast.FunctionDef):
            return ()
        return (f"@{self.sources.index(self._by_scope[id(home)])}.{binding.node.name}",)

    def modules(self, name: str, importer: Source) -> list[Source]:
        """The files that the module `name`, as `importer` writes it, may be."""
        if name.startswith("."):
            level = len(name) - len(name.lstrip("."))
            base = importer.folder[: len(importer.folder) - (level - 1)] if level > 1 else importer.folder
            wanted = (*base, *filter(None, name.lstrip(".").split(".")))
            return [each for each in self._by_last.get(wanted[-1] if wanted else "", ()) if each.parts == wanted]
        wanted = tuple(name.split("."))
        size = len(wanted)
        fits = [each for each in self._by_last.get(wanted[-1], ()) if each.parts[-size:] == wanted]
        fits = [each for each in fits if each is not importer]
        fits.sort(key=lambda each: (-_shared(each.folder, importer.folder), len(each.parts)))
        return fits[: _MOST_MODULES if importer.searches else 1]

    def target(self, name: str, scope: Scope) -> tuple[Member, ...]:
        """What the dotted `name` stands for in other files, as `scope` sees it."""
        if not self.linked:
            return ()
        importer = self.source(scope)
        key = (id(importer), name)
        if (known := self._memo.get(key)) is not None:
            return known
        self._memo[key] = ()  # what imports itself in a circle is nothing
        answer = self._memo[key] = self._find(name, importer)
        return answer

    def _find(self, name: str, importer: Source) -> tuple[Member, ...]:
        if name.startswith("@"):
            number, _, path = name[1:].partition(".")
            return self._member(self.sources[int(number)], path.split("."))
        dots = name[: len(name) - len(name.lstrip("."))]
        parts = name.lstrip(".").split(".")
        for size in range(len(parts), -1 if dots else 0, -1):
            modules = self.modules(dots + ".".join(parts[:size]), importer)
            if modules:
                rest = parts[size:]
                return tuple(each for module in modules for each in self._member(module, rest)) if rest else ()
        return ()

    def _member(self, source: Source, parts: list[str]) -> tuple[Member, ...]:
        scope, last = source.found.module, len(parts) - 1
        for at, part in enumerate(parts):
            name = part.removesuffix("()")
            bound = scope.bindings.get(name)
            if not bound:
                return self._elsewhere(source, scope, parts[at:])
            if at == last:
                return (Member(scope, name),)
            binding = bound[-1]
            if binding.kind == "import":
                return self.target(".".join((binding.name, *parts[at + 1 :])), scope)
            inner = source.found.scopes.get(id(binding.node)) if isinstance(binding.node, ast.ClassDef) else None
            if inner is None:
                return self._elsewhere(source, scope, parts[at:]) if at == last else ()
            scope = inner
        return ()

    def _elsewhere(self, source: Source, scope: Scope, parts: list[str]) -> tuple[Member, ...]:
        """A name that its scope does not bind itself: imported with a star, inherited, or set on an object."""
        if scope.parent is None:
            wanted = ".".join(parts)
            return tuple(each for star in scope.stars for each in self.target(f"{star}.{wanted}", scope))
        if len(parts) == 1 and parts[0] in source.found.attributes:
            return (Member(source.found.module, f".{parts[0]}"),)
        bases = scope.owner.bases if isinstance(scope.owner, ast.ClassDef) else []
        names = [ast.unparse(base) for base in bases if isinstance(base, ast.Name | ast.Attribute)]
        return tuple(each for name in names for each in self._inherited(source, name, parts))

    def _inherited(self, source: Source, base: str, parts: list[str]) -> tuple[Member, ...]:
        top, _, rest = base.partition(".")
        bound = source.found.module.bindings.get(top)
        wanted = [each for each in (rest, *parts) if each]
        if bound and bound[-1].kind == "import":
            return self.target(".".join((bound[-1].name, *wanted)), source.found.module)
        return self.target(f"@{self.sources.index(source)}.{'.'.join((top, *wanted))}", source.found.module)

    def handed(self, name: str, scope: Scope) -> list[tuple[ast.Call, int, Scope]]:
        """The calls of the same file that hand the function `name` to other code, and where it stands among theirs."""
        source = self.source(scope)
        if source.handed is None:
            source.handed = {}
            for call, inside in source.found.calls:
                for at, item in enumerate(call.args):
                    if item.__class__ is ast.Name:
                        source.handed.setdefault(item.id, []).append((call, at, inside))
                for at, keyword in enumerate(call.keywords, len(call.args)):
                    if keyword.value.__class__ is ast.Name:
                        source.handed.setdefault(keyword.value.id, []).append((call, at, inside))
        return source.handed.get(name, [])[:_HANDED]


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
