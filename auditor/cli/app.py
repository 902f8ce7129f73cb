"""`auditor scan`, `auditor rules`, `auditor explain`: parses arguments and prints, nothing else."""

from __future__ import annotations

import typer

from skillkeep.auditor.cli.rules import explain, rules
from skillkeep.auditor.cli.scan import scan
from skillkeep.cli.options import new_app

__all__ = ["auditor_app"]


def auditor_app() -> typer.Typer:
    """A fresh `auditor` application."""
    app = new_app("Read code and instructions without running them, and say what is wrong with them.")
    for name, command in (("scan", scan), ("explain", explain), ("rules", rules)):
        app.command(name)(command)
    return app
