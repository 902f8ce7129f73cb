"""Options that stand before and after every command's name, such as ``--color``."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from skillkeep.cli.options import path
from skillkeep.cli.output import choose_colour, emit, write
from skillkeep.errors import UsageError
from skillkeep.version import __version__

__all__ = ["command_of"]


class Color(StrEnum):
    """When colours are shown; `AUTO` is at a terminal, unless NO_COLOR or FORCE_COLOR say otherwise."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def command_of(app: typer.Typer) -> Any:
    """The command tree of `app`, each command and group of it with the options that stand everywhere."""
    command = typer.main.get_command(app)
    _extend(command, _params_of(_everywhere), _params_of(_on_groups))
    command.params += _params_of(_on_programs)
    return command


def _extend(command: Any, everywhere: list[Any], on_groups: list[Any]) -> None:
    children = getattr(command, "commands", None)
    command.params += everywhere if children is None else [*on_groups, *everywhere]
    for option in command.params:
        if option.name == "config" and option.callback is None:
            option.callback = _on_command
    for child in (children or {}).values():
        _extend(child, everywhere, on_groups)


def _params_of(signature: Any) -> list[Any]:
    """What Typer makes of the parameters of a function."""
    app = typer.Typer(add_completion=False)
    app.command()(signature)
    return list(typer.main.get_command(app).params)


def _colour(value: Color | None) -> None:
    if value is not None:
        choose_colour(value.value)


def _without_config(context: typer.Context, value: bool) -> None:
    if value:
        context.meta["no_config"] = True


def _before_command(context: typer.Context, value: Path | None) -> None:
    _on_command(context, None, value)
    if value is not None:
        context.meta["config"] = value


def _on_command(context: Any, option: Any, value: Path | None) -> Path | None:
    """The file that ``--config`` names, here or before; for ``--no-config`` an empty one."""
    named = value or context.meta.get("config")
    if not context.meta.get("no_config"):
        return named
    if named is not None:
        raise UsageError("usage", "--config and --no-config exclude each other", "Leave one of them out.")
    return Path(os.devnull)


def _help_json(context: typer.Context, value: bool) -> None:
    if value:
        from skillkeep.cli.help_json import help_document

        emit(help_document(context.command, context.command_path))
        raise typer.Exit


def _version(context: typer.Context, value: bool) -> None:
    if value:
        write(f"{context.info_name} {__version__}")
        raise typer.Exit


def _everywhere(
    color: Annotated[
        Color | None,
        typer.Option("--color", help="When to show colours.", callback=_colour, expose_value=False),
    ] = None,
    no_config: Annotated[
        bool,
        typer.Option(
            "--no-config", help="Read no config.toml.", callback=_without_config, expose_value=False, is_eager=True
        ),
    ] = False,
    help_json: Annotated[
        bool,
        typer.Option(
            "--help-json", help="Show this as JSON and exit.", callback=_help_json, expose_value=False, is_eager=True
        ),
    ] = False,
) -> None:
    """Never called: its parameters are the options."""


def _on_groups(
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            parser=path,
            help="Read this file instead of config.toml.",
            callback=_before_command,
            expose_value=False,
        ),
    ] = None,
) -> None:
    """Never called: its parameters are the options."""


def _on_programs(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", help="Show the version and exit.", callback=_version, expose_value=False, is_eager=True
        ),
    ] = False,
) -> None:
    """Never called: its parameters are the options."""
