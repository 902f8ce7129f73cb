"""Calls of the door that most of its tests make."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillkeep.errors import SkillkeepError
from skillkeep.ingest.artifacts import Artifact, Uncut, discover
from skillkeep.ingest.fetching import fetch
from skillkeep.ingest.outcome import Outcome
from skillkeep.ingest.pipeline import ingest
from skillkeep.ingest.quarantine import Quarantine
from skillkeep.ingest.request import Floor, IngestRequest
from skillkeep.ingest.source import parse_source
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


def limited(floor: Floor, **limits: Any) -> Floor:
    """The same floor with other limits."""
    settings = replace(floor.settings, limits=LimitSettings(**limits))
    return replace(floor, settings=settings)


def rules(outcome: Outcome) -> set[str]:
    """The rules of an outcome's findings."""
    return {finding["rule"] for finding in outcome.findings}


def brought_in(floor: Floor, source: str | Path, **options: Any) -> tuple[Artifact | Uncut, ...]:
    """Fetch a source and cut out its tools, without an audit; the quarantine is gone when this returns."""
    request = IngestRequest(os.fspath(source), **options)
    parsed = parse_source(request.source, request.ref, request.path)
    limits = floor.settings.limits
    with Quarantine(floor.home) as quarantine:
        fetched = fetch(parsed, quarantine, limits)
        return discover(fetched, quarantine, limits, request.select, everything=request.everything).chosen


def digest_of(floor: Floor, source: str | Path, **options: Any) -> str:
    """The digest of the one tool of a source."""
    [artifact] = brought_in(floor, source, **options)
    assert isinstance(artifact, Artifact)
    return artifact.manifest.digest
