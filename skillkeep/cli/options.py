"""Options that mean the same in every command, so that they are spelt the same."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillkeep.home import Home

if TYPE_CHECKING:
    from skillkeep.journal import Journal
    from skillkeep.settings import Settings

__all__ = [
    "ConfigOption", "FormatOption", "Ground", "JsonOption", "NoCacheOption", "NoInputOption", "OutputOption",
    "QuietOption", "SuppressionsOption", "VerboseOption", "ground", "new_app", "path",
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


@dataclass(frozen=True)
class Ground:
    """What nearly every command stands on."""

    home: Home
    settings: Settings
    journal: Journal


def ground(config: Path | None = None) -> Ground:
    """Resolve and make the home, read the settings, open the journal. Raises `SkillkeepError`."""
    from skillkeep.journal import Journal
    from skillkeep.settings import load_settings

    home = Home.resolve(os.environ).ensure()
    settings = load_settings(home, config)
    return Ground(home, settings, Journal(home.journal, rotate_bytes=settings.journal.rotate_bytes))


def new_app(help_text: str) -> typer.Typer:
    """A Typer application with our settings: plain help (a third of the start-up cost), errors left to `run_app`."""
    return typer.Typer(
        help=help_text,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
