"""What starts without being asked: hooks, servers, lifecycle scripts, editor tasks.

Each command found is audited as the shell text it is.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from typing import Any

from skillkeep.auditor.engines.behaviour.documents import Documents
from skillkeep.auditor.engines.behaviour.recipients import Recipient, is_placeholder, named_nowhere
from skillkeep.auditor.engines.instructions import commands_below
from skillkeep.auditor.engines.intent.topic import Topic
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile, SourceTree
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.passed_on import EVENT, is_account, passed_on
from skillkeep.auditor.engines.remote_servers import (
    RemoteServer,
    added_servers,
    handed_keys,
    remote_servers,
    servers_in,
)
from skillkeep.auditor.engines.server_entries import program_of, rule_of
from skillkeep.auditor.engines.starters import Started, reader_of
from skillkeep.auditor.frontmatter import parse_frontmatter
from skillkeep.auditor.interface import Location, Severity

__all__ = ["ENGINE", "AutorunEngine"]

_LIFECYCLE = ("preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "prepublish")
_CONTAINER = ("initializeCommand", "onCreateCommand", "updateContentCommand", "postCreateCommand", "postStartCommand",
              "postAttachCommand")  # fmt: skip
_APART = re.compile(r"[\s;&|<>()`'\"]")
_OWN_QUOTES = frozenset({"cmd", "powershell", "pwsh"})
_TEXT = r'"(?:[^"\\\n]|\\.)*"'
_COMMENT = re.compile(rf"{_TEXT}|(//[^\n]*|/\*.*?(?:\*/|\Z))", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_TEXT}|(,)(?=\s*[}}\]])", re.DOTALL)


class AutorunEngine(Engine):
    """See the module."""

    name = "autorun"
    order = 30

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Find the commands of one configuration file."""
        path = file.known_as.lower()
        for segment in file.of(Context.FENCED) if file.text is not None and file.whole else ():
            _shown(segment, emit)
        if path.endswith(".md") and file.of(Context.METADATA) and "hooks:" in (file.text or ""):
            fields = parse_frontmatter(file.text or "").fields
            hooks = (("autorun-hook", "hook", command) for command in commands_below(fields.get("hooks")))
            _heard(hooks, Segment(file.path, Context.CONFIG, file.text or "", anchor=file.place), emit)
        readers = [reader for reader in (_reader(path), reader_of(path)) if reader]
        if not readers and path.endswith(".json") and file.text is not None and EVENT.search(file.text):
            readers = [_hooks]  # settings that a page has the user copy
        if not readers or file.text is None or not file.whole:
            return
        try:
            data = tomllib.loads(file.text) if file.known_as.endswith(".toml") else _json(file.text)
        except (ValueError, RecursionError) as error:
            emit.incomplete(file.path, f"the configuration cannot be parsed: {str(error)[:80]}")
            return
        whole = Segment(file.path, Context.CONFIG, file.text, anchor=file.place)
        started = dict.fromkeys(chain.from_iterable(reader(data) for reader in readers))
        for rule, trigger, command in started:
            at = _find(whole, command, trigger)
            emit.finding(rule, at, command or trigger, f"{trigger}: {command}" if command else trigger)
            emit.capability("autorun", trigger, at)
            emit.derive(command, Context.SHELL, at, trigger)
        _heard(iter(started), whole, emit)
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


def _shown(segment: Segment, emit: Emitter) -> None:
    """Refuse what a page has the user's configuration send a shared key to: a block is copied as it is."""
    if EVENT.search(segment.text) and segment.text.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            _heard(_hooks(_json(segment.text)), segment, emit)
    servers = list(added_servers(segment.text))
    if "mcp" in segment.text and segment.text.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            servers += remote_servers(_json(segment.text))
    for server in servers:
        for name in server.strange() if server.host else ():
            message = f"{name} goes to {server.host} with every request of the agent's"
            emit.finding("code-credential-sent", _find(segment, name), server.url, message)


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


def _servers(data: Any) -> Started:
    for name, server in servers_in(data):
        if isinstance(server.get("command"), str):
            arguments = server.get("args")
            words = [str(item) for item in arguments] if isinstance(arguments, list) else []
            rule = rule_of(server["command"], words)
            yield rule, f"mcp server {name}"[:120], _line(server["command"], words)


def _line(command: str, words: list[str]) -> str:
    """The line that a shell would have to be given for this list of arguments; plain words stay as they are."""
    if program_of(command) in _OWN_QUOTES:
        return " ".join([command, *words])
    return " ".join([command, *(shlex.quote(word) if _APART.search(word) else word for word in words)])


def _package(data: Any) -> Started:
    scripts = data.get("scripts") if isinstance(data, dict) else None
    for key in _LIFECYCLE:
        if isinstance(scripts, dict) and isinstance(scripts.get(key), str):
            yield "autorun-package-script", f"npm {key}", scripts[key]


def _tasks(data: Any) -> Started:
    for task in data.get("tasks", []) if isinstance(data, dict) else []:
        options = task.get("runOptions") if isinstance(task, dict) else None
        if isinstance(options, dict) and options.get("runOn") == "folderOpen":
            words = [str(item) for item in task.get("args") or []]
            yield "autorun-editor-task", "folder open", _line(str(task.get("command", "")), words)


def _container(data: Any) -> Started:
    for key in _CONTAINER:
        value = data.get(key) if isinstance(data, dict) else None
        for command in value.values() if isinstance(value, dict) else [value]:
            if command:
                program, *words = map(str, command) if isinstance(command, list) else [str(command)]
                yield "autorun-editor-task", key, _line(program, words)


def _json(text: str) -> Any:
    """JSON as editors read their own: with comments and with commas before a closing bracket."""
    try:
        return json.loads(text)
    except ValueError:
        return json.loads(_TRAILING_COMMA.sub(_but_texts, _COMMENT.sub(_but_texts, text)))


def _but_texts(found: re.Match[str]) -> str:
    return " " if found[1] else found[0]


def _find(segment: Segment, *needles: str) -> Location:
    for needle in needles:
        start = segment.text.find(json.dumps(needle)[1:-1]) if needle else -1
        if start >= 0:
            return segment.locate(start, start + len(needle))
    return segment.locate(0, 0)


ENGINE = AutorunEngine()
