"""Judges what Ruby executes: texts handed to a shell, texts run as Ruby, files from elsewhere."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.tree_site import TreeSite
from skillkeep.auditor.engines.values import HOLE, NOTHING, Value

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Execution"]

_WORDS: Final = compiled(r"[\s;|&()\"'`<>]+")


class Execution:
    """Judges one call at a time."""

    def __init__(self, site: TreeSite) -> None:
        self._site = site

    def command(self, node: Node, given: list[Value], by: str) -> None:
        """`given` is handed to the system by `by`: one text goes to a shell, several words do not."""
        words = [value for value in given if value.kind != "hash"]
        if words and words[0].items is not None:
            words = list(words[0].items)
        if not words:
            return
        labels = NOTHING.union(*(word.labels for word in words))
        if len(words) == 1:
            self.shell(node, words[0], by)
            return
        if "download" in words[0].labels:
            self.downloaded(node, by)
        for word in words[:2]:
            self.started(node, word, by)
        text = " ".join(HOLE if not word.known else shlex.quote(word.text) for word in words)
        if "download" in labels and words[0].text.rpartition("/")[2] in {
            "sh",
            "bash",
            "zsh",
            "ruby",
            "python",
            "python3",
        }:
            self.downloaded(node, by)
        self._site.derive(text, Context.SHELL, node, by)

    def shell(self, node: Node, text: Value, by: str) -> None:
        """`text` is run by a shell."""
        if "download" in text.labels:
            self.downloaded(node, by)
        elif "decoded" in text.labels:
            self._site.report("shell-decoded-execution", node, f"{by} runs a text that was hidden")
        elif not text.known:
            self._site.report("ruby-execution", node, f"{by} runs a command that is made at run time")
        for word in _WORDS.split(text.text) if self._site.files else ():
            self.started(node, Value(word), by)
        if text.text.strip(HOLE + " "):
            self._site.derive(text.text, Context.SHELL, node, by)

    def ruby(self, node: Node, text: Value, by: str) -> None:
        """`text` is run as Ruby."""
        if "download" in text.labels:
            self.downloaded(node, by)
        elif "decoded" in text.labels:
            self._site.report("shell-decoded-execution", node, f"{by} runs a text that was hidden")
        elif not text.known:
            self._site.report("ruby-execution", node, f"{by} runs text that is made at run time")
        if text.text.strip(HOLE + " \n"):
            self._site.derive(text.text, Context.RUBY, node, by)

    def started(self, node: Node, file: Value, by: str) -> None:
        """`file` is run, if it came from elsewhere that matters."""
        labels, address = self._site.origin(file, None)
        if "decoded" in labels:
            self._site.report("shell-decoded-execution", node, f"{by} runs a file that a decoder wrote")
        elif labels:
            self.downloaded(node, by, address)

    def downloaded(self, node: Node, by: str, address: str = "") -> None:
        """Something downloaded is run."""
        where = f" from {address[:120]}" if address else ""
        self._site.report("shell-download-execution", node, f"a download{where} is run by {by}")
