"""`auditor scan`: the words of its command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillkeep.auditor.cli.scanning import ScanCommandLine, perform
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
    return perform(
        ScanCommandLine(
            paths=tuple(paths),
            format=format_,
            as_json=json_,
            output=output,
            strict=strict,
            no_semgrep=no_semgrep,
            no_bandit=no_bandit,
            rubric=rubric,
            suppressions=suppressions,
            no_cache=no_cache,
            quiet=quiet,
            verbose=verbose,
            config=config,
        )
    )
