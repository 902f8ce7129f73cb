"""The Ruby engine: parses every Ruby segment with tree-sitter-ruby and has its calls judged."""

from __future__ import annotations

from typing import ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.ruby.judge import Judge, TooDeepError
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.tree_site import TreeSite
from skillkeep.auditor.syntax import UnparsedError, parse
from skillkeep.auditor.syntax.comments import readings

__all__ = ["ENGINE", "RubyEngine"]

_FOREIGN: Final = compiled(r"[^\0-\x7f]")
_FILES: Final = (".rb", ".gemspec", ".rake", "gemfile", "rakefile")
_PLUGIN: Final = "rubygems_plugin.rb"


class RubyEngine(Engine):
    """Ruby by its syntax tree."""

    name: ClassVar[str] = "ruby"
    order: ClassVar[int] = 14

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge every Ruby segment of the file."""
        for segment in file.of(Context.RUBY):
            self._segment(segment, emit)
        if file.known_as.rpartition("/")[2] == _PLUGIN and file.text:
            place = Segment(file.path, Context.RUBY, file.text, anchor=file.place).locate(0, 0)
            emit.finding("ruby-install-hook", place, _PLUGIN, "the gem command loads this file whenever it runs")

    def _segment(self, segment: Segment, emit: Emitter) -> None:
        complete, known = False, set[tuple[str, int, str]]()
        try:
            for text in readings(segment.text, segment.context):
                tree = parse(Context.RUBY, text if text.isascii() else _FOREIGN.sub("x", text))
                Judge(TreeSite(segment, emit, text, reported=known), table("ruby")).script(tree.root)
                complete = complete or tree.complete
        except (TooDeepError, UnparsedError) as error:
            emit.incomplete(segment.path, str(error) or "its expressions are nested too deep to be judged")
            return
        if complete:
            emit.understood(segment)
        elif not segment.provenance and segment.path.lower().endswith(_FILES):
            emit.incomplete(segment.path, "a part of it is no Ruby that the grammar knows")


ENGINE = RubyEngine()
