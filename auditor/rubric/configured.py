"""From settings to a reviewer. Command lines call it and hand the result in; nothing here reads the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.rubric.interface import Reviewer, RubricOptions

if TYPE_CHECKING:
    from skillkeep.settings import RubricSettings

__all__ = ["rubric_options"]


def rubric_options(settings: RubricSettings, env: Mapping[str, str], *, asked: bool = False) -> RubricOptions | None:
    """The phase as configured, or None when it is neither enabled nor `asked` for.

    `env` is the caller's environment: the key is taken from it. Raises `AuditError` (`rubric_not_configured`) when the
    phase is asked for and there is nobody to ask.
    """
    if not (settings.enabled or asked):
        return None
    if not settings.usable:
        raise AuditError(
            "rubric_not_configured",
            "no reviewer is configured for --rubric",
            "Set rubric.base_url and rubric.model, or rubric.command, in config.toml; see docs/rubric.md.",
        )
    return RubricOptions(_reviewer(settings, env), settings.seconds, settings.tokens, settings.consensus)


def _reviewer(settings: RubricSettings, env: Mapping[str, str]) -> Reviewer:
    if settings.command:
        from skillkeep.auditor.rubric.command import CommandReviewer

        return CommandReviewer(settings.command, env)
    from skillkeep.auditor.rubric.openai_server import OpenAIReviewer

    key = env.get(settings.api_key_env, "") if settings.api_key_env else None
    return OpenAIReviewer(settings.base_url, settings.model, key)
