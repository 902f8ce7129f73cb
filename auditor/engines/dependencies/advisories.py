"""Known-bad packages from an offline file of the user's, in the OSV format (ossf.github.io/osv-schema)."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.dependencies.model import Ecosystem, Named, normal

__all__ = ["Advice", "advice_on", "version_key"]

_ECOSYSTEMS: Final = {
    "pypi": Ecosystem.PYPI, "npm": Ecosystem.NPM, "rubygems": Ecosystem.GEM, "go": Ecosystem.GO,
    "crates.io": Ecosystem.CARGO,
}  # fmt: skip
_MOST_BYTES: Final = 512 << 20
_PART: Final = compiled(r"[0-9]{1,18}|[a-z]+", re.IGNORECASE)
_SEPARATORS: Final = compiled(r"[-_.]+")
_EARLY: Final = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3, "preview": 3}


@dataclass(frozen=True)
class Advice:
    """An advisory about a package that the tool names. `malicious`: the package itself is malware, not a weakness."""

    id: str
    summary: str
    malicious: bool
    certain: bool


def advice_on(path: str, packages: Iterable[Named]) -> Iterator[tuple[Named, Advice]]:
    """Every advisory of the file that is about one of `packages`.

    The file is one record, a list of them, or one a line. Raises `ValueError` when it cannot be read as that.
    """
    wanted: dict[tuple[Ecosystem, str], list[Named]] = {}
    for package in packages:
        wanted.setdefault((package.ecosystem, normal(package.ecosystem, package.name)), []).append(package)
    for record in _records(path, {_SEPARATORS.sub("-", name) for _, name in wanted}):
        try:
            found = [] if record.get("withdrawn") else list(_matches(record, wanted))
        except (AttributeError, TypeError) as error:
            raise ValueError("a record does not have the shape of the OSV format") from error
        yield from found


def _records(path: str, names: set[str]) -> Iterator[dict[str, Any]]:
    try:
        if Path(path).stat().st_size > _MOST_BYTES:
            raise ValueError("it is larger than 512 MiB")
        with open(path, encoding="utf-8") as stream:
            head = stream.read(256).lstrip()
            stream.seek(0)
            if head.startswith("["):
                yield from (each for each in json.load(stream) if isinstance(each, dict))
                return
            if head.startswith("{") and "\n" in head and not head.partition("\n")[0].rstrip().endswith("}"):
                yield json.load(stream)
                return
            for line in stream:
                lowered = _SEPARATORS.sub("-", line.lower())
                if line.strip() and any(name in lowered for name in names):
                    yield json.loads(line)
    except (OSError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _matches(
    record: dict[str, Any], wanted: dict[tuple[Ecosystem, str], list[Named]]
) -> Iterator[tuple[Named, Advice]]:
    for affected in record.get("affected") or ():
        about = affected.get("package") or {}
        ecosystem = _ECOSYSTEMS.get(str(about.get("ecosystem", "")).partition(":")[0].lower())
        if ecosystem is None:
            continue
        for package in wanted.get((ecosystem, normal(ecosystem, str(about.get("name", "")))), ()):
            hit = _affects(affected, package.pinned)
            if hit is not None:
                known = str(record.get("id", "?"))
                malicious = known.startswith("MAL-") or any(
                    str(a).startswith("MAL-") for a in record.get("aliases") or ()
                )
                yield package, Advice(known, str(record.get("summary", ""))[:200], malicious, hit)


def _affects(affected: dict[str, Any], version: str) -> bool | None:
    """True: this version, or every one, is affected. False: some are, and the tool does not pin. None: not affected."""
    versions = [str(item) for item in affected.get("versions") or ()]
    ranges = [item for item in affected.get("ranges") or () if item.get("type") != "GIT"]
    if not version:
        return (not versions and not ranges) or any(_all(item) for item in ranges)
    if version in versions or any(_within(item, version) for item in ranges):
        return True
    return None if versions or ranges else True


def _all(entry: dict[str, Any]) -> bool:
    events = entry.get("events") or ()
    return any(event.get("introduced") == "0" for event in events) and not any(
        "fixed" in event or "last_affected" in event for event in events
    )


def _within(entry: dict[str, Any], version: str) -> bool:
    """The algorithm of the OSV schema: events in order switch the state."""
    key, inside = version_key(version), False
    for event in entry.get("events") or ():
        if "introduced" in event and key >= version_key(str(event["introduced"])):
            inside = True
        if "fixed" in event and key >= version_key(str(event["fixed"])):
            inside = False
        if "last_affected" in event and key > version_key(str(event["last_affected"])):
            inside = False
    return inside


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """An order of versions that fits SemVer and most of PEP 440: early releases lie before the release."""
    plain = version.lstrip("vV=").partition("+")[0][:200]
    parts = _PART.findall(plain)
    numbers = list(itertools.takewhile(str.isdigit, parts))
    rest = parts[len(numbers) :]
    while numbers and not int(numbers[-1]):
        numbers.pop()
    release = [(2, int(number), "") for number in numbers]
    return (*release, *(_rest(part.lower(), "-" in plain) for part in rest), (1, 0, ""))


def _rest(part: str, is_early: bool) -> tuple[int, int, str]:
    if part.isdigit():
        return (2, int(part), "")
    if part in _EARLY:
        return (0, _EARLY[part], "")
    return (0, 4, part) if is_early and part not in {"post", "r", "rev"} else (3, 0, part)
