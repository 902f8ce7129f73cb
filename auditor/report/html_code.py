"""The code of the files with findings in place: line numbers, the marked span, what was found below its line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from html import escape as quoted

from skillkeep.auditor.interface import Finding, Severity
from skillkeep.auditor.report.interface import Audited
from skillkeep.text import escape, shorten

__all__ = ["CLASSES", "anchor", "code_of", "safe"]

CLASSES = {Severity.FAIL: "fail", Severity.WARN: "warn", Severity.INFO: "info"}
_WHOLE = 300
_AROUND = 6
_MOST_FILES = 60
_MOST_HITS = 200
_LONGEST_LINE = 400


def safe(text: str) -> str:
    """A tool's text for HTML, attributes included: nothing invisible, no line break, no markup."""
    return quoted(escape(text), quote=True)


def anchor(number: int, path: str, paths: Sequence[str], line: int) -> str:
    """The id of a line of report `number`; empty for a file that is not shown."""
    return f"r{number}f{paths.index(path)}l{line}" if path in paths and line else ""


def code_of(audited: Audited, number: int) -> tuple[list[str], str]:
    """The paths shown (worst first) and their code as HTML."""
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for finding in audited.report.findings:
        if finding.location.line and audited.read(finding.location.path):
            by_file[finding.location.path].append(finding)
    ranked = sorted(by_file, key=lambda path: (-max(f.severity.rank for f in by_file[path]), path))
    paths = ranked[:_MOST_FILES]
    parts = [_file(audited.read(path), by_file[path], path, f"r{number}f{index}") for index, path in enumerate(paths)]
    if len(ranked) > len(paths):
        parts.append(f'<p class="soft">and {len(ranked) - len(paths)} more files with findings</p>')
    return paths, "\n".join(parts)


def _file(lines: Sequence[str], findings: Sequence[Finding], path: str, prefix: str) -> str:
    hits: dict[int, list[Finding]] = defaultdict(list)
    for finding in findings[:_MOST_HITS]:
        hits[finding.location.line].append(finding)
    rows = "".join(_rows(lines, hits, prefix))
    count = f"{len(findings)} finding{'' if len(findings) == 1 else 's'}"
    head = f'<summary><code>{safe(path)}</code> <span class="soft">{count}</span></summary>'
    return f'<details class="file" open>{head}<div class="code"><table>{rows}</table></div></details>'


def _rows(lines: Sequence[str], hits: dict[int, list[Finding]], prefix: str) -> Iterator[str]:
    before = 0
    for line in _shown(len(lines), hits):
        if line > before + 1:
            yield f'<tr class="gap"><td class="num">⋮</td><td>{line - before - 1} lines not shown</td></tr>'
        yield from _row(lines[line - 1].rstrip("\r"), line, hits.get(line, []), prefix)
        before = line
    if before < len(lines):
        yield f'<tr class="gap"><td class="num">⋮</td><td>{len(lines) - before} lines not shown</td></tr>'


def _shown(count: int, hits: dict[int, list[Finding]]) -> list[int]:
    if count <= _WHOLE:
        return list(range(1, count + 1))
    near = {line for hit in hits for line in range(hit - _AROUND, hit + _AROUND + 1)}
    return sorted(line for line in near if 1 <= line <= count)


def _row(text: str, line: int, found: Sequence[Finding], prefix: str) -> Iterator[str]:
    if not found:
        yield f'<tr id="{prefix}l{line}"><td class="num">{line}</td><td>{_cut(text, 0, 0)}</td></tr>'
        return
    worst = max(found, key=lambda f: f.severity.rank)
    kind = CLASSES[worst.severity]
    place = worst.location
    start = max(place.column - 1, 0)
    end = place.end_column - 1 if place.end_line == place.line else len(text)
    marked = _cut(text, start, max(end, start))
    yield f'<tr class="hit {kind}" id="{prefix}l{line}"><td class="num">{line}</td><td>{marked}</td></tr>'
    for finding in found:
        told = finding.message or finding.title
        off = " off" if finding.suppression else ""
        said = f"<b>{safe(finding.title)}</b>" + (f": {safe(shorten(told, 300))}" if told != finding.title else "")
        via = f" (inside {safe(' > '.join(finding.provenance))})" if finding.provenance else ""
        yield f'<tr class="say {CLASSES[finding.severity]}{off}"><td class="num">▲</td><td>{said}{via}</td></tr>'


def _cut(text: str, start: int, end: int) -> str:
    """A line with its span marked; a very long one is cut around the span."""
    low = max(start - 80, 0) if len(text) > _LONGEST_LINE else 0
    high = min(low + _LONGEST_LINE, len(text))
    end = min(end, high)
    before, middle, after = text[low:start], text[start:end], text[max(start, end) : high]
    marked = f"<mark>{_kept(middle)}</mark>" if middle else ""
    return f"{'…' if low else ''}{_kept(before)}{marked}{_kept(after)}{'…' if high < len(text) else ''}"


def _kept(text: str) -> str:
    return quoted(escape(text.expandtabs(4)), quote=True)
