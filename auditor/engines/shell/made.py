"""Programs that a script makes: which text it puts into which file, and which of these files it then runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.shell.evaluate import HOLE, OWN_VARIABLE
from skillkeep.auditor.engines.shell.files import Files
from skillkeep.auditor.engines.shell.model import Command
from skillkeep.auditor.engines.written import written_as

__all__ = ["BLANK", "DEVICES", "Made"]

BLANK: Final = HOLE + " \t\r\n\"'"
"""What a text consists of of which nothing is known."""

DEVICES: Final = ("/dev/", "/proc/", "&")
"""What names begin with that are no files."""

Derive = Callable[[str, Context | None, Command, str], None]


@dataclass(slots=True)
class _Text:
    """What `command` has put into a file, and what others have added to it."""

    command: Command
    parts: list[str]

    @property
    def whole(self) -> str:
        return "".join(self.parts)


@dataclass
class Made:
    """The texts a script puts into files, each with the command that does so, and the languages they are run as.

    A function may run a file before the script has written it, as the text stands: what is run is told at the end.
    """

    files: Files
    derive: Derive
    _texts: dict[str, list[_Text]] = field(default_factory=dict)
    _run: dict[str, list[Context | None]] = field(default_factory=dict)

    def put(self, name: str, text: str, command: Command, *, appended: bool) -> None:
        """`command` writes `text` into the file `name`, or adds it there."""
        key = _key(name)
        if not key or key.startswith(DEVICES) or not text.strip(BLANK):
            return
        versions = self._texts.setdefault(key, [])
        if appended and versions:
            versions[-1].parts.append(text)
        else:
            versions.append(_Text(command, [text]))

    def copied(self, source: str, target: str) -> None:
        """`target` is now what `source` is."""
        key = self._find(source)
        if key is not None:
            name = target + key.rpartition("/")[2] if target.endswith(("/", "/.")) else target
            last = self._texts[key][-1]
            self.put(name, last.whole, last.command, appended=False)

    def text(self, name: str) -> str | None:
        """What was put into the file `name` last, or None."""
        key = self._find(name)
        return self._texts[key][-1].whole if key is not None else None

    def called(self, name: str) -> list[str]:
        """The files of this name in whatever folder."""
        return [key for key in self._texts if key.rpartition("/")[2] == name]

    def run(self, name: str, context: Context | None) -> None:
        """The file is run as a program of this language, or, when None, by its own name."""
        key = _key(name)
        if key and context not in (known := self._run.setdefault(key, [])):
            known.append(context)
        if (found := self._find(name)) is not None:
            self._hand_on(self._texts[found][-1], context)

    def finish(self) -> None:
        """Have every text audited that is run, or whose file is a program by its name."""
        for name, contexts in self._run.items():
            key = self._find(name)
            for made in self._texts[key] if key is not None else ():
                for context in contexts:
                    self._hand_on(made, context)
        for key, versions in self._texts.items():
            for made in versions:
                if (read := written_as(key, made.whole)) is not None:
                    self._audit(read.text, read.context, made.command, "written to a file")

    def _hand_on(self, made: _Text, context: Context | None) -> None:
        text, command = made.whole, made.command
        if context is None and not text.startswith("#!"):
            context = Context.SHELL  # which is what a shell makes of a program without that line
        self._audit(text, context, command, "written to a file and run")
        if context is Context.TEXT:
            self._audit(text, None, command, "written to a file and run")

    def _audit(self, text: str, context: Context | None, command: Command, via: str) -> None:
        if context is Context.SHELL:
            text = text.replace(HOLE, OWN_VARIABLE)
        self.derive(text, context, command, via)

    def _find(self, name: str) -> str | None:
        return self.files.same(_key(name), self._texts) if self._texts else None


def _key(name: str) -> str:
    return name.removeprefix("file://").replace("/./", "/").removeprefix("./")
