"""The documents below ``rules/`` as plain data, read as YAML once and kept as JSON beside them from then on.

Reading YAML costs more than all the rest of a start. What is kept counts only for the digest that the YAML has now.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from skillkeep.auditor.kept import keep, read_kept
from skillkeep.auditor.strict_yaml import load_yaml

__all__ = ["INTENT_REQUIREMENTS", "RULES_FOLDER", "SPELLINGS", "Ruleset", "shipped"]

INTENT_REQUIREMENTS: Final = "intent-words"
"""What is derived of the meanings, by the name it is kept under."""

SPELLINGS: Final = "spellings"
"""What patterns spell, likewise."""

RULES_FOLDER: Final = Path(__file__).resolve().parent.parent / "rules"

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_KEPT: Final = "documents.1.kept"  # the number is that of the way the documents are read
_DERIVED: Final = 3  # the number of the way things are derived


class Ruleset:
    """All files of a rules folder by their path in it. The digest covers every byte, so equal ones mean equal rules."""

    def __init__(self, texts: Mapping[str, bytes], known: Mapping[str, Any] | None = None) -> None:
        self._texts = texts
        self._known = dict(known or {})
        state = hashlib.sha256()
        for name, body in sorted(texts.items(), key=lambda item: item[0].split("/")):
            state.update(f"{name}\0{len(body)}\0".encode())
            state.update(body)
        self.digest = "sha256:" + state.hexdigest()

    @classmethod
    def read(cls, folder: Path) -> Ruleset:
        """Read every file of `folder`, nothing kept from earlier. Raises `OSError`."""
        return cls(dict(_files(os.fspath(folder), "")))

    def files(self) -> tuple[str, ...]:
        """The names of the files with rules, sorted."""
        return tuple(sorted(name for name in self._texts if name.endswith(".yaml") and "/" not in name))

    def document(self, name: str) -> Any:
        """What the file `name` holds. Raises `AuditError` (`bad_yaml`), `KeyError` for an unknown name."""
        if name not in self._known:
            self._known[name] = load_yaml(self._texts[name].decode("utf-8"))
        return self._known[name]

    def plain(self, name: str) -> Any:
        """What the JSON file `name` holds. Raises `KeyError` for an unknown name, `ValueError` for what is none."""
        return json.loads(self._texts[name])

    def kept(self, folder: Path) -> Ruleset:
        """The same with the documents as they are kept below `folder`, which are made anew where they do not fit."""
        place = folder / "__pycache__" / _KEPT
        try:
            known = read_kept(place, self.digest)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            known = None
        if known is not None:
            self._known = known
        elif not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):
                keep(place, self.digest, {name: self.document(name) for name in self._documents()})
        return self

    def derived(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` answers for these rules, plain data that takes long to make; kept as documents are."""
        place = _place_of(name)
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            known = read_kept(place, self.digest)
            if known is not None:
                return known[name]
        made = make()
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):
                keep(place, self.digest, {name: made})
        return made

    def lacks(self, name: str) -> bool:
        """Whether `derived` would have to make it and could keep it, as far as the files' times tell."""
        place = _place_of(name)
        if sys.dont_write_bytecode or not os.access(place.parent, os.W_OK):
            return False
        try:
            return os.stat(place).st_mtime_ns < os.stat(place.with_name(_KEPT)).st_mtime_ns
        except OSError:
            return True

    def _documents(self) -> tuple[str, ...]:
        return tuple(name for name in self._texts if name.endswith(".yaml") and not name.startswith("semgrep/"))


@cache
def shipped() -> Ruleset:
    """The rules this version ships."""
    return Ruleset.read(RULES_FOLDER).kept(RULES_FOLDER)


def _place_of(name: str) -> Path:
    return RULES_FOLDER / "__pycache__" / f"{name}.{_DERIVED}.kept"


def _files(folder: str, below: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    with os.scandir(folder) as listing:
        for item in listing:
            if item.is_dir(follow_symlinks=False):
                found += _files(item.path, f"{below}{item.name}/") if item.name != "__pycache__" else []
            elif item.name.endswith(_SUFFIXES):
                with open(item.path, "rb") as stream:
                    found.append((below + item.name, stream.read()))
    return found
