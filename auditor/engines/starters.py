"""More files that start commands without being asked: editors, environments, package builds, agents' dialects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.instructions import commands_below
from skillkeep.auditor.engines.server_entries import Started, started_servers

__all__ = ["Reader", "Started", "reader_of", "servers_of"]

Reader = Callable[[Any], Started]

_COMPOSER: Final = frozenset(
    {"pre-install-cmd", "post-install-cmd", "pre-update-cmd", "post-update-cmd", "post-autoload-dump",
     "post-root-package-install", "post-create-project-cmd"}
)  # fmt: skip
_EDITOR: Final = compiled(
    r"(?:^|\.)(?:defaultinterpreterpath|pythonpath|git\.path|shell\.(?:linux|osx|windows)|automationprofile\.\w+"
    r"|profiles\.\w+|executablepath|nodepath|runtimepath|serverpath|path\.ripgrep)$",
    re.IGNORECASE,
)
_EARLY: Final = frozenset({"LD_PRELOAD", "PYTHONSTARTUP", "NODE_OPTIONS", "BASH_ENV", "DYLD_INSERT_LIBRARIES"})
_MOST: Final = 2_000


def reader_of(path: str) -> Reader | None:
    """What reads the lower-cased `path`, or None."""
    folders, _, name = path.rpartition("/")
    if name == "settings.json" and folders.endswith(".vscode"):
        return _editor
    if name == "settings.json" and folders.endswith(".zed"):
        return servers_of("context_servers")
    if folders.endswith(".kiro/hooks") or name.endswith(".kiro.hook"):
        return _any_command("kiro hook")
    return _NAMES.get(name)


def _editor(data: Any) -> Started:
    for key, value in data.items() if isinstance(data, dict) else ():
        if _EDITOR.search(key) and _is_inside(value):
            yield "autorun-editor-program", f"editor setting {key}", str(value)[:400]
        elif (key == "task.allowAutomaticTasks" and value == "on") or (
            key == "security.workspace.trust.enabled" and value is False
        ):
            yield "autorun-editor-program", f"editor setting {key}", ""
        elif isinstance(value, dict) and key.endswith((".env.linux", ".env.osx", ".env.windows")):
            for variable in sorted(map(str, value)):
                if variable.upper() in _EARLY:
                    yield "autorun-editor-program", f"terminal variable {variable}", str(value[variable])[:400]
    yield from servers_of("mcp")(data)


def _is_inside(value: Any) -> bool:
    """True for a program inside of the opened folder: the tool brings it, the user did not install it."""
    texts = list(_strings_below(value))
    return any("workspace" in text.lower() or text.startswith((".", "bin/", "scripts/", "tools/")) for text in texts)


def servers_of(*keys: str) -> Reader:
    """A reader of the servers below `keys`."""

    def read(data: Any) -> Started:
        for server in started_servers(data, keys):
            yield server.rule, f"mcp server {server.name}"[:120], server.line

    return read


def _any_command(trigger: str) -> Reader:
    def read(data: Any) -> Started:
        for command in commands_below(data):
            yield "autorun-hook", trigger, command

    return read


def _composer(data: Any) -> Started:
    scripts = data.get("scripts") if isinstance(data, dict) else None
    for key, value in scripts.items() if isinstance(scripts, dict) else ():
        for command in value if isinstance(value, list) else [value]:
            if key in _COMPOSER and isinstance(command, str):
                yield "autorun-package-script", f"composer {key}", command


def _mise(data: Any) -> Started:
    tables = data if isinstance(data, dict) else {}
    for trigger, value in (tables.get("hooks") or {}).items() if isinstance(tables.get("hooks"), dict) else ():
        for command in value if isinstance(value, list) else [value]:
            text = command.get("run") or command.get("script") if isinstance(command, dict) else command
            if isinstance(text, str):
                yield "autorun-environment", f"mise {trigger}", text
    for text in _strings_below((tables.get("env") or {}).get("_") if isinstance(tables.get("env"), dict) else None):
        yield "autorun-environment", "mise env", text


def _build_backend(data: Any) -> Started:
    system = data.get("build-system") if isinstance(data, dict) else None
    if isinstance(system, dict) and system.get("backend-path"):
        yield "autorun-build-backend", f"build backend {system.get('build-backend', '')}"[:120], ""


def _codex(data: Any) -> Started:
    notify = data.get("notify") if isinstance(data, dict) else None
    if isinstance(notify, list) and notify:
        yield "autorun-hook", "codex notify", " ".join(map(str, notify))
    yield from servers_of("mcp_servers")(data)


def _gemini(data: Any) -> Started:
    yield from servers_of("mcpServers")(data)
    hooks = data.get("hooks") if isinstance(data, dict) else None
    for command in commands_below(hooks):
        yield "autorun-hook", "extension hook", command


def _opencode(data: Any) -> Started:
    for key in ("mcp", "lsp", "formatter"):
        yield from servers_of(key)(data)


def _strings_below(node: Any) -> Iterator[str]:
    stack = [node]
    for _ in range(_MOST):
        if not stack:
            return
        each = stack.pop()
        if isinstance(each, dict):
            stack += each.values()
        elif isinstance(each, list):
            stack += each
        elif isinstance(each, str):
            yield each


_NAMES: Final[dict[str, Reader]] = {
    "composer.json": _composer,
    "mise.toml": _mise,
    ".mise.toml": _mise,
    "pyproject.toml": _build_backend,
    "config.toml": _codex,
    "gemini-extension.json": _gemini,
    "opencode.json": _opencode,
    "opencode.jsonc": _opencode,
    "crush.json": _opencode,
    ".crush.json": _opencode,
    "cline_mcp_settings.json": servers_of("mcpServers"),
    ".lsp.json": servers_of("lspServers"),
}
