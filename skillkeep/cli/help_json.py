"""The commands, their arguments and options as data: what an agent reads instead of ``--help``."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

from skillkeep.errors import Exit

__all__ = ["SCHEMA", "help_document"]

SCHEMA = "skillkeep/help-v1"
_TYPES: dict[Any, str] = {bool: "flag", int: "integer", float: "number", Path: "path"}


def help_document(command: Any, words: str) -> dict[str, Any]:
    """What ``--help-json`` prints: the command `words` with all below it, and what exit codes mean.

    A type is flag, integer, number, path, choice (with `choices`) or text.
    """
    codes = [{"code": int(code), "name": code.name} for code in Exit]
    return {"ok": True, "schema": SCHEMA, "command": _command(command, words), "exit_codes": codes}


def _command(command: Any, words: str) -> dict[str, Any]:
    arguments = [
        {"name": each.metavar or each.name, **_parameter(each)}
        for each in command.params
        if each.param_type_name == "argument"
    ]
    options = [
        {"spellings": [*each.opts, *each.secondary_opts], **_parameter(each)}
        for each in command.params
        if each.param_type_name == "option" and not each.hidden
    ]
    below = getattr(command, "commands", {}).items()
    return {
        "command": words,
        "help": command.help or "",
        "arguments": arguments,
        "options": options,
        "commands": [_command(child, f"{words} {name}") for name, child in below if not child.hidden],
    }


def _parameter(parameter: Any) -> dict[str, Any]:
    kind = _kind(parameter)
    choices = [each.value for each in kind] if isinstance(kind, type) and issubclass(kind, Enum) else []
    default = parameter.default
    return {
        "type": "choice" if choices else _TYPES.get(kind, "text"),
        **({"choices": choices} if choices else {}),
        "required": bool(parameter.required),
        "repeatable": bool(parameter.multiple or parameter.nargs == -1),
        "default": default if isinstance(default, bool | int | float | str) else None,
        "help": parameter.help or "",
    }


def _kind(parameter: Any) -> Any:
    """The Python type of one value."""
    annotation = parameter.type_descriptor.annotation
    inner = getattr(annotation, "__args__", ())
    return inner[0] if inner else annotation
