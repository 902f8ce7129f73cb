"""Archives that nobody could look into, and text that tells how to open them: the form malware is handed out in."""

from __future__ import annotations

import re
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context, Emitter, SourceFile, SourceTree
from skillkeep.auditor.engines.magic import READ_ARCHIVES, archive_kind
from skillkeep.auditor.interface import Location

__all__ = ["judge_lures"]

# Kinds that take a password; the others stay closed because we do not read them.
_LOCKABLE: Final = frozenset({"7z", "rar"})
_PASSWORD: Final = compiled(
    r"\b(?:pass(?:word|code|phrase|wd)?|pwd|passwort|kennwort|contraseña|mot de passe|senha|пароль)\b"
    r"|密码|密碼|パスワード|비밀번호|\b(?:7zz?|7z[ar]|unrar|rar)[ \t][^\n]{0,80}?(?<!\S)-h?p\S",
    re.IGNORECASE,
)
_NEAR: Final = 300
_MOST_ARCHIVES: Final = 50
_MOST_MENTIONS: Final = 100
_TEXTS: Final = (Context.INSTRUCTION, Context.FENCED, Context.SHELL, Context.POWERSHELL, Context.TEXT)


def judge_lures(tree: SourceTree, emit: Emitter) -> None:
    """A closed archive of the tree whose password stands near its name in a text of the tree."""
    closed = [file for file in tree.files if _stays_closed(file)]
    for archive in closed[:_MOST_ARCHIVES]:
        name = archive.path.rpartition("/")[2]
        found = next((where for file in tree.files if (where := _told(file, name))), "")
        if found:
            message = f"{found} tells the password of an archive that could not be read"
            emit.finding("container-locked-lure", Location(archive.path), name, message)


def _stays_closed(file: SourceFile) -> bool:
    kind = archive_kind(file.head)
    return kind in _LOCKABLE and kind not in READ_ARCHIVES


def _told(file: SourceFile, name: str) -> str:
    """The file's path when a password is told within 300 characters of `name`, else an empty text."""
    for segment in file.of(*_TEXTS):
        at = segment.text.find(name)
        for _ in range(_MOST_MENTIONS):
            if at < 0:
                break
            if _PASSWORD.search(segment.text, max(0, at - _NEAR), at + len(name) + _NEAR):
                return file.path
            at = segment.text.find(name, at + len(name))
    return ""
