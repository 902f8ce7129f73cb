"""Options that mean the same in every command, so that they are spelt the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "ConfigOption", "FormatOption", "JsonOption", "NoCacheOption", "NoInputOption", "OutputOption",
    "QuietOption", "SuppressionsOption", "VerboseOption", "new_app", "path",
]  # fmt: skip


def path(text: str) -> Path:
    """A path as typed; not an empty one, which would be the working folder (``auditor scan "$UNSET"``)."""
    if not text:
        raise typer.BadParameter("the path is empty")
    return Path(text)


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
FormatOption = Annotated[str, typer.Option("--format", "-f", help="Format of the report.")]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", parser=path, help="Write the report to this file.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error but errors.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Say more on standard error.")]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", parser=path, help="Read this file instead of config.toml.")
]
SuppressionsOption = Annotated[
    Path | None,
    typer.Option("--suppressions", parser=path, help="Accepted warnings, instead of the home's suppressions.toml."),
]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Audit again even what has not changed.")]
NoInputOption = Annotated[bool, typer.Option("--no-input", help="Never ask, not even at a terminal.")]


def new_app(help_text: str) -> typer.Typer:
    """A Typer application with our settings: plain help (a third of the start-up cost), errors left to `run_app`."""
    return typer.Typer(
        help=help_text,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
