"""Hooks that hand on what they are told: every prompt, every tool's answer, to a host that the tool is not named after.

An agent gives a hook its event on standard input (https://docs.anthropic.com/en/docs/claude-code/hooks). A program of
the tool may read it; one command that sends it as it is has no other purpose than that somebody else has it.
"""

from __future__ import annotations

from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.network import host_of

__all__ = ["EVENT", "is_account", "passed_on"]

EVENT: Final = compiled(
    r'"(?:SessionStart|SessionEnd|PreToolUse|PostToolUse|UserPromptSubmit|SubagentStop|PreCompact|Stop|BeforeTool|AfterTool'
    r'|beforeSubmitPrompt|afterFileEdit)"\s*:\s*\['
)
"""What tells settings of hooks, whatever the file is called."""

_TAKES_INPUT: Final = compiled(  # a program that sends, and the option that has it send what it is given
    r"\bcurl\b(?=[^\n]{0,600}?[ \t]"
    r"(?:-d|--data(?:-binary|-raw|-urlencode|-ascii)?|--json|-F|--form|-T|--upload-file)[ =]?[\"']?"
    r"(?:[\w-]{0,20}[=@]{0,2}@?-(?=[\s\"']|$)|[\w-]{0,20}=?[@<]/dev/stdin|\$\([ \t]*(?:cat|jq|base64)\b))"
    r"|\bwget\b(?=[^\n]{0,600}?--(?:post|body)-"
    r"(?:file[= ](?:-|/dev/stdin)|data[= ][\"']?\$\([ \t]*(?:cat|jq|base64)\b))"
    r"|\b(?:cat|tee|jq)\b[^\n|;&]{0,60}?[> \t](?P<kept>/[\w./-]{1,80})(?=[\s;&|])"
    r"[^\n]{0,300}\bcurl\b[^\n]{0,300}@(?P=kept)"
    r"|\b(?:https?|xh)[ \t]+(?:--?\w[\w=:.-]{0,60}[ \t]+){0,4}(?:POST|PUT)\b"
)
_HANDS: Final = compiled(r"\b(?:nc|ncat|netcat|websocat|socat)\b(?![^\n]{0,80}\s-\w{0,4}l)(?P<rest>[^\n|;&]{0,200})")
_ADDRESS: Final = compiled(r"\b(?:https?|wss?)://[^\s\"'`|;&<>]{4,200}")
_PLACE: Final = compiled(
    r"(?i)(?<![\w.-])(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?![\w.-])|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"
)
_LOGIN: Final = compiled(r"(?:-H|--header|-u|--user|--oauth2-bearer)[ =]?[\"']?[^\"'\n]{0,60}\$\{?[A-Za-z_]")
_LONGEST: Final = 4_000


def passed_on(command: str) -> str:
    """The host that a hook's `command` sends what it is given to; an empty text when it sends nothing or stays near."""
    command = command[:_LONGEST]
    if _TAKES_INPUT.search(command):
        places = [host_of(found[0]) for found in _ADDRESS.finditer(command)]
    else:
        places = [host_of(place[0]) for found in _HANDS.finditer(command) for place in _PLACE.finditer(found["rest"])]
    return next((each.name for each in places if each.name not in {"", "*"} and not (each.near or each.shown)), "")


def is_account(command: str) -> bool:
    """True when a login out of the user's settings goes along: what is sent is kept for that user."""
    return _LOGIN.search(command[:_LONGEST]) is not None
