"""The `vault` command line: parses and prints. `vault update` and `recheck` need ingest; dispatch adds them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from skillkeep.cli.ground import ground
from skillkeep.cli.options import ConfigOption, JsonOption, OutputOption, new_app
from skillkeep.cli.output import emit, paint, say, write
from skillkeep.errors import Exit, UsageError
from skillkeep.text import escape
from skillkeep.vault import views
from skillkeep.vault.cli.arguments import NameArgument, TargetArgument, complete_name
from skillkeep.vault.export import record_json
from skillkeep.vault.interface import ToolRecord
from skillkeep.vault.store import Vault

__all__ = ["vault_app"]


def vault_app() -> typer.Typer:
    """A fresh `vault` application; the caller may add commands that stand on higher floors."""
    app = new_app("The approved tools: what is there, where it came from, whether it is untouched.")
    for name, command in (
        ("list", list_),
        ("show", show),
        ("verify", verify),
        ("history", history),
        ("diff", diff),
        ("rollback", rollback),
        ("revoke", revoke),
        ("export", export),
        ("gc", gc),
    ):
        app.command(name)(command)
    return app


def _open(config: Path | None) -> Vault:
    floor = ground(config)
    vault = Vault(floor.home, floor.journal)
    vault.recover()
    return vault


def list_(json_: JsonOption = False, config: ConfigOption = None) -> int:
    """List every vaulted tool. Example: vault list"""
    records = _open(config).list()
    if json_:
        emit({"ok": True, "schema": "skillkeep/vault-list-v1", "tools": [record_json(each) for each in records]})
    elif records:
        write(views.list_text(records))
    else:
        say("The vault is empty. Vault a tool: skill ingest SOURCE")
    return Exit.OK


def show(target: TargetArgument, json_: JsonOption = False, config: ConfigOption = None) -> int:
    """Show where a tool came from and what its approval rests on. Example: vault show pdf"""
    vault = _open(config)
    records = vault.find(target)

    def facts(record: ToolRecord) -> tuple[ToolRecord, list[ToolRecord], dict[str, object] | None]:
        return record, vault.versions(record.name), vault.report(record.name, record.digest)

    if json_:
        shown = [views.show_json(*facts(record)) for record in records]
        emit({"ok": True, "schema": "skillkeep/vault-show-v1", "tools": shown})
    else:
        write("\n\n".join(views.show_text(*facts(record)) for record in records))
    return Exit.OK


def verify(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", autocompletion=complete_name, help="Only this tool; default: all."),
    ] = None,
    json_: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Hash every vaulted file, archived versions too, and name all that differs (exit 20). Example: vault verify"""
    vault = _open(config)
    found = vault.verify(name)
    hint = "The tools named do not run. Ingest the same version again to replace the damaged copy." if found else ""
    if json_:
        emit({"ok": not found, "schema": "skillkeep/vault-verify-v1", "hint": hint,
              "mismatches": [views.mismatch_json(each) for each in found]})  # fmt: skip
    elif found:
        write(views.mismatch_text(found))
        say(f"{paint('hint', 'blue', sys.stderr)}: {hint}")
    else:
        write("every vaulted file is as it was approved")
    return Exit.REJECTED if found else Exit.OK


def history(name: NameArgument, json_: JsonOption = False, config: ConfigOption = None) -> int:
    """Tell when and by whom each version was vaulted, rolled back or revoked. Example: vault history pdf"""
    entries = _open(config).history(name)
    if json_:
        shown = [views.history_json(each) for each in entries]
        emit({"ok": True, "schema": "skillkeep/vault-history-v1", "name": name, "events": shown})
    else:
        write(views.history_text(entries))
    return Exit.OK


def diff(
    name: NameArgument,
    old: Annotated[str | None, typer.Argument(metavar="[OLD]", help="A digest; default: the version before.")] = None,
    new: Annotated[str | None, typer.Argument(metavar="[NEW]", help="A digest; default: the current version.")] = None,
    json_: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Compare two stored versions of a tool, file by file. Example: vault diff pdf"""
    found = _open(config).diff(name, old, new)
    if json_:
        emit({"ok": True, "schema": "skillkeep/vault-diff-v1", **views.diff_json(found)})
    else:
        write(views.diff_text(found))
    return Exit.OK


def rollback(
    name: NameArgument,
    digest: Annotated[str | None, typer.Argument(metavar="[DIGEST]", help="Which; default: the one before.")] = None,
    json_: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Go back to an earlier version; grants are never widened by it. Example: vault rollback pdf"""
    tool = _open(config).rollback(name, digest)
    if json_:
        emit({"ok": True, "schema": "skillkeep/vault-rollback-v1", **views.tool_json(tool)})
    else:
        write(f"{tool.name} is {tool.digest} now")
    return Exit.OK


def revoke(
    target: TargetArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the journal and shown to whoever runs it.")],
    every_version: Annotated[bool, typer.Option("--every-version", help="Also the archived versions of NAME.")] = False,
    json_: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Withdraw an approval for good: it never runs or is vaulted again. Example: vault revoke pdf --reason CVE"""
    if not reason.strip():
        raise UsageError(
            "usage", "the reason is empty", "Say why in a few words; whoever meets the block will read it."
        )
    blocked = _open(config).revoke(target, reason, every_version=every_version)
    if json_:
        shown = [{"name": each.name, "digest": each.digest, "current": each.current} for each in blocked]
        emit({"ok": True, "schema": "skillkeep/vault-revoke-v1", "reason": reason, "blocked": shown})
    else:
        for each in blocked:
            write(f"revoked: {each.name} {each.digest}{'' if each.current else ' (archived)'}")
        if not blocked:
            write(f"revoked: {escape(target)}, which no tool in the vault has")
    return Exit.OK


def export(output: OutputOption = None, json_: JsonOption = False, config: ConfigOption = None) -> int:
    """Print the registry as vetted_tools.json (always JSON). Example: vault export -o vetted_tools.json"""
    import json

    from skillkeep.cli.destination import write_destination

    data = {"ok": True, "schema": "skillkeep/vault-export-v1", **_open(config).export()}
    if output is None:
        emit(data)
        return Exit.OK
    write_destination(output, json.dumps(data, ensure_ascii=True, indent=2).encode("ascii") + b"\n")
    if json_:
        emit({"ok": True, "schema": "skillkeep/vault-export-v1", "output": str(output)})
    else:
        say(f"written to {escape(str(output))}")
    return Exit.OK


def gc(
    keep: Annotated[int | None, typer.Option("--keep", min=0, help="Archived versions to keep of each name.")] = None,
    json_: JsonOption = False,
    config: ConfigOption = None,
) -> int:
    """Remove what nothing needs; without --keep no archived version goes. Example: vault gc --keep 3"""
    result = _open(config).gc(keep)
    if json_:
        emit(
            {
                "ok": True,
                "schema": "skillkeep/vault-gc-v1",
                "objects": list(result.objects),
                "bytes": result.bytes_freed,
            }
        )
    else:
        write(f"removed {len(result.objects)} objects, {result.bytes_freed} bytes")
    return Exit.OK
