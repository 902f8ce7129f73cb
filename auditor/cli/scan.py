"""`auditor scan`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from skillkeep.auditor.audit import audit_tree
from skillkeep.auditor.errors import AuditError
from skillkeep.auditor.interface import AuditOptions, Report, Verdict
from skillkeep.auditor.report.json import render_json
from skillkeep.auditor.report.source import open_view, reader_of
from skillkeep.auditor.report.text import TextOptions, plain, render_text
from skillkeep.auditor.target import as_tree
from skillkeep.cli.options import ConfigOption, FormatOption, JsonOption, OutputOption, QuietOption, VerboseOption
from skillkeep.cli.output import emit, paint, say, write
from skillkeep.cli.progress import terminal_progress
from skillkeep.errors import Exit, UsageError
from skillkeep.files import write_atomic
from skillkeep.home import Home
from skillkeep.settings import load_settings

__all__ = ["scan"]

_FORMATS = ("text", "json")
PathArgument = Annotated[Path, typer.Argument(metavar="PATH", help="A folder, or a single file.")]
StrictOption = Annotated[bool, typer.Option("--strict", help="Exit with 10 for WARN.")]
NoSemgrepOption = Annotated[bool, typer.Option("--no-semgrep", help="Leave semgrep out.")]
NoBanditOption = Annotated[bool, typer.Option("--no-bandit", help="Leave bandit out.")]


def scan(
    path: PathArgument,
    format_: FormatOption = "text",
    json_: JsonOption = False,
    output: OutputOption = None,
    strict: StrictOption = False,
    no_semgrep: NoSemgrepOption = False,
    no_bandit: NoBanditOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
    config: ConfigOption = None,
) -> int:
    """Read a tool without running any of it, and say PASS, WARN or FAIL.

    Exit: 0 PASS or WARN, 10 WARN with --strict, 20 FAIL, 3 nothing to scan, 2 usage. Example: auditor scan ./my-skill
    """
    chosen = "json" if json_ else format_
    if chosen not in _FORMATS:
        raise UsageError(
            "usage", "this is no format of a report", f"Choose one of: {', '.join(_FORMATS)}.", format=chosen
        )
    options = _options(config, semgrep=not no_semgrep, bandit=not no_bandit)
    with as_tree(path, options.file_bytes) as root:
        with terminal_progress(quiet=quiet) as progress:
            report = audit_tree(root, options, progress=progress)
        if report.files == 0 and not report.findings:
            raise AuditError(
                "nothing_to_scan", "there is no file to audit", "Give a folder that holds the tool's files."
            )
        _show(report, root, chosen, output, verbose=verbose)
    if output is not None:
        say(f"report written to {output}", quiet=quiet)
    return _exit_code(report, strict=strict)


def _options(config: Path | None, *, semgrep: bool, bandit: bool) -> AuditOptions:
    settings = load_settings(Home.resolve(os.environ), config).auditor
    return AuditOptions(
        semgrep=semgrep and settings.semgrep,
        bandit=bandit and settings.bandit,
        total_seconds=settings.seconds,
        memory_bytes=settings.memory_bytes,
    )


def _show(report: Report, root: Path, chosen: str, output: Path | None, *, verbose: bool) -> None:
    if chosen == "json" and output is None:
        emit(render_json(report))
        return
    if chosen == "json" and output is not None:
        import json

        write_atomic(output, (json.dumps(render_json(report), indent=2) + "\n").encode("ascii"), 0o644)
        return
    with open_view(root) as view:
        style = plain if output is not None else paint
        text = render_text(report, TextOptions(style, reader_of(view), all_places=verbose))
    if output is None:
        write(text)
    else:
        write_atomic(output, (text + "\n").encode("utf-8"), 0o644)


def _exit_code(report: Report, *, strict: bool) -> int:
    if report.verdict is Verdict.FAIL:
        return Exit.REJECTED
    return Exit.AWAITING if strict and report.verdict is Verdict.WARN else Exit.OK
