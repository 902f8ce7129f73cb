"""The reviewer's reply: strict JSON of one shape, or it does not count."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillkeep.auditor.rubric.interface import ReviewFailedError, SkipReason
from skillkeep.auditor.rubric.text import Rubric

__all__ = ["Claim", "parse_reply", "reply_schema"]

_LONGEST = 256 << 10
_MOST_CLAIMS = 200
_FENCE = "```"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


_Line = Annotated[int, Field(ge=1, le=10_000_000)]


class Claim(_Model):
    """One finding as the reviewer words it, before anything of it was checked."""

    category: Annotated[str, Field(max_length=64)]
    severity: Literal["fail", "warn"]
    file: Annotated[str, Field(max_length=8192)]
    start_line: _Line
    end_line: _Line
    quote: Annotated[str, Field(max_length=8192)]
    reason: Annotated[str, Field(max_length=4096)]


class _Answer(_Model):
    findings: Annotated[list[Claim], Field(max_length=_MOST_CLAIMS)]


def parse_reply(text: str) -> tuple[Claim, ...]:
    """The claims of a reply. One Markdown fence around all of it is forgiven, nothing else.

    Raises `ReviewFailedError`: `empty`, `too_long`, `truncated`, `malformed`.
    """
    if len(text) > _LONGEST:
        raise ReviewFailedError(SkipReason.TOO_LONG, f"more than {_LONGEST} characters")
    body = _unfenced(text.strip())
    if not body:
        raise ReviewFailedError(SkipReason.EMPTY)
    try:
        return tuple(_Answer.model_validate_json(body).findings)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        cut = first["type"] == "json_invalid" and "EOF" in first["msg"]
        raise ReviewFailedError(SkipReason.TRUNCATED if cut else SkipReason.MALFORMED, str(first["type"])) from error
    except UnicodeError as error:
        raise ReviewFailedError(SkipReason.MALFORMED, "not Unicode") from error


def _unfenced(text: str) -> str:
    if not (text.startswith(_FENCE) and text.endswith(_FENCE) and "\n" in text):
        return text
    return text.partition("\n")[2][: -len(_FENCE)].strip()


def reply_schema(rubric: Rubric) -> dict[str, Any]:
    """JSON Schema of a reply, in the subset that servers accept for structured output."""
    properties = {
        "category": {"type": "string", "enum": [*(each.name for each in rubric.categories), "other"]},
        "severity": {"type": "string", "enum": ["fail", "warn"]},
        "file": {"type": "string"},
        "start_line": {"type": "integer"},
        "end_line": {"type": "integer"},
        "quote": {"type": "string"},
        "reason": {"type": "string"},
    }
    claim = _object(properties)
    return _object({"findings": {"type": "array", "items": claim}})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
