"""What a fuzz target is, and the few helpers that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillkeep.auditor.rulebook import Example, default_rulebook

__all__ = ["BROKEN", "MOST_BYTES", "Target", "broken_inputs", "chosen", "examples", "text_of", "with_choice"]

MOST_BYTES = 64 << 10
BROKEN = Path(__file__).resolve().parent.parent / "broken"


@dataclass(frozen=True)
class Target:
    """One reader under test.

    `check` takes any bytes and raises only when the reader broke a promise; errors that the reader documents are
    caught inside. `seeds` are inputs it reads well, written by us. `grammar` names a mutator that knows the
    language (``python``), so that what it makes still parses.
    """

    name: str
    about: str
    check: Callable[[bytes], None]
    seeds: Callable[[], Iterable[bytes]]
    grammar: str = ""


def chosen(data: bytes, choices: Sequence[str]) -> tuple[str, bytes]:
    """One of `choices` by the first byte, and the bytes after it."""
    return choices[(data[0] if data else 0) % len(choices)], data[1:]


def with_choice(choices: Sequence[str], choice: str, data: bytes) -> bytes:
    """The input that `chosen` takes apart into `choice` and `data`."""
    return bytes([choices.index(choice)]) + data


def text_of(data: bytes) -> str:
    """Bytes as the text an auditor would see: UTF-8 where it is, else Latin-1; never a lone surrogate."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def examples(*suffixes: str) -> list[str]:
    """Every example of our own rules that is a file with one of these endings."""
    rules = default_rulebook().rules.values()
    items = [item for rule in rules for kind in (rule.bad, rule.good, rule.evasion) for item in kind]
    return [item.text for item in items if isinstance(item, Example) and item.file.endswith(suffixes)]


def broken_inputs(name: str) -> list[Path]:
    """What once broke the target `name`: one file each, kept for ever."""
    folder = BROKEN / name
    return sorted(folder.iterdir()) if folder.is_dir() else []
