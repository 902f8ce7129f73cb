"""Engines of one language, imported when the first text in that language arrives: most skills need few of them."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Any

from skillkeep.auditor.engines.interface import Context, Emitter, Engine, SourceFile, SourceTree

__all__ = ["BY_LANGUAGE", "LanguageEngine"]


_MET = "\0met"  # no path, so no note of an engine's own


class LanguageEngine(Engine):
    """Stands for the engine of `module` until a segment in one of `contexts` is met. `scan_tree` needs such, too."""

    def __init__(self, module: str, name: str, order: int, version: str, *contexts: Context) -> None:
        self.module = module
        self.name = name  # type: ignore[misc]  # of this instance
        self.order = order  # type: ignore[misc]
        self.version = version  # type: ignore[misc]
        self.contexts = frozenset(contexts)

    @cached_property
    def engine(self) -> Engine:
        """The engine itself, imported now."""
        found: Any = import_module(f"skillkeep.auditor.engines.{self.module}").ENGINE
        assert isinstance(found, Engine)
        return found

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """See `Engine.scan_file`."""
        if any(segment.context in self.contexts for segment in file.segments):
            emit.notes[_MET] = True
            self.engine.scan_file(file, emit)

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """See `Engine.scan_tree`."""
        if emit.notes.pop(_MET, False):
            self.engine.scan_tree(tree, emit)


BY_LANGUAGE = (
    LanguageEngine("python_ast", "python", 10, "2", Context.PYTHON),
    LanguageEngine("javascript_syntax", "javascript", 11, "2", Context.JAVASCRIPT, Context.TYPESCRIPT),
    LanguageEngine("powershell_syntax", "powershell", 13, "1", Context.POWERSHELL),
    LanguageEngine("ruby_syntax", "ruby", 14, "1", Context.RUBY),
)
