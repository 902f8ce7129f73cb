"""Places of secrets that stand in a list beside a program which reads what the list names and sends it away."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import Act, Acts, code_of
from skillkeep.auditor.engines.behaviour.strangers import READS, SENDS
from skillkeep.auditor.engines.behaviour.unasked import loaded_by
from skillkeep.auditor.engines.interface import SourceFile, SourceTree
from skillkeep.auditor.engines.tables import secrets

__all__ = ["Listed", "listed", "listed_in_code"]

Listed = tuple[str, int, str, Act]  # the list's path and line, the place of a secret, and the act that sends

_LISTS: Final = compiled(r"(?i)\.(?:json|ya?ml|toml|ini|csv|tsv|txt|cfg|conf|dat|lst|list)$")
_VALUE: Final = compiled(r"[^\s\"',;:=\[\]{}()]{4,200}")
_JOINT: Final = compiled(r"[\"'`][ \t]{0,9}\+?[ \t]{0,9}[\"'`]")
_LONGEST: Final = 1 << 16
_SETTINGS: Final = compiled(
    r"(?i)\b(?:den(?:y|ied)(?:\b|(?=_|(?-i:[A-Z])))|(?:block|exclud|ignor|forbid|protect|redact)\w*)"
)
_KEY: Final = compiled(
    r"^(?P<indent>[ \t]*(?:-[ \t]+)?)(?:\[+(?P<section>[^\]\n]{1,80})\]+[ \t]*$"
    r"|[\"']?(?P<name>[A-Za-z_][\w .-]{0,60})[\"']?[ \t]*[:=])"
)
_DECIDED: Final = compiled(
    r"(?i)\b(?:action|effect|decision|policy|verdict|mode|type|permission)[\"']?[ \t]*[:=]"
    r"[ \t]*[\"']?(?:den|block|forbid|refus|reject)"
)
_FOLDER: Final = compiled(r"~?/?\.(?:ssh|gnupg|aws|kube|password-store|netrc|npmrc|pypirc|git-credentials)")
_PLACE: Final = compiled(
    r"[\"'`/~]\.(aws|ssh|kube|docker|gnupg|netrc|npmrc|pypirc|git-credentials|azure|kaggle|config[/\\]gcloud|config[/\\]gh|terraform\.d"
    r"|(?:gem|cargo)[/\\]credentials|bundle[/\\]config|m2[/\\]settings|composer[/\\]auth|pgpass|my\.cnf)\b"
)
_SPARED: Final = compiled(
    r"(?i)deny|denied|block|exclu|ignor|forbid|protect|redact|sensitive|skip|restrict|danger|suspicio|disallow|unsafe|secret_?pat"
    r"|re\.compile|RegExp|detect|scan|leak|mask|sanit|never|hidden|guard|mount|volume"
)
_CODE: Final = compiled(r"\.(?:py|pyw|(?:c|m)?[jt]s|rb|psm?1|sh|bash)$")
_SENDS: Final = (*SENDS, "chosen_import")  # a module that the list may name as well sends unseen
_KINDS: Final = 2
_NEAR: Final = 4
_REFUSED: Final = compiled(r"(?i)[\"'](?:block|den|refus|forbid|reject)")  # an answer that says so
_APART: Final = 20


def listed(tree: SourceTree) -> Iterator[Listed]:
    """The first secret's place of every list that a file which reads and sends names."""
    files = tree.texts()
    for file in tree.files:
        if not _LISTS.search(file.path) or not file.text or len(file.text) > _LONGEST:
            continue
        name, found = file.path.rpartition("/")[2], _secret(file)
        if found is None:
            continue
        for other in tree.files:
            program = _program(other, files) if other.path != file.path else []
            if any(_names(each, name) for each in program) and (sent := _sends_what_it_reads(program)):
                yield file.path, *found, sent
                break


def listed_in_code(tree: SourceTree, paths: Collection[str]) -> Iterator[Listed]:
    """The first line of every program that spells out places of two kinds of secrets, and reads and sends.

    `paths` are the files that may spell out any.
    """
    files = tree.texts()
    for path in sorted(paths):
        found = _spelled_out(files[path].text or "") if path in files and _CODE.search(path) else None
        for other in files.values() if found else ():
            program = _program(other, files)
            if files[path] in program and (sent := _sends_what_it_reads(program)):
                yield path, *found, sent  # type: ignore[misc]
                break


def _spelled_out(text: str) -> tuple[int, str] | None:
    """The first line of a list of places of secrets, of two kinds at least; none of a list of what shall be spared."""
    lines = text.split("\n")
    found: dict[str, int] = {}
    for number, line in enumerate(lines):
        for place in _PLACE.finditer(line):
            above, below = lines[max(number - _NEAR, 0) : number + 1], lines[number : number + _NEAR + 1]
            if not (_SPARED.search("\n".join(above)) or _REFUSED.search("\n".join(below))):
                found.setdefault(place[1], number)
    if len(found) < _KINDS or max(found.values()) - min(found.values()) > _APART:
        return None
    first = min(found.values())
    return first + 1, lines[first].strip()


def _names(file: SourceFile, name: str) -> bool:
    """True where `name` stands in the file, in one piece or in pieces that are put together."""
    return name in (file.text or "") or (bool(code_of(file)) and name in _JOINT.sub("", file.text or ""))


def _program(file: SourceFile, files: dict[str, SourceFile]) -> list[SourceFile]:
    """A file of code and what it loads; nothing of a file that is none."""
    return [file, *loaded_by(file, files).values()] if code_of(file) else []


def _sends_what_it_reads(program: list[SourceFile]) -> Act | None:
    """The first act of sending of a program that reads as well, or of loading a module whose name is not spelled."""
    segments = [segment for each in program for segment in code_of(each)]
    acts = [act for each in map(Acts, segments) for act in each.those((*READS, *_SENDS))]
    reads = any(act.kind in READS for act in acts)
    return next((act for act in acts if act.kind in _SENDS), None) if reads else None


def _secret(file: SourceFile) -> tuple[int, str] | None:
    """The line and the place of the first secret; None also for a list of what shall be left alone."""
    text = file.text or ""
    if not secrets().near(text):
        return None
    keys: list[tuple[int, bool]] = []  # of what stands around a line: how far it is indented, whether it spares
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        key = _KEY.match(line)
        if key is not None:
            keys = [each for each in keys if each[0] < len(key["indent"]) and not key["section"]]
            keys.append((len(key["indent"]), bool(_SETTINGS.search(key["name"] or key["section"]))))
        if any(spares for _, spares in keys) or _SETTINGS.search(line) or _refused_near(lines, number):
            continue
        for found in _VALUE.finditer(line):
            if secrets().path(found[0]) and ("/" in found[0] or "\\" in found[0] or _FOLDER.fullmatch(found[0])):
                return number, found[0]
    return None


def _refused_near(lines: list[str], number: int) -> bool:
    """True where a setting beside line `number` says what is done with what is named: it is refused."""
    return any(_DECIDED.search(line) for line in lines[max(number - _NEAR, 0) : number + _NEAR - 1])
