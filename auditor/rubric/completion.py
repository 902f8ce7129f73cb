"""Reads the body of a chat completion (OpenAI's API reference, "The chat completion object"); nobody vouches for it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillkeep.auditor.rubric.interface import Reply, ReviewFailedError, SkipReason

__all__ = ["read_completion"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Message(_Model):
    content: str | None = None
    refusal: str | None = None


class _Choice(_Model):
    message: _Message
    finish_reason: str | None = None


_Tokens = Annotated[int, Field(ge=0, le=1_000_000_000)]


class _Usage(_Model):
    prompt_tokens: _Tokens = 0
    completion_tokens: _Tokens = 0


class _Completion(_Model):
    choices: Annotated[list[_Choice], Field(min_length=1, max_length=64)]
    usage: _Usage | None = None


def read_completion(body: bytes) -> Reply:
    """The first choice's text. Raises `ReviewFailedError`: `malformed`, `refused`, `truncated`, `empty`."""
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError as error:
        raise ReviewFailedError(SkipReason.MALFORMED, "the body is no chat completion") from error
    choice = completion.choices[0]
    if choice.message.refusal or choice.finish_reason == "content_filter":
        raise ReviewFailedError(SkipReason.REFUSED)
    if choice.finish_reason == "length":
        raise ReviewFailedError(SkipReason.TRUNCATED, "the model reached its limit of output")
    if not (choice.message.content or "").strip():
        raise ReviewFailedError(SkipReason.EMPTY)
    usage = completion.usage or _Usage()
    return Reply(choice.message.content or "", usage.prompt_tokens, usage.completion_tokens)
