"""Whether what is made at run time in a shell command can only be an argument of a program that is written down."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.tables import table
from skillkeep.auditor.engines.values import HOLE

__all__ = ["is_argument", "is_known_program", "is_own_command", "is_weakness"]

_RUNNING: Final = frozenset(  # besides those of the shell's table: they run what they are given
    {"eval", "env", "xargs", "ssh", "awk", "gawk", "mawk", "nawk", "crontab", "make", "gmake", "cmd", "cmd.exe"}
)
_STARTS: Final = compiled(  # it names a program that the one before it starts
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
_NAMED: Final = compiled(r"\b(?:npx|bunx|uvx)\s+(?:(?:-y|--yes)\s+)?(?=@?[a-z][\w@/.-]*(?:\s|$))")  # a package
_BRINGS: Final = compiled(  # code from elsewhere
    r"\b(?:(?:pip3?|npm|gem|brew|conda)\b(?![ \t]+(?:info|list|ls|outdated|search|show|view)\b)"
    r"|(?:yarn|pnpm|bun|uv|cargo|go|apt(?:-get)?|choco|winget)\b)"
    r"|\b(?:docker|podman)(?:-compose)?\s+(?:run|exec|compose|build|pull|load|up)\b"
    r"|\bkubectl\s+(?:exec|run|apply|create)\b|\bgit\s+(?:-c\b|clone|submodule|config|pull|fetch)"
)
_HANDED_ON: Final = compiled(  # what is unknown gets a name, or tells where the rest happens
    rf"(?:^|[\s;&|(])(?:\w+=|(?:cd|pushd)\s+)[^\s;&|]*{HOLE}"
)
_WRITTEN: Final = compiled(r">{1,2}\s*([\w./~$\"'{}-]{3,})")
_SEPARATORS: Final = frozenset("|;&()\n{}!")
_SCRIPT: Final = compiled(r"[\"']?[^\s\"'|;&]*/[\w-]+\.(?:py|js|mjs|cjs|ts|sh|rb)[\"']?")
_INSTALLED: Final = compiled(rf"[\"']?[^\s\"'|;&]*{HOLE}[^\s\"'|;&]*/(?:bin|Scripts)/(?P<name>[\w.+-]+)[\"']?")
_SETTING: Final = compiled(r"(?P<name>\w+)=")
_LOADING: Final = compiled(
    r"LD_\w+|DYLD_\w+|\w*PATH|\w*OPTIONS|\w*OPT|\w*FLAGS|\w*STARTUP|BASH_ENV|ENV|IFS|\w*SHELL|\w*PAGER|\w*EDITOR"
    r"|GIT_\w+|\w*COMMAND|LESSOPEN|LESSCLOSE|BROWSER|\w*_?RSH|RUSTC_WRAPPER|PERL\w+|RUBY\w+"
)
_SOURCING: Final = frozenset({"source", "."})
_OPTIONS: Final = {  # their values name what is run, among others
    "git": frozenset({"-c", "--config-env", "--exec-path"}),
    "vim": frozenset({"-c", "--cmd"}),
}
_COUNTED: Final = frozenset({"timeout"})  # a number stands before the command
_LOOKUPS: Final = frozenset({"which", "where", "whereis"})
_PYTHONS: Final = frozenset({"python", "python3"})
_MODULES: Final = frozenset({"http.server", "json.tool", "venv"})  # Python's: they run nothing that they are given
_MODULE: Final = compiled(r"[A-Za-z_]\w*(?:\.\w+)*")
_CODE: Final = frozenset({"-c", "-e", "-m", "--code", "--command", "--eval"})
_LEADING: Final = frozenset({"if", "then", "elif", "else", "do", "while", "until", "gio"})  # they start what follows
_RUNNERS: Final = frozenset({"python", "python3", "node", "bash", "sh", "ruby"})  # of a script that is a file
_FLAGS: Final = {  # they load no code and take no value; those of nobody else are read as the script's name
    "node": frozenset({"--experimental-strip-types", "--experimental-transform-types", "--no-warnings"}),
    **dict.fromkeys(_PYTHONS, frozenset({"-u", "-B", "-I", "-E", "-s", "-O"})),
}
_RUN_SCRIPT: Final = compiled(r"[\"']?(?:[^\s\"'|;&]*/)?[\w-]+\.(?:py|js|mjs|cjs|ts|sh|rb)[\"']?")

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
    if _is_opener(rest):
        return [*settings, rest[0], *rest[2:]]
    if not rest or rest[0].rpartition("/")[2] not in _RUNNERS or len(rest) < 2 or not _RUN_SCRIPT.fullmatch(rest[1]):
        return words
    return [*settings, *rest[:2], *(word for word in rest[2:] if HOLE in word)]


def _is_opener(words: list[str]) -> bool:
    """``agent-browser open "${url}"``: the program's own word, and not what starts what the system has for a file."""
    if len(words) < 2 or words[1] != "open" or HOLE in words[0]:
        return False
    known, name = _starting(), words[0].strip("\"'").rpartition("/")[2]
    return not any(name in starting for starting in (known.running, known.prefixes, known.behind, _LEADING))


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


@dataclass(frozen=True)
class _Starting:
    """Programs that start others. `running`: nothing that they are given may be unknown.

    `prefixes`: they lead to the command that counts, with the options that take a value. `behind`: the command follows
    one of these words, whose options `valued` take a value. What one of `options` is given, or what stands beside one
    of `words`, is run.
    """

    running: frozenset[str]
    prefixes: Mapping[str, Sequence[str]]
    behind: Mapping[str, Sequence[str]]
    valued: Mapping[str, Sequence[str]]
    options: Mapping[str, frozenset[str]]
    words: Mapping[str, frozenset[str]]


@cache
def _starting() -> _Starting:
    """What the shell's table says of it."""
    shell = table("shell")
    carriers = shell["carriers"]
    behind = {name: how["behind"] for name, how in carriers.items() if "behind" in how}
    given = [(name, how) for how in shell["commanding"] for name in how["programs"]]
    words = {name: frozenset(how["words"]) for name, how in given if "words" in how}
    texts = {name for name, how in given if (how.get("joined") or how.get("quoted")) and name not in words}
    here = {name for name, how in carriers.items() if not how.keys() & {"behind", "elsewhere"} and name not in words}
    options = {name: frozenset(how["options"]) for name, how in shell["programmed"].items()}
    for name, how in given:
        options[name] = (
            options.get(name, frozenset()) | frozenset(how.get("after", ())) | _OPTIONS.get(name, frozenset())
        )
    return _Starting(
        shell["interpreters"].keys() | here | texts | _RUNNING,
        {name: valued for name, valued in shell["prefixes"].items() if name not in _RUNNING},
        behind,
        {name: carriers[name].get("valued", ()) for name in behind},
        options,
        words,
    )


def _started_by(words: list[str], name: str) -> list[str] | None:
    """What a prefix such as ``timeout 5``, or ``uv run``, starts; None for other programs."""
    known = _starting()
    if name in known.behind:
        at = next((at for at, word in enumerate(words) if word in known.behind[name]), None)
        return None if at is None else _from_operand(words[at:], known.valued[name])
    if name not in known.prefixes or name in known.running:
        return None
    return _from_operand(words, known.prefixes[name])[name in _COUNTED :]


def _from_operand(words: list[str], valued: Sequence[str]) -> list[str]:
    at = 1
    while at < len(words) and (words[at].startswith("-") or _SETTING.match(words[at])):
        at += 1 + (words[at] in valued)
    return words[at:]


def _hands_over(words: list[str], name: str) -> bool:
    """``git -c "${setting}"``, ``rsync -e "${how}"``: something unknown is told to be run."""
    known = _starting()
    if name in known.words and not known.words[name].isdisjoint(words):
        return any(HOLE in word for word in words[1:])
    options = known.options.get(name, frozenset())
    given = (after for option, after in pairwise(words) if option in options)
    glued = (word for word in words if word.strip("\"'").partition("=")[0] in options)
    return any(HOLE in word for word in (*given, *glued))


def _is_plain(words: list[str], *, fed: bool) -> bool:
    """True for a command whose program is written down and runs nothing that it is given, but a script by its name."""
    while len(words) > 1 and (setting := _SETTING.match(words[0])):
        if HOLE in words[0] and _LOADING.fullmatch(setting["name"]):
            return False
        words = words[1:]
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
    skipped = 2 if names[:2] == ["start", "/b"] or names[:2] == ["start", "b"] else 0
    if 0 < skipped < len(words):
        return _is_plain(words[skipped:], fed=fed)
    if (inner := _started_by(words, names[0])) is not None:
        return not inner or _is_plain(inner, fed=fed)
    if _hands_over(words, names[0]):
        return False
    flags = _FLAGS.get(names[0], frozenset())
    given = next((word for word in words[1:] if word not in flags), "")
    if not fed and names[0] in _RUNNERS and _RUN_SCRIPT.fullmatch(given):
        return True
    if not fed and names[0] in _PYTHONS and len(words) > 2 and words[1] == "-m" and _MODULE.fullmatch(words[2]):
        return words[2] in _MODULES or (_is_program(words[2:]) and _is_plain(words[2:], fed=fed))
    return _starting().running.isdisjoint(names)


def _is_program(words: list[str]) -> bool:
    """``whisper "${sound}"`` behind ``python -m``: the program of a package, which is told no code and brings none."""
    own = words[0].partition(".")[0] in sys.stdlib_module_names or _BRINGS.search(words[0]) is not None
    return not own and _CODE.isdisjoint(words)


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
