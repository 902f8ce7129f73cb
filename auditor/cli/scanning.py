"""A scan as a command line asks for it: from its words to the exit code. It needs no parser of options."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from skillkeep.auditor.audit import audit_tree
from skillkeep.auditor.interface import AuditOptions, Report, Verdict
from skillkeep.auditor.report.formats import find_format
from skillkeep.auditor.report.interface import Audited, Format, Style, plain, worst_verdict
from skillkeep.auditor.report.json import json_document
from skillkeep.auditor.report.source import open_view, reader_of
from skillkeep.auditor.several import Audit, audit_several
from skillkeep.auditor.target import as_tree, base_of
from skillkeep.cli.destination import require_destination, write_destination
from skillkeep.cli.output import emit, paint, say, write
from skillkeep.cli.progress import terminal_progress
from skillkeep.clock import SYSTEM_CLOCK
from skillkeep.errors import Exit, SkillkeepError, UsageError
from skillkeep.home import Home
from skillkeep.progress import Progress
from skillkeep.value import Value

__all__ = ["ScanCommandLine", "perform"]


class ScanCommandLine(Value):
    """What is to be read, and the options, each as `auditor scan --help` says."""

    paths: tuple[Path, ...]
    format: str = "text"
    as_json: bool = False
    output: Path | None = None
    strict: bool = False
    no_semgrep: bool = False
    no_bandit: bool = False
    rubric: bool = False
    suppressions: Path | None = None
    no_cache: bool = False
    quiet: bool = False
    verbose: bool = False
    config: Path | None = None


def perform(asked: ScanCommandLine) -> int:
    """Audit the paths, show the reports in the format that was asked for, and give the exit code."""
    chosen = find_format(asked.format)
    if asked.as_json:
        if chosen.name not in ("text", "json"):
            raise UsageError(
                "usage", "--json and --format name two formats", "Leave one of them out.", format=asked.format
            )
        chosen = find_format("json")
    if asked.output is not None:
        require_destination(asked.output)
    options = _options(asked.config, semgrep=not asked.no_semgrep, bandit=not asked.no_bandit, rubric=asked.rubric)
    home = Home.resolve(os.environ)
    with _trees(asked.paths, options) as roots:
        accept = _accepting(home, asked.suppressions, [*roots, *asked.paths])
        with terminal_progress(quiet=asked.quiet) as progress:
            reports = audit_several(roots, _auditing(options, None if asked.no_cache else home), progress)
        reports = [accept(report) for report in reports]
        style = Style(plain if asked.output is not None else paint, asked.verbose, SYSTEM_CLOCK.now())
        with _audited(asked.paths, roots, reports) as audited:
            _show(chosen, audited, style, asked.output)
    if asked.output is not None:
        say(f"report written to {asked.output}", quiet=asked.quiet)
    return _exit_code(chosen, audited, strict=asked.strict)


def _options(config: Path | None, *, semgrep: bool, bandit: bool, rubric: bool) -> AuditOptions:
    home = Home.resolve(os.environ)
    if config is None and not rubric and not os.path.lexists(home.config):
        return AuditOptions(semgrep=semgrep, bandit=bandit, checkout=True)
    from skillkeep.auditor.rubric.configured import rubric_options
    from skillkeep.settings import load_settings

    everything = load_settings(home, config)
    options = AuditOptions.of(everything.auditor)
    limits = everything.limits
    return replace(
        options,
        file_bytes=limits.file_bytes,
        total_bytes=limits.source_bytes,
        entries=limits.source_files,
        semgrep=semgrep and options.semgrep,
        bandit=bandit and options.bandit,
        rubric=rubric_options(everything.rubric, os.environ, asked=rubric),
        checkout=True,
    )


def _accepting(home: Home, named: Path | None, audited: Sequence[Path]) -> Callable[[Report], Report]:
    """What marks accepted warnings in a report. Most homes accept none, and then nothing is loaded for it."""
    if named is None and not os.path.lexists(home.suppressions):
        return _unchanged
    from skillkeep.auditor.suppressions import apply_suppressions, load_suppressions

    today = SYSTEM_CLOCK.now().date()
    accepted = load_suppressions(named or home.suppressions, today, audited, named=named is not None)
    return partial(apply_suppressions, suppressions=accepted, today=today)


def _unchanged(report: Report) -> Report:
    return report


def _auditing(options: AuditOptions, home: Home | None) -> Audit:
    """An audit with `options`, out of the home's cache where there is a usable home."""
    cached: Callable[..., Report] = audit_tree
    if home is not None:
        from skillkeep.auditor.cache import ReportCache

        with suppress(SkillkeepError):
            cached = ReportCache(home.ensure().reports / "scan").audit

    def audit(root: Path, progress: Progress) -> Report:
        return cached(root, options, progress=progress)

    return audit


@contextmanager
def _trees(paths: Sequence[Path], options: AuditOptions) -> Iterator[list[Path]]:
    with ExitStack() as stack:
        yield [stack.enter_context(as_tree(path, options.file_bytes)) for path in paths]


@contextmanager
def _audited(paths: Sequence[Path], roots: Sequence[Path], reports: Sequence[Report]) -> Iterator[list[Audited]]:
    """The reports with what their lines are read from."""
    with ExitStack() as stack:
        views = [stack.enter_context(open_view(root)) for root in roots]
        yield [
            Audited(os.fspath(path), report, reader_of(view), base_of(path, alone=len(paths) == 1))
            for path, report, view in zip(paths, reports, views, strict=True)
        ]


def _show(chosen: Format, audited: Sequence[Audited], style: Style, output: Path | None) -> None:
    if output is not None:
        write_destination(output, (chosen.render(audited, style) + "\n").encode("utf-8"))
    elif chosen.name == "json":
        emit(json_document(audited))
    else:
        write(chosen.render(audited, style))


def _exit_code(chosen: Format, audited: Sequence[Audited], *, strict: bool) -> int:
    verdict = worst_verdict(audited)
    if not (chosen.verdict_exits or strict):
        return Exit.OK
    if verdict is Verdict.FAIL:
        return Exit.REJECTED
    return Exit.AWAITING if strict and verdict is Verdict.WARN else Exit.OK
