"""`auditor scan`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from skillkeep.auditor.audit import audit_tree
from skillkeep.auditor.interface import AuditOptions, Report, Verdict
from skillkeep.auditor.report.formats import find_format
from skillkeep.auditor.report.interface import Audited, Format, Style, plain, worst_verdict
from skillkeep.auditor.report.json import json_document
from skillkeep.auditor.report.source import open_view, reader_of
from skillkeep.auditor.several import Audit, audit_several
from skillkeep.auditor.target import as_tree, base_of
from skillkeep.cli.destination import require_destination, write_destination
from skillkeep.cli.options import (
    ConfigOption,
    FormatOption,
    JsonOption,
    NoCacheOption,
    NoInputOption,
    OutputOption,
    QuietOption,
    SuppressionsOption,
    VerboseOption,
    path,
)
from skillkeep.cli.output import emit, paint, say, write
from skillkeep.cli.progress import terminal_progress
from skillkeep.clock import SYSTEM_CLOCK
from skillkeep.errors import Exit, SkillkeepError, UsageError
from skillkeep.home import Home
from skillkeep.progress import Progress

__all__ = ["scan"]

PathArgument = Annotated[list[Path], typer.Argument(metavar="PATH", parser=path, help="Folders, or single files.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with 10 for WARN.")]
NoSemgrepOption = Annotated[bool, typer.Option("--no-semgrep", help="Leave semgrep out.")]
NoBanditOption = Annotated[bool, typer.Option("--no-bandit", help="Leave bandit out.")]
RubricOption = Annotated[bool, typer.Option("--rubric", help="Ask the configured language model as well.")]


def scan(
    paths: PathArgument,
    format_: FormatOption = "text",
    json_: JsonOption = False,
    output: OutputOption = None,
    strict: StrictOption = False,
    no_semgrep: NoSemgrepOption = False,
    no_bandit: NoBanditOption = False,
    rubric: RubricOption = False,
    suppressions: SuppressionsOption = None,
    no_cache: NoCacheOption = False,
    no_input: NoInputOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    config: ConfigOption = None,
) -> int:
    """Read tools without running any of them, and say PASS, WARN or FAIL. Formats: text, json, sarif, markdown,
    github, html.

    Exit: 0 PASS or WARN, 10 WARN with --strict, 20 FAIL, 3 nothing to scan, 2 usage; 0 for sarif without --strict.
    Example: auditor scan ./my-skill
    """
    chosen = find_format(format_)
    if json_:
        if chosen.name not in ("text", "json"):
            raise UsageError("usage", "--json and --format name two formats", "Leave one of them out.", format=format_)
        chosen = find_format("json")
    if output is not None:
        require_destination(output)
    options = _options(config, semgrep=not no_semgrep, bandit=not no_bandit, rubric=rubric)
    home = Home.resolve(os.environ)
    with _trees(paths, options) as roots:
        accept = _accepting(home, suppressions, [*roots, *paths])
        with terminal_progress(quiet=quiet) as progress:
            reports = audit_several(roots, _auditing(options, None if no_cache else home), progress)
        reports = [accept(report) for report in reports]
        style = Style(plain if output is not None else paint, verbose, SYSTEM_CLOCK.now())
        with _audited(paths, roots, reports) as audited:
            _show(chosen, audited, style, output)
    if output is not None:
        say(f"report written to {output}", quiet=quiet)
    return _exit_code(chosen, audited, strict=strict)


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
