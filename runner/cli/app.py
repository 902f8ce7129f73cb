"""The `runner` command line: parses and prints. `skill run` is the same function as `runner run`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from skillkeep.cli.failure import report
from skillkeep.cli.ground import ground
from skillkeep.cli.options import ConfigOption, JsonOption, QuietOption, new_app
from skillkeep.errors import Exit
from skillkeep.runner.cli.doctor import doctor
from skillkeep.runner.cli.running import RunCommandLine, floor_on, perform
from skillkeep.runner.words import split_words
from skillkeep.vault.cli.arguments import NameArgument

__all__ = ["PassingCommand", "add_run", "doctor", "run", "runner_app"]


class PassingCommand(TyperCommand):
    """A command whose exit code is the program's own: what fails on our side is 125, as 1 may be the program's."""

    def invoke(self, ctx: Any) -> Any:
        """Run it. Only our own ``--json`` asks for errors as JSON; one behind it is the program's."""
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, typer.Exit, typer.Abort):
            raise
        except Exception as error:
            return report(error, as_json=ctx.params["json_"], failure=Exit.RUN_FAILED)


class RunCommand(PassingCommand):
    """`run` with its own idea of where options end: see `split_words`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put a ``--`` before the tool's words, so that none of them is taken for an option of ours."""
        takes_value = {
            name
            for param in self.params
            if param.param_type_name == "option" and not getattr(param, "is_flag", False)
            for name in param.opts
        }
        ours, theirs = split_words(args, takes_value)
        return super().parse_args(ctx, [*ours, "--", *theirs] if theirs else ours)


def runner_app() -> typer.Typer:
    """A fresh `runner` application; the caller may add commands that stand on higher floors."""
    app = new_app("Run vaulted tools in a sandbox, and nothing else.")
    add_run(app)
    app.command("doctor")(doctor)
    from skillkeep.runner.selftest.cli import selftest

    app.command("selftest")(selftest)
    from skillkeep.runner.dryrun.cli import dry_run_app

    app.add_typer(dry_run_app(lambda config: floor_on(ground(config))), name="dry-run")
    return app


def add_run(app: typer.Typer) -> None:
    """Add `run` to an application: to `runner`, and to `skill`."""
    app.command("run", cls=RunCommand)(run)


def run(
    name: NameArgument,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ENTRY|-- COMMAND] [ARGS]...", help="What to run; nothing lists the entries."),
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", help="auto, native, docker, apple, lima, or local (tier 1 only).")
    ] = "",
    timeout: Annotated[float | None, typer.Option("--timeout", help="Seconds until everything is killed.")] = None,
    memory: Annotated[str, typer.Option("--memory", help="Memory for all processes, such as 256m or 2g.")] = "",
    cpus: Annotated[float | None, typer.Option("--cpus", help="Processors, such as 0.5.")] = None,
    processes: Annotated[int | None, typer.Option("--processes", help="How many processes at once.")] = None,
    output_limit: Annotated[str, typer.Option("--output-limit", help="Bytes kept of each stream, as 64k.")] = "",
    env: Annotated[
        list[str] | None,
        typer.Option("--env", help="Pass only this granted variable; may be repeated. Default: all granted ones."),
    ] = None,
    secret_file: Annotated[
        list[str] | None,
        typer.Option("--secret-file", help="Give this granted variable as the file /secrets/NAME; may be repeated."),
    ] = None,
    stdin: Annotated[
        bool | None,
        typer.Option("--stdin/--no-stdin", help="Pass standard input on. Default: when it is not a terminal."),
    ] = None,
    paranoid: Annotated[bool, typer.Option("--paranoid", help="Hash every byte of the tool before it runs.")] = False,
    min_assurance: Annotated[
        str, typer.Option("--min-assurance", help="Refuse to run in less: filtered, isolated, bounded.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Keep what it writes apart, show the difference, then ask.")
    ] = False,
    commit: Annotated[
        bool, typer.Option("--commit", help="With --dry-run: make the changes real if the tool succeeds.")
    ] = False,
    tty: Annotated[bool, typer.Option("--tty", help="Give it a terminal of its own, joined to yours.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Trace it, many times slower, to say which files it was refused, and why.")
    ] = False,
    json_: JsonOption = False,
    quiet: QuietOption = False,
    config: ConfigOption = None,
) -> int:
    """Run a vaulted tool in a sandbox, verified first. Example: skill run pdf extract.py --page 1

    Options of ours come before ENTRY or --; all after that is the tool's. Exit code: the tool's own, 128 + n for a
    signal, 124 at the time limit, 125 runner failed, 126 blocked, 127 not found.
    """
    return perform(
        RunCommandLine(
            name=name,
            words=tuple(words or ()),
            backend=backend,
            timeout=timeout,
            memory=memory,
            cpus=cpus,
            processes=processes,
            output_limit=output_limit,
            env=tuple(env or ()),
            secret_file=tuple(secret_file or ()),
            stdin=stdin,
            paranoid=paranoid,
            min_assurance=min_assurance,
            dry_run=dry_run,
            commit=commit,
            tty=tty,
            explain=explain,
            as_json=json_,
            quiet=quiet,
            config=config,
        )
    )
