"""The one error tree. Only `SkillkeepError` and its subclasses cross a package boundary.

Each folder declares its own codes in its own subclass (``codes = {...}``), so adding an error touches one
file. A code is stable, documented in ``docs/errors.md`` (generated from here) and asserted by tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, ClassVar

from skillkeep.value import Value

__all__ = ["Code", "Exit", "SkillkeepError", "UsageError", "all_codes"]


class Exit(IntEnum):
    """Exit codes of every command line (`skill run` passes the child's own code through)."""

    OK = 0
    TOOL_FAILURE = 1
    USAGE = 2
    NOTHING_TO_SCAN = 3
    AWAITING = 10
    REJECTED = 20
    RUN_FAILED = 125
    RUN_BLOCKED = 126
    RUN_NOT_FOUND = 127


class Code(Value):
    """What a stable error code means and which exit code a command line gives for it."""

    summary: str
    exit: Exit = Exit.TOOL_FAILURE


class SkillkeepError(Exception):
    """A failure that a user or an agent can act on.

    `code` is stable and machine-readable, `message` says what happened, `hint` says what to do next,
    `context` holds JSON-able facts (paths, digests, limits).
    """

    codes: ClassVar[Mapping[str, Code]] = {
        "internal_error": Code("A defect in Skillkeep itself: something happened that no rule foresaw."),
        "bad_home": Code("The Skillkeep home cannot be used: wrong owner, wrong mode or not a folder.", Exit.USAGE),
        "bad_config": Code("The configuration file cannot be read or holds an unknown or invalid value.", Exit.USAGE),
        "journal_broken": Code("The journal's hash chain does not hold: a line was changed, dropped or moved."),
        "io_error": Code("The operating system refused to read or write (disk full, permission, bad device)."),
        "not_a_tree": Code("The path to read is not a folder that can be opened.", Exit.USAGE),
        "limit_exceeded": Code("The input is larger, deeper or slower than a configured limit allows.", Exit.REJECTED),
        "unsafe_path": Code("A path leaves its root, is absolute, or holds a forbidden component.", Exit.REJECTED),
        "bad_manifest": Code("A manifest cannot be read back: a line is malformed or out of order."),
        "bad_name": Code(
            "A tool name is not usable: lower-case letters, digits, dot, dash, underscore, 1-64.", Exit.USAGE
        ),
    }

    def __init__(self, code: str, message: str, hint: str, **context: Any) -> None:
        if code not in type(self).codes:
            raise ValueError(f"{type(self).__name__} does not declare the code {code!r}")
        if not hint:
            raise ValueError(f"the error {code!r} was raised without a hint")
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.context = context

    @property
    def exit_code(self) -> Exit:
        """The exit code a command line gives for this error."""
        return type(self).codes[self.code].exit

    def to_json(self) -> dict[str, Any]:
        """The object that `--json` prints: `ok`, `error_code`, `error_message`, `hint`, `context`."""
        return {
            "ok": False,
            "error_code": self.code,
            "error_message": self.message,
            "hint": self.hint,
            "context": self.context,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self.code, self.message, self.hint, self.context))


class UsageError(SkillkeepError):
    """The command line or an argument cannot be used as given."""

    codes: ClassVar[Mapping[str, Code]] = {
        "usage": Code("The command's arguments do not fit together.", Exit.USAGE),
    }


def _rebuild(cls: type[SkillkeepError], code: str, message: str, hint: str, context: dict[str, Any]) -> SkillkeepError:
    return cls(code, message, hint, **context)


def _subclasses(cls: type[SkillkeepError]) -> Iterator[type[SkillkeepError]]:
    yield cls
    for child in cls.__subclasses__():
        yield from _subclasses(child)


def all_codes() -> dict[str, tuple[type[SkillkeepError], Code]]:
    """Every declared code of every imported folder, by name. Two folders never share a code."""
    found: dict[str, tuple[type[SkillkeepError], Code]] = {}
    for cls in _subclasses(SkillkeepError):
        for name, code in cls.__dict__.get("codes", {}).items():
            if name in found:
                raise ValueError(f"error code {name!r} is declared by {cls.__name__} and {found[name][0].__name__}")
            found[name] = (cls, code)
    return found
