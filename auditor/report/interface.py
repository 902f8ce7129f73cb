"""What a report format is: a module of this folder that binds ``FORMAT``. To add one is to add a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from skillkeep.auditor.interface import Location, Report, Verdict
from skillkeep.auditor.report.source import Reader, no_source

__all__ = ["Audited", "Format", "Paint", "Style", "joined_path", "plain", "worst_verdict"]

Paint = Callable[[str, str], str]


def plain(text: str, _colour: str) -> str:
    """A `Paint` without colours."""
    return text


@dataclass(frozen=True)
class Audited:
    """One audited path: `label` as the user gave it, the report, its lines, its place below the working folder.

    `base` is the POSIX path from the working folder to the audited one (empty for itself or for one outside), so
    that a code host finds the files of a repository.
    """

    label: str
    report: Report
    read: Reader = no_source
    base: str = ""


@dataclass(frozen=True)
class Style:
    """How to show: `paint` colours a text, `all_places` shows every place of a rule, `now` is the time shown."""

    paint: Paint = plain
    all_places: bool = False
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Format:
    """One format. `render` gives the whole document, all that came from the tool escaped, no newline at its end.

    `verdict_exits` is False for a document whose reader judges it, so that its upload is not cut off by an exit code.
    """

    name: str
    about: str
    render: Callable[[Sequence[Audited], Style], str]
    verdict_exits: bool = True


def worst_verdict(audited: Sequence[Audited]) -> Verdict:
    """FAIL before WARN before PASS."""
    verdicts = {each.report.verdict for each in audited}
    return next((verdict for verdict in (Verdict.FAIL, Verdict.WARN) if verdict in verdicts), Verdict.PASS)


def joined_path(audited: Audited, place: Location | str) -> str:
    """A file's raw path from the working folder; the audited folder itself for a finding about the whole tool."""
    path = place if isinstance(place, str) else place.path
    return "/".join(part for part in (audited.base, path) if part)
