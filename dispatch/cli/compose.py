"""Puts the commands of all folders together; imports only the folders that the arguments ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import typer

from skillkeep.cli.options import new_app

__all__ = ["compose"]

_Mount = Callable[[typer.Typer], None]

_ABOUT = {
    "skill": "Fetch, audit, vault and run third-party tools for AI agents, safely.",
    "auditor": "Read code and instructions without running them, and say what is wrong with them.",
    "vault": "The approved tools: what is there, where it came from, whether it is untouched.",
    "runner": "Run vaulted tools in a sandbox, and nothing else.",
}


def compose(program: str, arguments: Sequence[str]) -> typer.Typer:
    """The Typer application of `program`, with the one command that `arguments` name, or with all of them."""
    if program != "skill":
        return _GROUPS[program]()
    app = new_app(_ABOUT["skill"])
    asked = arguments[0] if arguments else ""
    for name, mount in _SKILL.items():
        if asked == name or asked not in _SKILL:
            mount(app)
    app.callback()(_root)
    return app


def _root() -> None:
    """Fetch, audit, vault and run third-party tools for AI agents, safely."""


def _auditor() -> typer.Typer:
    from skillkeep.auditor.cli.app import auditor_app

    return auditor_app()


def _vault() -> typer.Typer:
    from skillkeep.dispatch.cli.update import update
    from skillkeep.vault.cli.app import vault_app

    app = vault_app()
    app.command("update")(update)
    return app


def _runner() -> typer.Typer:
    from skillkeep.runner.cli.app import runner_app
    from skillkeep.runner.environments.cli import ShellCommand, env_app, shell

    app = runner_app()
    app.command("shell", cls=ShellCommand)(shell)
    app.add_typer(env_app(), name="env")
    return app


_GROUPS: Mapping[str, Callable[[], typer.Typer]] = {"auditor": _auditor, "vault": _vault, "runner": _runner}


def _ingest(app: typer.Typer) -> None:
    from skillkeep.ingest.cli import ingest

    app.command("ingest")(ingest)


def _status(app: typer.Typer) -> None:
    from skillkeep.ingest.cli import status

    app.command("status")(status)


def _audit(app: typer.Typer) -> None:
    from skillkeep.auditor.cli.scan import scan

    app.command("audit")(scan)


def _run(app: typer.Typer) -> None:
    from skillkeep.runner.cli.app import add_run

    add_run(app)


def _journal(app: typer.Typer) -> None:
    from skillkeep.cli.journal import journal_app

    app.add_typer(journal_app(), name="journal")


def _group(name: str) -> _Mount:
    def mount(app: typer.Typer) -> None:
        app.add_typer(_GROUPS[name](), name=name)

    return mount


_SKILL: Mapping[str, _Mount] = {
    "ingest": _ingest,
    "status": _status,
    "run": _run,
    "audit": _audit,
    "journal": _journal,
    "vault": _group("vault"),
    "auditor": _group("auditor"),
    "runner": _group("runner"),
}
