"""Calls of the door that most of its tests make."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillkeep.errors import SkillkeepError
from skillkeep.ingest.outcome import Outcome
from skillkeep.ingest.pipeline import ingest
from skillkeep.ingest.request import Floor, IngestRequest
from skillkeep.settings import LimitSettings


def take(floor: Floor, source: str | Path, **options: Any) -> Outcome:
    """Ingest a source that holds one tool, and raise the tool's error if it has one."""
    [outcome] = ingest(IngestRequest(os.fspath(source), **options), floor)
    if outcome.error is not None:
        raise outcome.error
    return outcome


def refused(floor: Floor, source: str | Path, **options: Any) -> SkillkeepError:
    """Ingest a source or tool that cannot be taken in, and give the error; the vault has to stay empty."""
    with pytest.raises(SkillkeepError) as caught:
        take(floor, source, **options)
    assert floor.vault.list() == []
    return caught.value


def limited(floor: Floor, **limits: float) -> Floor:
    """The same floor with other limits."""
    settings = floor.settings.model_copy(update={"limits": LimitSettings.model_validate(limits)})
    return replace(floor, settings=settings)


def rules(outcome: Outcome) -> set[str]:
    """The rules of an outcome's findings."""
    return {finding["rule"] for finding in outcome.findings}
