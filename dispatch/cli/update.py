"""`vault update`: the door once more, for a tool that is known. It stands here because the vault knows no door."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from skillkeep.cli.ground import ground
from skillkeep.cli.options import ConfigOption, JsonOption, NoInputOption, QuietOption
from skillkeep.vault.cli.arguments import NameArgument

__all__ = ["update"]


def update(
    name: NameArgument,
    ref: Annotated[str | None, typer.Option("--ref", help="Another branch, tag or commit than last time.")] = None,
    confirm: Annotated[bool, typer.Option("--confirm", help="Vault what was shown.")] = False,
    expect: Annotated[str | None, typer.Option("--expect", help="Vault only bytes of this digest.")] = None,
    json_: JsonOption = False,
    quiet: QuietOption = False,
    no_input: NoInputOption = False,
    config: ConfigOption = None,
) -> int:
    """Fetch a tool again from where it came from, audit it, show what changed. Example: vault update pdf

    With --confirm the new version takes the name and the old one is archived. Grants are kept and never widened.
    """
    from skillkeep.dispatch.update import update_request
    from skillkeep.ingest.cli import pass_door
    from skillkeep.vault.store import Vault

    standing = ground(config)
    (record,) = (each for each in Vault(standing.home, standing.journal).find(name) if each.current)
    repeat = ("--config", os.fspath(config.absolute())) if config else ()
    request = update_request(record, ref=ref, confirm=confirm, expect=expect, repeat=repeat)
    return pass_door(request, standing, as_json=json_, quiet=quiet, no_input=no_input)
