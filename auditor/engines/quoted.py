"""Whether what is made at run time in a shell command can only be an argument of a program that is written down."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Final

from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.values import HOLE
from skillkeep.auditor.lazily import lazily

__all__ = ["is_argument", "is_known_program", "is_own_command", "is_weakness"]

_RUNNING: Final = frozenset(  # besides interpreters: they run what they are given
    {
        "cmd",
        "cmd.exe",
        "eval",
        "env",
        "xargs",
        "ssh",
        "osascript",
        "awk",
        "gawk",
        "mawk",
        "parallel",
        "watch",
        "at",
        "batch",
    }
    | {"su", "runuser", "script", "expect", "nsenter", "chroot", "crontab", "make"}
)
_STARTS: Final = re.compile(  # it names a program that the one before it starts
    rf"(?:(?<![\w-])(?:exec|sudo|nohup|time|then|do|else)|-exec(?:dir)?|-ok)\s+[\"']?[^\s\"';&]*{HOLE}"
)
_STARTERS: Final = frozenset(
    {
        "start",
        "open",
        "xdg-open",
        "explorer",
        "setsid",
        "nice",
        "timeout",
        "stdbuf",
        "doas",
        "strace",
        "unbuffer",
        "rundll32",
    }
    | {
        "msiexec",
        "mshta",
        "regsvr32",
        "installutil",
        "wscript",
        "cscript",
        "npx",
        "bunx",
        "uvx",
        "pipx",
        "schtasks",
        "reg",
    }
)
_NAMED: Final = re.compile(r"\b(?:npx|bunx|uvx)\s+(?:(?:-y|--yes)\s+)?(?=@?[a-z][\w@/.-]*(?:\s|$))")  # a package
_BRINGS: Final = re.compile(  # code from elsewhere
    r"\b(?:(?:pip3?|npm|gem|brew|conda)\b(?![ \t]+(?:info|list|ls|outdated|search|show|view)\b)"
    r"|(?:yarn|pnpm|bun|uv|cargo|go|apt(?:-get)?|choco|winget)\b)"
    r"|\b(?:docker|podman)(?:-compose)?\s+(?:run|exec|compose|build|pull|load|up)\b"
    r"|\bkubectl\s+(?:exec|run|apply|create)\b|\bgit\s+(?:-c\b|clone|submodule|config|pull|fetch)"
)
_HANDED_ON: Final = re.compile(  # what is unknown gets a name, or tells where the rest happens
    rf"(?:^|[\s;&|(])(?:\w+=|(?:cd|pushd)\s+)[^\s;&|]*{HOLE}"
)
_WRITTEN: Final = re.compile(r">{1,2}\s*([\w./~$\"'{}-]{3,})")
_SEPARATORS: Final = frozenset("|;&()\n{}!")
_SCRIPT: Final = re.compile(r"[\"']?[^\s\"'|;&]*/[\w-]+\.(?:py|js|mjs|cjs|ts|sh|rb)[\"']?")
_INSTALLED: Final = lazily(rf"[\"']?[^\s\"'|;&]*{HOLE}[^\s\"'|;&]*/(?:bin|Scripts)/(?P<name>[\w.+-]+)[\"']?")
_SETTING: Final = re.compile(r"(?P<name>\w+)=")
_LOADING: Final = lazily(
    r"LD_\w+|DYLD_\w+|\w*PATH|\w*OPTIONS|\w*OPT|\w*FLAGS|\w*STARTUP|BASH_ENV|ENV|IFS|\w*SHELL|\w*PAGER|\w*EDITOR"
    r"|GIT_\w+|\w*COMMAND|PERL\w+|RUBY\w+"
)
_SOURCING: Final = frozenset({"source", "."})
_LOOKUPS: Final = frozenset({"which", "where", "whereis"})
_PYTHONS: Final = frozenset({"python", "python3"})
_MODULES: Final = frozenset({"http.server", "json.tool", "venv"})  # they run nothing that they are given
_RUNNERS: Final = frozenset({"python", "python3", "node", "bash", "sh", "ruby"})  # of a script that is a file
_FLAGS: Final = {  # they load no code and take no value; those of nobody else are read as the script's name
    "node": frozenset({"--experimental-strip-types", "--experimental-transform-types", "--no-warnings"}),
    **dict.fromkeys(_PYTHONS, frozenset({"-u", "-B", "-I", "-E", "-s", "-O"})),
}
_RUN_SCRIPT: Final = re.compile(r"[\"']?(?:[^\s\"'|;&]*/)?[\w-]+\.(?:py|js|mjs|cjs|ts|sh|rb)[\"']?")

_Command = tuple[bool, list[str]]  # whether it is fed by a pipe, and its words


def is_argument(text: str) -> bool:
    """True for ``codesign --verify "${path}" | head``: programs are written down, each unknown part is one quoted word.

    A quote in the text still breaks out, which is a weakness and no hidden command. The program may be an interpreter
    (``python "${here}/read.py" "${path}"``) where a script's name is written down and nothing is piped into it.
    """
    return _are_plain(text, _commands(text))


def is_known_program(text: str) -> bool:
    """True where every program is written down and runs nothing that it is given, whatever its arguments say.

    It tells nothing about what an unknown part outside of quotes could start: ask that only of text that is one's own.
    """
    return _are_plain(text, _commands(text, bare=True))


def is_own_command(text: str) -> bool:
    """True for ``docker build -t "${name}" .``: a known program that starts nothing that it is given.

    Whom it talks to and what it brings is asked of the command itself, which is the caller's to audit.
    """
    return is_known_program(text) and _STARTERS.isdisjoint(re.split(r"[\s|;&()\"'/]+", text.lower()))


def is_weakness(text: str) -> bool:
    """True where a stranger's text in a shell command is a weakness of an honest one, and no way to hide another.

    Its programs are written down, run nothing that they are given, and those that get the text talk to no other
    machine: a text with a semicolon in it still breaks out (CWE-78), but nothing in the file says that it is to.
    docs/adr/0014.
    """
    text = _NAMED.sub("", text)
    commands = _commands(text, bare=True)
    if not _are_plain(text, commands):
        return False
    if any(text.count(target) > 1 for target in _WRITTEN.findall(text) if target != "/dev/null"):
        return False
    handed = any(_HANDED_ON.search(" ".join(_split(words)[1])) for _, words in commands or ())
    given = text if handed else " ".join(_given(commands or ()))
    words = re.split(r"[\s|;&()\"'/]+", given.lower())
    return _handing().isdisjoint(words) and not _BRINGS.search(given)


def _given(commands: Iterable[_Command]) -> list[str]:
    """The words of the pipelines that something unknown goes into."""
    pipelines: list[list[str]] = []
    for fed, words in ((fed, _own_words(words)) for fed, words in commands):
        if fed and pipelines:
            pipelines[-1].extend(words)
        else:
            pipelines.append(list(words))
    return [word for words in pipelines if any(HOLE in each for each in words) for word in words]


def _own_words(words: list[str]) -> list[str]:
    """Without what a script is told: ``python3 "${here}/clock.py" "${who}" start`` starts nothing that it is given."""
    settings, rest = _split(words)
    if rest[0].rpartition("/")[2] not in _RUNNERS or len(rest) < 2 or not _RUN_SCRIPT.fullmatch(rest[1]):
        return words
    return [*settings, *rest[:2], *(word for word in rest[2:] if HOLE in word)]


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """The variables that are set for one command alone, and that command; a last one is set for all that follow."""
    count = next((at for at, word in enumerate(words) if not _SETTING.match(word)), 0)
    return words[:count], words[count:]


def _are_plain(text: str, commands: list[_Command] | None) -> bool:
    if any(mark in text for mark in ("`", "$(", "<(", "eval ")) or _STARTS.search(text):
        return False
    return bool(commands) and all(_is_plain(words, fed=fed) for fed, words in commands or ())


@cache
def _handing() -> frozenset[str]:
    """Programs that hand on what they are given: to other machines, to the system that opens it, or to be run."""
    return _STARTERS.union(table("javascript")["sending_programs"])


def _is_plain(words: list[str], *, fed: bool) -> bool:
    """True for a command whose program is written down and runs nothing that it is given, but a script by its name."""
    while len(words) > 1 and (setting := _SETTING.match(words[0])):
        if HOLE in words[0] and _LOADING.fullmatch(setting["name"]):
            return False
        words = words[1:]
    running = table("shell")["interpreters"].keys() | _RUNNING
    if HOLE in words[0]:
        installed = _INSTALLED.fullmatch(words[0])
        if not installed or len(words) < 2 or fed:
            return not fed and bool(_SCRIPT.fullmatch(words[0]))
        words = [installed["name"], *words[1:]]
    if words[0] in _LOOKUPS or words[:2] == ["command", "-v"]:
        return True  # it tells where a program is, and starts none
    if words[0] in _SOURCING:
        return not fed and len(words) > 1 and HOLE not in words[1]
    names = [word.strip("\"'").rpartition("/")[2] for word in words]
    skipped = 2 if names[:2] == ["start", "/b"] or names[:2] == ["start", "b"] else 1 if names[0] == "nohup" else 0
    if 0 < skipped < len(words):
        return _is_plain(words[skipped:], fed=fed)
    flags = _FLAGS.get(names[0], frozenset())
    given = next((word for word in words[1:] if word not in flags), "")
    if not fed and names[0] in _RUNNERS and _RUN_SCRIPT.fullmatch(given):
        return True
    if not fed and names[0] in _PYTHONS and len(words) > 2 and words[1] == "-m" and words[2] in _MODULES:
        return True
    return not any(name in running for name in names)


def _commands(text: str, *, bare: bool = False) -> list[_Command] | None:
    """Whether it is fed by a pipe, and the words, quotes and all, of each simple command.

    None where something unknown stands outside of quotes, unless that may (`bare`).
    """
    commands: list[_Command] = [(False, [])]
    word = mark = before = ""
    escaped = False
    for character in (*text.replace("{}", "__"), "\n"):  # an empty pair of braces is a word like another
        if character == HOLE and not mark and not bare:
            return None
        if not mark and not escaped and (character.isspace() or character in _SEPARATORS):
            commands[-1][1].extend([word] if word else [])
            word = ""
            if not character.isspace() or character == "\n":
                commands.append((character == "|" and before != "|", []))
            before = character
            continue
        word += character
        before = character
        if escaped:
            escaped = False
        elif character == "\\" and mark != "'":
            escaped = True
        elif character == mark:
            mark = ""
        elif not mark and character in "\"'":
            mark = character
    return None if mark else [(fed, words) for fed, words in commands if words]
