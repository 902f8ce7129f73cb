"""Judges what a command changes: files that run later without being asked, and what it destroys."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile
from posixpath import normpath
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.git_settings import copied_to, hands_on, redirected
from skillkeep.auditor.engines.interface import HOOKS, Context
from skillkeep.auditor.engines.shell.calls import program_name
from skillkeep.auditor.engines.shell.evaluate import HOLE
from skillkeep.auditor.engines.shell.lookup import CHANGING
from skillkeep.auditor.engines.shell.model import Command, Word
from skillkeep.auditor.engines.shell.site import FED_PUBLIC_KEY, Call, ShellSite
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.engines.written import is_agents_page
from skillkeep.auditor.interface import Severity

__all__ = ["Changing"]

_WIPED: Final = compiled(
    r"^(?!/var/tmp/?\*?$)(?:/|~|/\*|~/|~/\*|/(?:home|Users|etc|usr|var|bin|lib|boot)(?:/[^/]*)?/?\*?|/root(?:/[^/.][^/]*)?/?\*?)$"
)
_DEVICE: Final = compiled(r"^/dev/(?:sd|nvme|hd|vd|xvd|mmcblk|disk|mapper/)")
_SYSTEM_TARGETS: Final = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/")
_INSTEAD: Final = compiled(r"url\.(?P<base>.+)\.(?:push)?insteadof$", re.IGNORECASE)
_PUSHED: Final = compiled(r"remote\..+\.pushurl$", re.IGNORECASE)
_HELPER: Final = compiled(r"credential\.(?:.+\.)?helper$", re.IGNORECASE)
_GIT_RUNS: Final = ("hookspath", "fsmonitor", "sshcommand", "core.editor", "core.pager", "credential.helper", "alias.")
_NO_KEY: Final = compiled(
    r"(?:ssh-\w{3,8} )?(?:AAAA[\w+/]{0,8}(?:\.\.\.|…)|<[\w .-]{1,40}>|your[\w-]{1,30}key)(?: [\w.@-]{1,40})?"
)
_MOST_FOLDERS: Final = 50
_STARTED: Final = compiled(r"^Exec\w{2,20}=[-@:+!]{0,3}", re.MULTILINE)  # before a command in a unit of systemd
_PASSING: Final = compiled(r"\*\.(?:tmp|temp|pyc|swp)|\*~|\.DS_Store|__pycache__")  # what programs make again
_ROTATED: Final = compiled(
    r"\*(?:\.log\.\*|(?:\.log)?\.(?:gz|xz|bz2|zst|old|\d|\[0-9\](?:\.gz)?))"
)  # a log that has ended
_VALUED: Final = {
    "-name": compiled(r"[\w.*~\[\]-]+"), "-iname": compiled(r"[\w.*~\[\]-]+"), "-type": compiled(r"[fd]"),
    "-mtime": compiled(r"\+[1-9]\d{0,3}"), "-atime": compiled(r"\+\d{1,4}"), "-mmin": compiled(r"\+\d{1,6}"),
    "-maxdepth": compiled(r"\d"), "-mindepth": compiled(r"\d"), "-size": compiled(r"\+?\d+[ckMG]?"),
}  # fmt: skip
_CONDITIONS: Final = frozenset({*_VALUED, "-xdev", "-mount", "-empty", "-depth"})
_COPYING: Final = frozenset({"cp", "mv", "ln", "install", "rsync"})


_FORMATS: Final = compiled(r"mkfs(?:\.[^\\|)]+)?")


class Changing:
    """Judges one call at a time."""

    def __init__(self, site: ShellSite, table: dict[str, Any]) -> None:
        self._site = site
        self._writers: dict[str, str] = table["writers"]
        self._interpreters = frozenset(table["interpreters"])
        self._compilers: dict[str, str] = table["compilers"]

    def judge(self, call: Call, labels: frozenset[str]) -> None:
        """Judge `call`, which `labels` flow into."""
        name = call.name
        if name in self._writers:
            self._writes(call, labels)
        if name in self._compilers:
            self._compiles(call, labels)
        if name in CHANGING or name.startswith("mkfs"):
            self._destroys(call)
            self._persists(call)
            if name == "dd":
                for item in call.arguments:
                    if item.startswith("of="):
                        self._site.files.filled(item[3:], labels)
            elif name in {"cd", "pushd"} and call.operands and len(self._site.files.folders) < _MOST_FOLDERS:
                given = zip(call.arguments, call.words, strict=False)
                folder = next((self._site.name(text, word) for text, word in given if text == call.operands[0]), "")
                self._site.files.folders.append(folder.rstrip("/"))

    def written(self, command: Command, word: Word, text: str) -> None:
        """Judge a file that `command` writes."""
        if _DEVICE.match(text):
            self._site.report("shell-destructive", command, "overwrites a disk")
        if text.startswith(_SYSTEM_TARGETS):
            return
        if (meaning := secrets().persistence(text)) is not None:
            message = f"writes {meaning.what}: {text.replace(HOLE, '…')[:120]}"
            severity = Severity.WARN if self._is_own_key(command, text) else meaning.severity
            self._site.report("code-persistence", command, message, severity=severity)
            self._later(command, Context.INSTRUCTION if is_agents_page(text) else Context.SHELL, text)
        if text.startswith(("/", "~")):
            self._site.capability("write", text.replace(HOLE, "*")[:200], word)

    def _is_own_key(self, command: Command, text: str) -> bool:
        """True where another machine is given the user's public key, or an example shows no key at all."""
        if not text.endswith("/.ssh/authorized_keys"):
            return False
        words = [self._site.scope.text(word) for word in command.words]
        if words == ["cat"]:
            return self._site.segment.provenance[-1:] == (FED_PUBLIC_KEY,)
        shown = " ".join(words[1:])
        return words[:1] == ["echo"] and bool(_NO_KEY.fullmatch(shown))

    def _later(self, command: Command, context: Context, target: str) -> None:
        """What is written to the file `target`, which runs later, is a script, or a page for an agent."""
        scope = self._site.scope
        texts = [scope.text(word) for word in command.words]
        name = texts[0] if texts else ""
        if command.heredoc is not None and name in {"cat", "tee", "sudo"}:
            said = scope.text(command.heredoc)
            said = _STARTED.sub("", said) if target.endswith(".service") else said
            self._site.derive(said, context, command, "written to run later")
        elif name in {"echo", "printf"} and len(texts) > 1:
            self._site.derive(" ".join(texts[1:]), context, command, "written to run later")

    def _writes(self, call: Call, labels: frozenset[str]) -> None:
        which = self._writers[call.name]
        if call.name == "sed" and not any(item.startswith(("-i", "--in-place")) for item in call.arguments):
            return
        operands = call.operands if which == "all" else call.operands[-1:]
        for text, word in zip(call.arguments, call.words, strict=False):
            if text in operands:
                self.written(call.command, word, text)
                self._site.files.filled(self._site.name(text, word), labels)
        if call.name in _COPYING and len(call.operands) > 1:
            target = self._site.name(call.arguments[-1], call.words[-1]) if call.words else call.operands[-1]
            for source in call.operands[:-1]:
                self._site.files.copied(source, call.operands[-1])
                self._site.made.copied(source, target)
                if (program := program_name(source)) in self._interpreters:
                    self._site.files.programs[target] = program

    def _compiles(self, call: Call, labels: frozenset[str]) -> None:
        """``gcc tool.c -o tool``: a program is what its source is."""
        at = call.after(self._compilers[call.name])
        if at is not None and "-" in call.arguments:
            self._site.files.filled(call.arguments[at], labels)
        for source in call.operands:
            name = call.arguments[at] if at is not None else source.rpartition(".")[0]
            for target in (name, *(("a.out",) if at is None else ())):
                if target and source != target:
                    self._site.files.copied(source, target)

    def _destroys(self, call: Call) -> None:
        name, command = call.name, call.command
        targets = [item for item in call.operands if _WIPED.match(normpath(item) if "/.." in item else item)]
        flags = "".join(item for item in call.arguments if item.startswith("-") and not item.startswith("--"))
        recursive = "r" in flags or "R" in flags or call.has("--recursive")
        if name == "rm" and ((recursive and targets) or call.has("--no-preserve-root")):
            self._site.report("shell-destructive", command, f"deletes {', '.join(targets) or 'the root folder'}")
        elif name == "dd" and any(item[:3] == "of=" and _DEVICE.match(item[3:]) for item in call.arguments):
            self._site.report("shell-destructive", command, "overwrites a disk")
        elif _FORMATS.fullmatch(name) or (name in {"shred", "wipefs"} and any(map(_DEVICE.match, call.operands))):
            self._site.report("shell-destructive", command, f"{name} destroys a file system")
        elif name == "find" and call.has("-delete") and targets and not _leaves_most(call.arguments):
            self._site.report("shell-destructive", command, f"deletes everything below {targets[0]}")

    def _persists(self, call: Call) -> None:
        name, command = call.name, call.command
        if name == "crontab" and not call.has("-l", "-r", "-e") and call.arguments:
            taken = self._site.clearing and name not in self._site.functions
            message = "crontab takes scheduled jobs out" if taken else "crontab installs a scheduled job"
            severity = Severity.WARN if taken else None
            self._site.report("code-persistence", command, message, subject=name, severity=severity)
        elif name == "launchctl" and call.has("load", "bootstrap", "enable"):
            message = "launchctl starts something at every login"
            self._site.report("code-persistence", command, message, severity=Severity.WARN)
        elif name == "systemctl" and call.has("enable"):
            message = "systemctl starts something at every boot"
            self._site.report("code-persistence", command, message, severity=Severity.WARN)
        elif name == "git":
            self._git(call)

    def _git(self, call: Call) -> None:
        lowered = [item.lower() for item in call.arguments]
        named = [at for at, item in enumerate(lowered) if "hookspath" in item or "fsmonitor" in item]
        on = [at for at in named if not _is_off(lowered, at)]
        if on:
            message = "git is told to run a program of this tool's choice"
            severity = Severity.WARN if all(_is_inside(lowered, at) for at in on) else None
            here = {"--global", "--system", "--worktree", "-f"}.isdisjoint(lowered) and "config" in lowered
            here = here and not any(word.startswith("--file") for word in lowered)
            subject = HOOKS if here and all("hookspath" in lowered[at] for at in on) else ""
            self._site.report("code-persistence", call.command, message, subject=subject, severity=severity)
        elif "set-url" in lowered and "--push" in lowered and "--add" in lowered:
            self._copies(call, call.arguments[-1])
        elif "config" in lowered:
            self._sets(call)
            for setting, value in zip(lowered, call.arguments[1:], strict=False):
                if any(part in setting for part in _GIT_RUNS):
                    self._site.derive(value.removeprefix("!"), Context.SHELL, call.command, "git config")

    def _sets(self, call: Call) -> None:
        """``git config url.X.insteadOf Y``, ``git config credential.helper …``."""
        for setting, value in pairwise(call.arguments):
            if (url := _INSTEAD.match(setting)) and (host := redirected(url["base"], value)):
                message = f"what is meant for {value[:80]} goes to {host}"
                self._site.report("config-git-redirect", call.command, message)
            elif _PUSHED.match(setting):
                self._copies(call, value)
            elif _HELPER.match(setting) and hands_on(value):
                self._site.report("config-git-logins", call.command, f"git tells it logins: {value[:80]}")

    def _copies(self, call: Call, address: str) -> None:
        """A second place for what is pushed: one line for any repository gives a stranger all of them."""
        if host := copied_to(address):
            every = HOLE in address or "$" in address or not {"--global", "--system"}.isdisjoint(call.arguments)
            message = f"what is pushed goes to {host} as well"
            severity = None if every else Severity.WARN
            self._site.report("config-git-redirect", call.command, message, severity=severity)


def _leaves_most(arguments: Sequence[str]) -> bool:
    """``find folder -name '*.tmp' -delete``: what every condition holds for, and those say passing or rotated files.

    Only conditions that all have to hold, in front of the one act: ``!``, ``-o``, ``,`` and brackets tell of others.
    """
    paths = list(takewhile(lambda item: not item.startswith(("-", "!", "(", "\\", ",")), arguments))
    rest = list(arguments[len(paths) :])
    named, aged = "", False
    while rest and rest[0] != "-delete":
        option, value = rest[0], "".join(rest[1:2])
        if option not in _CONDITIONS or (option in _VALUED and not _VALUED[option].fullmatch(value)):
            return False
        named = value if option in {"-name", "-iname"} else named
        aged = aged or option == "-mtime"
        rest = rest[2:] if option in _VALUED else rest[1:]
    if rest != ["-delete"] or not paths:
        return False
    rotated = aged and _ROTATED.fullmatch(named) and all(each.rstrip("/") == "/var/log" for each in paths)
    return bool(rotated or _PASSING.fullmatch(named))


def _set_to(arguments: list[str], at: int) -> str:
    """What the setting at `at` becomes: after ``=``, else the next argument."""
    return arguments[at].partition("=")[2] if "=" in arguments[at] else " ".join(arguments[at + 1 : at + 2])


def _is_off(arguments: list[str], at: int) -> bool:
    """True for ``core.fsmonitor=false``, ``core.hooksPath=/dev/null``, ``--unset core.hooksPath``, its own monitor."""
    asked = not {"--unset", "--get"}.isdisjoint(arguments)
    value = _set_to(arguments, at)
    own = "fsmonitor--daemon" in arguments[at] or ("fsmonitor" in arguments[at] and value in {"true", "1"})
    return asked or own or value in {"", "false", "0", "/dev/null"}


def _is_inside(arguments: list[str], at: int) -> bool:
    """True for ``git config core.hooksPath .githooks``: hooks of the repository, for who works in it."""
    value = _set_to(arguments, at)
    outside = value.startswith(("/", "~", "$", "-")) or ".." in value or HOLE in value
    return "hookspath" in arguments[at] and not outside and {"--global", "--system"}.isdisjoint(arguments)
