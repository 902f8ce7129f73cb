"""Who calls a script's functions: what one does with its arguments is judged by these where all callers are seen."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.model import Command
from skillkeep.auditor.engines.shell.site import Call, ShellSite

__all__ = ["Callers"]

_NAMED: Final = compiled(r"\$\{?!?([A-Za-z_]\w*)")

_Changed = tuple[tuple[str, str | None], ...]


class Callers:
    """Of one segment. `untold`: functions of which a call was not judged."""

    def __init__(self, site: ShellSite) -> None:
        self._site = site
        self._at: dict[str, set[int]] = {}
        self._bodies: dict[str, tuple[int, int]] = {}
        self._held: dict[str, dict[str, str | None]] = {}  # what their variables held when they were judged
        self.untold: set[str] = set()

    def met(self, call: Call) -> None:
        """A function is called."""
        self._at.setdefault(call.name, set()).add(call.command.start)

    def are_told(self, name: str) -> bool:
        """True when a function is named where it is defined, once, and where it is called, and nowhere else."""
        if name in self.untold or self._site.dispatches:
            return False
        places = self._at.get(name, ())
        named = re.findall(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self._site.segment.text)
        return bool(places) and len(named) == 1 + len(places)

    @contextmanager
    def inside(self, name: str, defined: Command | None = None) -> Iterator[None]:
        """In the body of the function `name`."""
        scope = self._site.scope
        if defined is not None:
            self._bodies[name] = (defined.start, defined.end)
        outer, scope.body = scope.body, self._bodies.get(name, scope.body)
        yield
        scope.body = outer

    def look(self, name: str) -> None:
        """Remember what the variables hold that the function `name` was judged with where it is defined."""
        texts = self._site.scope.texts
        first, last = self._bodies[name]
        names = dict.fromkeys(_NAMED.findall(self._site.segment.text, first, last))
        self._held[name] = {each: texts.get(each) for each in names}

    def changed(self, name: str) -> _Changed:
        """The variables of a function's body that hold another text by now."""
        now = {each: self._site.scope.texts.get(each) for each in self._held.get(name, ())}
        return tuple((each, text) for each, text in now.items() if text != self._held[name][each])

    def late(self) -> list[str]:
        """The functions that somebody may still call with other variables (``trap``)."""
        return [name for name in self._held if self.changed(name)]
