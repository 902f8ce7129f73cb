"""One self-contained page for a reviewer: no script, no address it loads from, every text of the tool escaped.

Its Content-Security-Policy allows its own style sheet, by hash, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from itertools import groupby

from skillkeep.auditor.interface import Finding, Report, Verdict
from skillkeep.auditor.references import address_of, references_of
from skillkeep.auditor.report.html_code import CLASSES, anchor, code_of, safe
from skillkeep.auditor.report.html_style import STYLE
from skillkeep.auditor.report.interface import Audited, Format, Style, worst_verdict
from skillkeep.auditor.report.text import rubric_line, summary_line
from skillkeep.auditor.rulebook import default_rulebook
from skillkeep.text import shorten
from skillkeep.version import __version__

__all__ = ["FORMAT"]

_KINDS = {Verdict.FAIL: "fail", Verdict.WARN: "warn", Verdict.PASS: "pass"}
_LABELS = {"fail": "FAIL", "warn": "WARN", "info": "NOTE"}
_SAID = {
    Verdict.FAIL: "This tool is refused. Nothing overrides a FAIL.",
    Verdict.WARN: "Read the warnings before you let this tool in.",
    Verdict.PASS: "Nothing was found that needs a decision.",
}
_MOST_PLACES = 20
_MOST_LISTED = 300


def _render(audited: Sequence[Audited], style: Style) -> str:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    title = safe(audited[0].label) if len(audited) == 1 else f"{len(audited)} tools"
    body = "\n".join(_report(each, number, style) for number, each in enumerate(audited))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{worst_verdict(audited).value}: {title}</title>\n<style>{STYLE}</style></head>\n<body>\n"
        f"{_contents(audited)}{body}\n"
        f"<footer>Skillkeep {safe(__version__)}, {style.now:%Y-%m-%d %H:%M} UTC. The auditor reads and never runs: "
        "a verdict is one input, the sandbox is the other.</footer>\n</body></html>"
    )


def _contents(audited: Sequence[Audited]) -> str:
    if len(audited) == 1:
        return ""
    rows = "".join(
        f'<li class="{_KINDS[each.report.verdict]}"><span class="chip">{each.report.verdict.value}</span> '
        f'<a href="#r{number}">{safe(each.label)}</a></li>'
        for number, each in enumerate(audited)
    )
    return f"<nav><h2>{len(audited)} tools</h2><ol>{rows}</ol></nav>\n"


def _report(each: Audited, number: int, style: Style) -> str:
    report = each.report
    paths, code = code_of(each, number)
    found = "".join(_rules(report, number, paths, style))
    parts = [
        "".join(
            f'<p class="note">{safe(shorten(note, 400))}</p>'
            for note in (*report.notes, *filter(None, [rubric_line(report)]))
        ),
        f"<h2>Findings</h2>{found}" if found else "<h2>Findings</h2><p>None.</p>",
        f"<h2>The code, with findings in place</h2>{code}" if code else "",
        _wants(report, number, paths),
        _unread(report),
        _engines(report),
    ]
    kind = _KINDS[report.verdict]
    counts = summary_line(report).partition("  ")[2]
    head = (
        f'<header class="top {kind}" id="r{number}"><div><span class="badge">{report.verdict.value}</span><div>'
        f"<h1>{safe(each.label)}</h1><p>{_SAID[report.verdict]} {safe(counts)}</p>"
        f"<p><code>{safe(report.digest or 'no digest: the tree cannot be hashed')}</code></p></div></div></header>"
    )
    return f"{head}\n<main>{''.join(parts)}</main>"


def _rules(report: Report, number: int, paths: Sequence[str], style: Style) -> Iterator[str]:
    ordered = sorted(report.findings, key=lambda f: (-f.severity.rank, f.rule, f.location))
    for (severity, _), group in groupby(ordered, key=lambda f: (f.severity, f.rule)):
        yield _rule(list(group), CLASSES[severity], number, paths, all_places=style.all_places)


def _rule(group: Sequence[Finding], kind: str, number: int, paths: Sequence[str], *, all_places: bool) -> str:
    first = group[0]
    shown = group if all_places else group[:_MOST_PLACES]
    places = "".join(_place(finding, anchor(number, finding.location.path, paths, finding.location.line))
                     for finding in shown)  # fmt: skip
    more = f'<li class="soft">and {len(group) - len(shown)} more places</li>' if len(group) > len(shown) else ""
    rule = default_rulebook().rules.get(first.rule)
    why = fix = ""
    if rule:
        links = ", ".join(_link(name) for name in references_of(rule))
        why = f'<p class="why">{safe(" ".join(rule.why.split()))}</p>'
        fix = f'<p><b>Fix:</b> {safe(" ".join(rule.fix.split()))}</p><p class="soft">See {links}</p>'
    return (
        f'<section class="rule {kind}"><h3><span class="chip">{_LABELS[kind]}</span>{safe(first.title)} '
        f'<span class="soft"><code>{safe(first.rule)}</code>, {safe(first.category)}, '
        f"{first.confidence.value} confidence</span></h3>{why}<ul>{places}{more}</ul>{fix}</section>"
    )


def _place(finding: Finding, target: str) -> str:
    place = finding.location
    where = safe(place.path) if place.path else "the whole tool"
    where += f":{place.line}" if place.line else ""
    shown = f'<a href="#{target}"><code>{where}</code></a>' if target else f"<code>{where}</code>"
    told = f" {safe(shorten(finding.message, 300))}" if finding.message not in {"", finding.title} else ""
    via = f' <span class="soft">inside {safe(" > ".join(finding.provenance))}</span>' if finding.provenance else ""
    shot = f'<code class="shot">{safe(shorten(finding.excerpt.strip(), 300))}</code>' if finding.excerpt.strip() else ""
    if (said := finding.suppression) is None:
        return f"<li>{shown}{told}{via}{shot}</li>"
    whose = f"suppressed by {safe(said.owner)} until {safe(said.expires)}: {safe(shorten(said.reason, 300))}"
    return f'<li class="off">{shown}{told}{via}{shot}<p class="soft">{whose}</p></li>'


def _wants(report: Report, number: int, paths: Sequence[str]) -> str:
    if not report.capabilities:
        return ""
    rows = []
    for item in sorted(report.capabilities, key=lambda c: (c.kind, c.value))[:_MOST_LISTED]:
        place = item.evidence
        where = f"<code>{safe(place.path)}{f':{place.line}' if place.line else ''}</code>"
        target = anchor(number, place.path, paths, place.line)
        where = f'<a href="#{target}">{where}</a>' if target else where
        value = "chosen at run time" if item.value == "*" else f"<code>{safe(shorten(item.value, 200))}</code>"
        rows.append((safe(item.kind), value, where, "yes" if item.declared else "no"))
    intro = "<p>What the code asks for. The sandbox gives none of it unless you grant it by name.</p>"
    return f"<h2>What the code wants</h2>{intro}" + _table(("kind", "what", "where", "declared"), rows)


def _unread(report: Report) -> str:
    entries = sorted((e for e in report.ledger if e.state != "read"), key=lambda e: (e.state != "failed", e.path))
    if not entries:
        return "<h2>What was not read</h2><p>Every file was read.</p>"
    rows = [
        (
            f"<code>{safe(e.path) or 'the whole tool'}</code>",
            safe(e.engine),
            safe(e.state),
            safe(shorten(e.reason, 200)),
        )
        for e in entries[:_MOST_LISTED]
    ]
    more = f"<p>and {len(entries) - _MOST_LISTED} more</p>" if len(entries) > _MOST_LISTED else ""
    return "<h2>What was not read</h2>" + _table(("file", "engine", "state", "reason"), rows) + more


def _engines(report: Report) -> str:
    rows = [
        (safe(run.name), safe(run.state), str(run.files or ""), f"{run.seconds:.3f} s", safe(shorten(run.reason, 160)))
        for run in report.engines
    ]
    made = f'<p class="soft">Ruleset <code>{safe(report.ruleset)}</code>, {report.seconds:.2f} s in all</p>'
    return "<h2>Engines</h2>" + _table(("engine", "state", "files", "time", "reason"), rows) + made


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    titles = "".join(f"<th>{name}</th>" for name in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<table class="list"><tr>{titles}</tr>{body}</table>'


def _link(reference: str) -> str:
    address = address_of(reference)
    return f'<a href="{safe(address)}" rel="noreferrer">{safe(reference)}</a>' if address else safe(reference)


FORMAT = Format("html", "one page for a reviewer", _render)
