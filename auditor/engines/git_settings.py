"""Settings of git by what is inside of a text: addresses that go elsewhere, logins that are handed on, commands.

A person's settings lie in a tool under any name, and a script copies them to where git reads them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import ClassVar, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.recipients import is_placeholder
from skillkeep.auditor.engines.interface import Context, Emitter, Engine, Segment, SourceFile
from skillkeep.auditor.engines.network import host_of, is_near
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.interface import Severity

__all__ = ["ENGINE", "GitSettingsEngine", "copied_to", "hands_on", "redirected"]

_ANY: Final = compiled(
    r"\[[ \t]*(?:url|credential|core|alias|diff|difftool|merge|mergetool|filter|gpg|pager|sequence)[\s\]\".]",
    re.IGNORECASE,
)
_LINE: Final = compiled(
    r"^[ \t]*(?:\[[ \t]*(?P<section>[\w-]{1,40})(?:[ \t]+\"(?P<name>(?:[^\"\\\n]|\\.){0,300})\")?[ \t]*\][ \t]*)?"
    r"(?:(?P<key>[A-Za-z][\w-]{0,60})[ \t]*=[ \t]*(?P<value>(?:[^\\\n]|\\.|\\\n){0,2000}))?",
    re.MULTILINE,
)
_PIECE: Final = compiled(r"\\\n|\\(?P<escaped>.)|(?P<quote>\")|(?P<comment>[#;])|(?P<plain>[^\\\"#;\n]+)")
_ESCAPES: Final = {"n": "\n", "t": "\t", "b": "\b"}
_RUNS: Final = compiled(  # whose value a shell runs; of an alias and a helper only what follows a "!"
    r"core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|pager\.[\w-]+|sequence\.editor|diff\.(?:external|command|textconv)"
    r"|(?:diff|merge)tool\.cmd|merge\.driver|filter\.(?:clean|smudge|process)|gpg\.program|credential\.helper|alias\.[\w-]+"
)
_MARKED: Final = ("alias.", "credential.")
_HOST: Final = compiled(
    r"(?:[a-z][a-z+]*://)?(?:[^@/\s]{0,200}@)?(?P<host>[\w-]+(?:\.[\w-]+)*\.(?:[a-z]{2,24}|\d{1,3}))(?::\d{1,5}(?=/|$))?(?:[:/]|$)",
    re.IGNORECASE,
)
_EVERYTHING: Final = compiled(r"(?:https?|git|ssh)://|git@")
_FORGES: Final = (
    "github.com", "gitlab.com", "bitbucket.org", "codeberg.org", "gitee.com", "git.sr.ht", "dev.azure.com",
    "huggingface.co", "git.kernel.org", "salsa.debian.org",
)  # fmt: skip
_HANDS_ON: Final = compiled(
    r"\b(?:curl|wget|nc|ncat|netcat|socat|telnet|scp|sftp|ftp|sendmail|mail|nslookup|dig)\b|/dev/(?:tcp|udp)/|\bs_client\b"
    r"|\b(?:python3?|node|perl|ruby|php)[ \t]+-[cer]\b|\bcat\b[ \t]*>|\btee\b"
)
_PAGES: Final = (".md", ".mdx", ".rst", ".adoc")
_MOST: Final = 200


def redirected(base: str, instead_of: str) -> str:
    """The host that gets what is meant for a public forge, or for all of them; an empty text where it stays there."""
    to, meant = _HOST.match(base), _HOST.match(instead_of)
    if to is None or is_near(host := to["host"].lower()):
        return ""
    if meant is None:
        return host if _EVERYTHING.fullmatch(instead_of) else ""
    forge = next((each for each in _FORGES if _is_below(meant["host"].lower(), each)), "")
    mirrors = (forge, *table("acts")["mirrors"])
    return host if forge and not any(_is_below(host, each) for each in mirrors) else ""


def copied_to(address: str) -> str:
    """The host that a push goes to as well; an empty text for a forge, a near one and a placeholder."""
    to = _HOST.match(address)
    if to is None or is_near(host := to["host"].lower()) or host_of(host).shown:
        return ""
    known = (*_FORGES, *table("acts")["mirrors"])
    return "" if is_placeholder(host) or any(_is_below(host, each) for each in known) else host


def hands_on(helper: str) -> bool:
    """Whether the command that git asks for logins, and tells them, sends or keeps what it is told."""
    return helper.startswith(("!", "/", "~", "$")) and bool(_HANDS_ON.search(helper))


def _is_prose(segment: Segment) -> bool:
    return segment.context is Context.INSTRUCTION and segment.path.lower().endswith(_PAGES)


def _is_below(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


class GitSettingsEngine(Engine):
    """See the module."""

    name: ClassVar[str] = "git_settings"
    order: ClassVar[int] = 31

    def scan_file(self, file: SourceFile, emit: Emitter) -> None:
        """Judge each text of the file that holds a section of git's settings."""
        if file.text is None or not _ANY.search(file.text):
            return
        seen: set[str] = set()
        for segment in file.segments:
            if segment.context is not Context.METADATA and segment.text not in seen:
                seen.add(segment.text)
                for setting, name, value, at in islice(_settings(segment.text), _MOST):
                    _judge(segment, setting, name, value, at, emit)


def _judge(segment: Segment, setting: str, name: str, value: str, at: tuple[int, int], emit: Emitter) -> None:
    place, shown = segment.locate(*at), segment.text[slice(*at)].strip()
    severity = Severity.WARN if segment.is_example or _is_prose(segment) else None
    if setting in {"url.insteadof", "url.pushinsteadof"} and (host := redirected(name, value)):
        message = f"what is meant for {value[:80]} goes to {host}"
        emit.finding("config-git-redirect", place, shown, message, segment=segment, severity=severity)
    elif _RUNS.fullmatch(setting) and (value.startswith("!") or not setting.startswith(_MARKED)):
        emit.derive(value.removeprefix("!"), Context.SHELL, place, f"git setting {setting}", segment)
    if setting == "credential.helper" and hands_on(value):
        emit.finding(
            "config-git-logins", place, shown, f"git tells it logins: {value[:80]}", segment=segment, severity=severity
        )


def _settings(text: str) -> Iterator[tuple[str, str, str, tuple[int, int]]]:
    """``(section.key, the section's own name, value, where)``, names in lower case; all before a section is none."""
    section = name = ""
    for found in _LINE.finditer(text):
        if found["section"] is not None:
            section, name = found["section"].lower(), _plain(found["name"] or "")
        if section and found["key"] is not None:
            yield (
                f"{section}.{found['key'].lower()}",
                name,
                _plain(found["value"]),
                (found.start("key"), found.end("value")),
            )


def _plain(value: str) -> str:
    """The value without its quotes, escapes and comment (git-config(1), Syntax)."""
    parts: list[str] = []
    quoted = False
    for found in _PIECE.finditer(value):
        if found["quote"]:
            quoted = not quoted
        elif found["comment"] and not quoted:
            break
        else:
            escaped = found["escaped"]
            parts.append(_ESCAPES.get(escaped, escaped) if escaped else found["comment"] or found["plain"] or "")
    return "".join(parts).strip()


ENGINE = GitSettingsEngine()
