"""What the rubric phase is handed and what it leaves: the reviewer, its limits, and the record in the report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

__all__ = ["Prompt", "Reply", "ReviewFailedError", "Reviewer", "RubricOptions", "RubricRun", "SkipReason"]


class SkipReason(StrEnum):
    """Why the phase had no effect. The static verdict stands in every case."""

    NO_KEY = "no_key"  # the variable named in the configuration is not set
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"  # 429, and waiting as asked would take longer than there is time
    SERVER_ERROR = "server_error"  # 5xx, or a command that failed
    REJECTED = "rejected"  # any other status than success: wrong key, unknown model, redirect
    REFUSED = "refused"  # the model or its filter declined to answer
    TRUNCATED = "truncated"  # the reply ended before its JSON did
    EMPTY = "empty"
    TOO_LONG = "too_long"
    MALFORMED = "malformed"  # not the JSON that was asked for
    NOTHING_TO_REVIEW = "nothing_to_review"
    CHANGED = "changed"  # the tree could not be opened again

    @property
    def bad_format(self) -> bool:
        """True when asking once more may help."""
        return self in {SkipReason.TRUNCATED, SkipReason.EMPTY, SkipReason.TOO_LONG, SkipReason.MALFORMED}


class ReviewFailedError(Exception):
    """A reviewer has no usable answer. Stays inside this package; `detail` never holds a key or a reply's text."""

    def __init__(self, reason: SkipReason, detail: str = "") -> None:
        super().__init__(f"{reason.value} {detail}".strip())
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class Prompt:
    """One request: our instructions, the tool's files as data, and the JSON schema of the reply."""

    system: str
    user: str
    schema: dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """What came back, unjudged. Token counts are the server's word, 0 when it said none."""

    text: str
    prompt_tokens: int = 0
    reply_tokens: int = 0


class Reviewer(ABC):
    """A model behind some transport. Made by the caller and handed in; the auditor itself connects to nothing."""

    name: str

    @abstractmethod
    def ask(self, prompt: Prompt, seconds: float) -> Reply:
        """One answer within `seconds`. Raises `ReviewFailedError`."""


def _nonce() -> str:
    import secrets

    return secrets.token_hex(16)


@dataclass(frozen=True)
class RubricOptions:
    """A reviewer and its bounds.

    `seconds` is for the whole phase, `tokens` the estimated size of one prompt, `consensus` how many independent
    answers are asked for; a finding needs more than half of them.
    """

    reviewer: Reviewer
    seconds: float = 120.0
    tokens: int = 60_000
    consensus: int = 1
    nonce: Callable[[], str] = field(default=_nonce, repr=False)


@dataclass(frozen=True)
class RubricRun:
    """What the phase did. `state` is ``off``, ``ran`` or ``skipped``; `reason` is a `SkipReason` when skipped.

    `kept` findings were added. `discarded` claims did not match the files, `outvoted` ones had no majority.
    """

    state: str = "off"
    reason: str = ""
    detail: str = ""
    reviewer: str = ""
    replies: int = 0
    kept: int = 0
    discarded: int = 0
    outvoted: int = 0
    prompt_tokens: int = 0
    reply_tokens: int = 0
    seconds: float = 0.0
