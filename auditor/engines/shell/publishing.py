"""Secrets that leave in a file: a copy keeps what is in it, and a program that publishes takes it along.

What is written to a file, copied, packed or added to a repository is still the secret that it was.
"""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.publishing import MESSENGERS, publisher
from skillkeep.auditor.engines.shell.site import Call, ShellSite

__all__ = ["Publishing"]

_NOTHING: Final[frozenset[str]] = frozenset()
_COPYING: Final = frozenset({"cp", "mv", "ln", "install", "rsync", "ditto", "gcp"})
_TARS: Final = frozenset({"tar", "gtar", "bsdtar"})
_PACKING: Final = frozenset({"zip", "7z", "7za", "7zz", "rar", "ar"})
_ALL: Final = frozenset({".", "./", "*", "-A", "--all", "-u", "--update", ":/"})
_EVERYWHERE: Final = compiled(r"[/~$]|[a-zA-Z]+:")  # no name below the working folder
_SETTINGS: Final = compiled(r"(?:.*/)?\.env(?:\.[\w-]+)*")  # no repository and no package takes them along
_ADDED: Final = ".git"  # the repository, among the files of the script


class Publishing:
    """Judges one call at a time."""

    def __init__(self, site: ShellSite) -> None:
        self._site = site

    def judge(self, call: Call, named: frozenset[str], flowing: frozenset[str]) -> tuple[frozenset[str], str]:
        """Which labels `call` publishes, and at which host.

        `named` are those of the files that it names, `flowing` those of what it is told and fed.
        """
        labels = named | self.of_files(call)
        if labels and (target := self._target(call)):
            self._site.files.filled(target, labels)
        if call.name == "git" and call.operands[:1] == ["add"]:
            self._site.files.filled(_ADDED, labels | (_NOTHING if _ALL.isdisjoint(call.arguments) else self._below("")))
        found = publisher(call.name, call.arguments)
        if found is None:
            return _NOTHING, ""
        if found.folder:
            labels |= self._site.files.private.get(_ADDED, _NOTHING) if call.name == "git" else self._below("")
        fed = flowing if call.name in MESSENGERS or "-" in call.arguments else _NOTHING
        return labels | fed, found.host

    def of_files(self, call: Call) -> frozenset[str]:
        """The labels of the files and folders among the arguments into which the script has put what is the user's."""
        files, labels = self._site.files, _NOTHING
        if not files.private:
            return labels
        for text, word in zip(call.arguments, call.words, strict=False):
            name = re.split("[@=]", self._site.name(text, word))[-1].removeprefix("./").removeprefix("<")
            key = files.same(name, files.private)
            labels |= files.private.get(key, _NOTHING) if key is not None else _NOTHING
            if name and not text.startswith("-"):
                labels |= self._below(f"{name.rstrip('/')}/") if name not in {".", "*"} else self._below("")
        return labels

    def _below(self, folder: str) -> frozenset[str]:
        """The labels of all files below `folder`; of none, below the working folder."""
        return _NOTHING.union(
            *(
                labels
                for name, labels in self._site.files.private.items()
                if (name.startswith(folder) if folder else not _EVERYWHERE.match(name))
                and not _SETTINGS.fullmatch(name)
            )
        )

    def _target(self, call: Call) -> str:
        """The file that `call` makes of those that it names."""
        operands = call.operands
        if call.name in _COPYING and len(operands) > 1:
            name = operands[-1]
            return f"{name}{operands[0].rpartition('/')[2]}" if name.endswith("/") else name
        if call.name in _TARS and operands:
            at = next((at for at, text in enumerate(call.arguments) if _packs(text, first=not at)), None)
            return call.arguments[at + 1] if at is not None and at + 1 < len(call.arguments) else ""
        if call.name in _PACKING and operands:
            return operands[1] if call.name != "zip" and len(operands) > 2 else operands[0]
        return ""


def _packs(text: str, *, first: bool) -> bool:
    """Whether the word after it is the archive that ``tar`` makes: ``czf``, ``-cf``, ``--file``."""
    return text == "--file" or ((text.startswith("-") or first) and not text.startswith("--") and text.endswith("f"))
