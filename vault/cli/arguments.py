"""The words that name a vaulted tool on every command line, with what the Tab key offers for them."""

from __future__ import annotations

from typing import Annotated

import typer

from skillkeep.cli.completion import completing
from skillkeep.vault.pointers import pointed_names

__all__ = ["NameArgument", "TargetArgument", "complete_name"]

complete_name = completing(pointed_names)
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", autocompletion=complete_name, help="The tool's name in the vault.")
]
TargetArgument = Annotated[
    str,
    typer.Argument(metavar="NAME|DIGEST", autocompletion=complete_name, help="A name, or a whole sha256 digest."),
]
