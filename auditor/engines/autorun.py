"""What starts without being asked: hooks, servers, lifecycle scripts, editor tasks.

Each command found is audited as the shell text it is.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from typing import Any

from skillkeep.auditor.engines.agent_settings import has_servers, put_in, read_json, read_settings, shown_servers
from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.behaviour.recipients import Recipient, is_placeholder, named_nowhere
from skillkeep.auditor.engines.instructions import commands_below
from skillkeep.auditor.engines.intent.topic import Topic
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.passed_on import EVENT, is_account, passed_on
from skillkeep.auditor.engines.remote_servers import RemoteServer, added_servers, handed_keys, remote_servers
from skillkeep.auditor.engines.server_entries import SERVERS, Started, StartedServer
from skillkeep.auditor.engines.starters import reader_of, servers_of
from skillkeep.auditor.frontmatter import parse_frontmatter
from skillkeep.auditor.interface import Location, Severity

__all__ = ["ENGINE", "AutorunEngine"]

_LIFECYCLE = ("preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish")
_CONTAINER = ("initializeCommand", "onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand",
              "postAttachCommand")  # fmt: skip
_SETTINGS = (".json", ".jsonc", ".json5", ".yaml", ".yml", ".toml", ".txt", ".example", ".sample", ".template", ".tmpl")
"""Ends of files that a page may have the user copy into an agent's settings."""
_servers = servers_of(*SERVERS)


class AutorunEngine(Engine):
    """See the module."""

    name = "autorun"
    order = 30

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Find the commands of one configuration file."""
        if file.text is None:
            return
        for segment in file.of(Context.FENCED) if file.whole else ():
            _shown(segment, emit)
        for segment in file.of(Context.SHELL) if file.whole else ():
            _put_in(segment, emit)
        whole = Segment(file.path, Context.CONFIG, file.text, anchor=file.place)
        if file.known_as.lower().endswith(".md") and file.of(Context.METADATA):
            _front(whole, emit)
        readers = _readers(file.known_as.lower(), file.text)
        told = not readers and file.known_as.lower().endswith(_SETTINGS) and has_servers(file.text)
        if not (readers or told) or not file.whole:
            return
        try:
            data = read_settings(file.text) if told else _read(file)
        except (ValueError, RecursionError) as error:
            emit.incomplete(file.path, f"the configuration cannot be parsed: {str(error)[:80]}")
            return
        _listed(chain.from_iterable(reader(data) for reader in readers or [_servers]), whole, emit)
        for server in remote_servers(data):
            _remote(server, whole, emit)
        for variable in handed_keys(data):
            message = f"{variable} is handed to a server whose entry says nothing of that service"
            emit.finding("code-credential-env", _find(whole, variable), variable, message, subject=variable)

    def scan_tree(self, tree: SourceTree, emit: Emitter) -> None:
        """Refuse servers elsewhere that no document names: what they answer is read by the agent as its own tools.

        Refuse hooks that pass on what they are told, but for an account at the host that the tool is named after.
        """
        _passed_on(tree, emit)
        servers: list[tuple[Recipient, str]] = emit.notes.get("servers", [])
        documents = Documents(tree.files) if servers else None
        for found, name in servers:
            if documents is None or documents.names_service(host_of(found.to).name, name):
                continue
            if named_nowhere(found, documents):
                message = f"a server that no document names: {found.to[:100]}"
                emit.finding("undeclared-source", found.at, found.text, message)


def _read(file: SourceFile) -> Any:
    return tomllib.loads(file.text or "") if file.known_as.endswith(".toml") else read_json(file.text or "")


def _listed(started: Started, whole: Segment, emit: Emitter) -> None:
    """Each command is in the inventory, and judged as the shell text that it is."""
    for rule, trigger, command in (once := dict.fromkeys(started)):
        at = _find(whole, command, _longest_word(command), trigger)
        emit.finding(rule, at, command or trigger, f"{trigger}: {command}" if command else trigger)
        emit.capability("autorun", trigger, at)
        emit.derive(command, Context.SHELL, at, trigger)
    _heard(iter(once), whole, emit)


def _front(whole: Segment, emit: Emitter) -> None:
    """The hooks and servers of an agent's or a skill's front matter."""
    if "hooks:" not in whole.text and not has_servers(whole.text):
        return
    fields = parse_frontmatter(whole.text).fields
    _heard((("autorun-hook", "hook", command) for command in commands_below(fields.get("hooks"))), whole, emit)
    _listed(_servers(fields), whole, emit)


def _shown(segment: Segment, emit: Emitter) -> None:
    """Refuse what a page has the user's configuration start, or send a shared key to: a block is copied as it is."""
    is_object = segment.text.lstrip().startswith("{")
    data = read_settings(segment.text) if is_object and ("mcp" in segment.text or EVENT.search(segment.text)) else None
    hooks = list(_hooks(data)) if isinstance(data, dict) and "hooks" in data else []
    _heard(iter(hooks), segment, emit)
    for _rule, trigger, command in hooks:
        emit.derive(command, Context.SHELL, _find(segment, command), trigger, segment)
    for server in shown_servers(segment.text):
        _offered(server, segment, emit)
    for remote in (*added_servers(segment.text), *remote_servers(data)):
        for name in remote.strange() if remote.host else ():
            message = f"{name} goes to {remote.host} with every request of the agent's"
            emit.finding("code-credential-sent", _find(segment, name), remote.url, message)


def _put_in(segment: Segment, emit: Emitter) -> None:
    for each in put_in(segment.text):
        if each.words:
            _offered(each, segment, emit)
        else:
            at = _find(segment, each.program)
            _heard(iter([("autorun-hook", "hook", each.program)]), segment, emit)
            emit.derive(each.program, Context.SHELL, at, "hook", segment)


def _offered(server: StartedServer, segment: Segment, emit: Emitter) -> None:
    at = _find(segment, max((server.program, *server.words), key=len))
    trigger = f"mcp server {server.name}"[:120].rstrip()
    if server.rule == "autorun-mcp-client":
        emit.finding(server.rule, at, server.line, f"{trigger}: {server.line}")
    if server.rule == "autorun-mcp-client" or server.code is not None:
        emit.derive(server.line, Context.SHELL, at, trigger, segment)


def _passed_on(tree: SourceTree, emit: Emitter) -> None:
    heard: list[tuple[str, Location, str]] = emit.notes.get("heard", [])
    if not heard:
        return
    fronts = [file.text or "" for file in tree.files if file.path.lower().endswith("skill.md")]
    names = Topic(" . ".join(parse_frontmatter(text).name.lower() for text in fronts))
    for host, at, command in heard:
        message = f"every event of the hook goes to {host}"
        severity = Severity.WARN if is_account(command) and names.knows(f"https://{host}/") else None
        emit.finding("autorun-hook-sends", at, command, message, severity=severity)


def _heard(started: Started, segment: Segment, emit: Emitter) -> None:
    """Note the hooks that send what they are told; the tree tells whose host that is."""
    for rule, _trigger, command in started:
        if rule == "autorun-hook" and (host := passed_on(command)):
            emit.notes.setdefault("heard", []).append((host, _find(segment, command), command))


def _remote(server: RemoteServer, whole: Segment, emit: Emitter) -> None:
    if not server.host:
        return
    at = _find(whole, server.url)
    emit.capability("network", server.host, at)
    if not is_placeholder(server.url):
        emit.notes.setdefault("servers", []).append((Recipient("a source", server.url, at, server.url), server.name))
    for name in server.strange():
        message = f"{name} goes to {server.host} with every request of the agent's"
        emit.finding("code-credential-sent", _find(whole, name), server.url, message, segment=whole)


def _readers(path: str, text: str) -> list[Callable[[Any], Started]]:
    readers = [reader for reader in (_reader(path), reader_of(path)) if reader]
    if not readers and path.endswith(".json") and EVENT.search(text):
        return [_hooks]  # settings that a page has the user copy
    return readers


def _reader(path: str) -> Callable[[Any], Started] | None:
    folders, _, name = path.rpartition("/")
    agent_folder = folders.rpartition("/")[2] in {".claude", ".gemini", ".codex"}
    if agent_folder and name in {"settings.json", "settings.local.json"}:
        return _agent_settings
    if name == "hooks.json" or (folders.endswith("hooks") and name.endswith(".json")):
        return _hooks
    if name == "plugin.json":
        return _plugin
    if name in {".mcp.json", "mcp.json", "mcp_config.json", "claude_desktop_config.json", "config.toml", "server.json"}:
        return _servers
    if name == "package.json":
        return _package
    if name == "tasks.json" and folders.endswith(".vscode"):
        return _tasks
    if name.endswith(".code-workspace"):
        return _workspace
    if name in {"devcontainer.json", ".devcontainer.json"}:
        return _container
    return None


def _agent_settings(data: Any) -> Started:
    settings = data if isinstance(data, dict) else {}
    yield from _hooks(settings)
    yield from _servers(settings)
    for key in ("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper"):
        if isinstance(settings.get(key), str):
            yield "autorun-hook", key, settings[key]
    if isinstance(line := settings.get("statusLine"), dict) and isinstance(line.get("command"), str):
        yield "autorun-hook", "statusLine", line["command"]


def _hooks(data: Any) -> Started:
    hooks = data.get("hooks") if isinstance(data, dict) else data
    if not isinstance(hooks, dict):
        return
    for event, entries in hooks.items():
        for command in commands_below(entries):
            yield "autorun-hook", f"hook {event}", command


def _plugin(data: Any) -> Started:
    yield from _hooks(data)
    yield from _servers(data)


def _package(data: Any) -> Started:
    scripts = data.get("scripts") if isinstance(data, dict) else None
    for key in _LIFECYCLE:
        if isinstance(scripts, dict) and isinstance(scripts.get(key), str):
            yield "autorun-package-script", f"npm {key}", scripts[key]


def _tasks(data: Any) -> Started:
    for task in data.get("tasks", []) if isinstance(data, dict) else []:
        options = task.get("runOptions") if isinstance(task, dict) else None
        if isinstance(options, dict) and options.get("runOn") == "folderOpen":
            words = tuple(str(item) for item in task.get("args") or [])
            yield "autorun-editor-task", "folder open", StartedServer("", str(task.get("command", "")), words).line


def _workspace(data: Any) -> Started:
    parts = data if isinstance(data, dict) else {}
    yield from _tasks(parts.get("tasks"))
    if (editor := reader_of(".vscode/settings.json")) is not None:
        yield from editor(parts.get("settings"))


def _container(data: Any) -> Started:
    for key in _CONTAINER:
        value = data.get(key) if isinstance(data, dict) else None
        for command in value.values() if isinstance(value, dict) else [value]:
            if command:
                program, *words = map(str, command) if isinstance(command, list) else [str(command)]
                yield "autorun-editor-task", key, StartedServer("", program, tuple(words)).line


def _longest_word(command: str) -> str:
    """The word by which the place of a list of arguments is found."""
    with suppress(ValueError):
        return max(shlex.split(command), key=len, default="")
    return ""


def _find(segment: Segment, *needles: str) -> Location:
    for needle in needles:
        start = segment.text.find(json.dumps(needle)[1:-1]) if needle else -1
        if start >= 0:
            return segment.locate(start, start + len(needle))
    return segment.locate(0, 0)


ENGINE = AutorunEngine()
