"""Commands inside files that are no scripts themselves: infrastructure code, build files, scripts that code writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import code_of
from skillkeep.auditor.engines.behaviour.coded import coded_commands
from skillkeep.auditor.engines.behaviour.inline_words import inline_programs
from skillkeep.auditor.engines.interface import Context, Segment, SourceFile
from skillkeep.auditor.engines.units import is_unit, unit_commands
from skillkeep.auditor.patterns import RarePattern

__all__ = ["Script", "scripts", "spelled_out"]

_HEREDOC: Final = compiled(
    r"<<-?[ \t]{0,9}[\"']?(?P<mark>[A-Za-z_]\w{0,30})[\"']?[^\n]{0,200}\n"
    r"(?P<body>#![^\n]{1,200}\n(?:[^\n]{0,2000}\n){1,400}?)"
    r"[ \t]{0,40}(?P=mark)[ \t]{0,9}$",
    re.MULTILINE,
)
_QUOTED: Final = compiled(
    r"(?P<quote>\"\"\"|'''|[\"'`])(?P<body>#!/[^\n\"'`]{2,80}(?:\\n|\n)[\s\S]{4,6000}?)(?P=quote)"
)
_JOB: Final = compiled(  # what a program puts into the user's list of scheduled jobs
    r"\.new\([ \t\n]{0,40}(?:command[ \t]{0,9}=[ \t]{0,9})?[fr]?"
    r"(?P<body>\"(?:[^\"\\\n]|\\.){3,2000}\"|'(?:[^'\\\n]|\\.){3,2000}')"
)
_TERRAFORM: Final = compiled(
    r"\b(?:command|inline|program|user_data|script)[ \t]{0,20}=[ \t]{0,20}"
    r"(?P<body>\"(?:[^\"\\\n]|\\.){3,4000}\"|\[[^\]]{3,4000}\])"
)
_GROOVY: Final = compiled(
    r"(?P<body>\"(?:[^\"\\\n]|\\.){3,2000}\"|'(?:[^'\\\n]|\\.){3,2000}')\.execute\("
    r"|\bcommandLine[ \t(]{1,9}(?P<line>[^\n]{3,1000})"
)
_CMAKE: Final = compiled(  # what cmake hands to an interpreter
    r"\bCOMMAND\s{1,40}(?P<body>(?:/[\w/]{1,40}/)?(?:(?:ba|z|da|k)?sh|python[0-9.]{0,4}|node|perl|ruby|powershell|pwsh)"
    r"[ \t](?:[^()\"\n]|\"(?:[^\"\\]|\\.){0,2000}\"){1,400})"
)
_TASK: Final = compiled(
    r"^[ \t]{0,60}(?:-[ \t]{1,9})?(?:ansible\.(?:builtin|windows)\.)?(?:shell|command|raw|win_shell|job|cmd):"
    r"[ \t]{1,9}(?P<body>[^\n|>][^\n]{3,2000})$",
    re.MULTILINE,
)
_GYP: Final = compiled(r"<!@?\((?P<body>(?:[^\"\\\n]|\\.){3,4000}?)\)[ \t]{0,9}[\"']")
_STRING: Final = compiled(r"\"((?:[^\"\\\n]|\\.)*)\"")
_ASSIGNED: Final = compiled(r"(?:^|[;\s])(\w{1,40})=([\"']?)([\w:/.@%+-]{1,200})\2(?=[\s;]|$)", re.MULTILINE)
_MAKE_SET: Final = compiled(
    r"^(?:(?:export|override)[ \t]+)?(?P<name>[A-Za-z_][\w.-]{0,40})[ \t]*(?:::?:?|\?)?=[ \t]*(?P<value>[^\n]{0,400})$",
    re.MULTILINE,
)
_MAKE_USE: Final = compiled(r"\$(?:\((?P<round>[\w.-]{1,40})\)|\{(?P<curly>[\w.-]{1,40})\})")
_MAKE_RUNS: Final = compiled(r"^\t[^\n]{3,4000}|\$[({]shell[ \t][^\n]{3,4000}|!=[ \t]*[^\n]{3,4000}", re.MULTILINE)
_DEEPEST: Final = 4  # variables in the values of variables
_LONGEST: Final = 8_000
_MOST: Final = 40


@dataclass(frozen=True)
class Script:
    """A text that some program will run: where it stands in `segment` (characters), and how it got there."""

    segment: Segment
    start: int
    end: int
    text: str
    context: Context | None
    via: str


def scripts(file: SourceFile) -> Iterator[Script]:
    """Every script and command that `file` carries for another program, at most 40 of a kind."""
    name = file.known_as.lower().rpartition("/")[2]
    whole = Segment(file.path, Context.TEXT, file.text or "", anchor=file.place)
    if name.endswith((".tf", ".tf.json", ".hcl", ".pkr.hcl")):
        yield from _found(whole, _TERRAFORM, "a provisioner", Context.SHELL)
    elif name.endswith((".gradle", ".groovy", ".gradle.kts")) or name.partition(".")[0] == "jenkinsfile":
        yield from _found(whole, _GROOVY, "the build", Context.SHELL)
    elif name.endswith(".cmake") or name == "cmakelists.txt":
        yield from (replace(found, context=Context.SHELL) for found in _found(whole, _CMAKE, "the build", None))
    elif is_unit(file.known_as):
        for start, command in unit_commands(whole.text):
            yield Script(whole, start, start + 1, command, Context.SHELL, "a unit")
    elif name.endswith((".gyp", ".gypi")):
        yield from (replace(found, context=Context.SHELL) for found in _found(whole, _GYP, "the build", None))
    elif name.endswith((".yml", ".yaml")):
        yield from _found(whole, _TASK, "a task", Context.SHELL)
    elif name.endswith(".mk") or name in {"makefile", "gnumakefile"}:
        yield from _recipes(whole)
    for segment in code_of(file):
        yield from _within(segment)


def _within(segment: Segment) -> Iterator[Script]:
    """What a program keeps for an interpreter, a shell or a list of jobs, and the scripts that it writes."""
    for inline in inline_programs(segment.text):
        yield Script(segment, inline.start, inline.start + 1, inline.text, inline.context, "a list of words")
    for start, command in coded_commands(segment.text) if segment.context is Context.TEXT else ():
        yield Script(segment, start, start + 1, command, Context.SHELL, "numbers of characters")
    for found in _found(segment, _JOB, "a scheduled job", None) if "CronTab(" in segment.text else ():
        yield replace(found, text=_scheduled(found.text[1:-1]), context=Context.SHELL)
    if segment.text.find("#!", 1) > 0:  # a script's own first line is none that it writes
        yield from _found(segment, _HEREDOC, "a script it writes", None)
        yield from _found(segment, _QUOTED, "a script it writes", None)


def _found(
    segment: Segment, pattern: re.Pattern[str] | RarePattern, via: str, context: Context | None
) -> Iterator[Script]:
    for number, found in enumerate(pattern.finditer(segment.text)):
        if number >= _MOST:
            return
        group = "body" if found["body"] is not None else "line"
        body = found[group]
        if context is Context.SHELL:
            body = _command(body)
        elif "\n" not in body:
            body = _unescaped(body)
        yield Script(segment, found.start(group), found.start(group) + 1, body, context, via)


def _recipes(whole: Segment) -> Iterator[Script]:
    """What make hands to the shell, with its plain variables put in, where these change anything."""
    values = {found["name"]: found["value"].strip() for found in _MAKE_SET.finditer(whole.text)}
    values = {"SHELL": "sh", "CURDIR": ".", **values}
    for number, found in enumerate(_MAKE_RUNS.finditer(whole.text)):
        if number >= _MOST:
            return
        plain, body = found[0], _make_expanded(found[0], values)
        called = re.match(r"\$[({]shell[ \t]+", body)
        if called:
            body = _closed(body[called.end() :], ")" if plain[1] == "(" else "}")
        if called or body != plain:
            body = body.removeprefix("!=").lstrip("\t @-+").replace("$$", "$")
            yield Script(whole, found.start(), found.start() + 1, body, Context.SHELL, "make")


def _make_expanded(text: str, values: Mapping[str, str]) -> str:
    for _ in range(_DEEPEST):
        told = _MAKE_USE.sub(lambda found: values.get(found["round"] or found["curly"], found[0]), text)
        if told == text or len(told) > _LONGEST:
            break
        text = told
    return text


def _closed(text: str, end: str) -> str:
    """`text` up to the bracket that closes what was opened before it."""
    depth, opening = 0, "(" if end == ")" else "{"
    for at, character in enumerate(text):
        depth += (character == opening) - (character == end)
        if depth < 0:
            return text[:at]
    return text


def _scheduled(command: str) -> str:
    """The command that puts `command` into the list of scheduled jobs."""
    return f"(crontab -l; cat <<'END'\n0 * * * * {command}\nEND\n) | crontab -"


def _command(text: str) -> str:
    """The command line that a quoted text, or a list of quoted words, stands for."""
    words = [_unescaped(word) for word in _STRING.findall(text)] if text.startswith(("[", '"')) else []
    if len(words) > 2 and words[1] in {"-c", "-lc", "-ec", "/c", "-Command"}:
        return words[2]
    return (
        "\n".join(words) if text.startswith("[") and not _is_program(words) else " ".join(words) or text.strip("'\" ")
    )


def _is_program(words: list[str]) -> bool:
    return bool(words) and " " not in words[0]


def _unescaped(text: str) -> str:
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")


def spelled_out(segment: Segment) -> str:
    """A shell text with its plain variables put in and empty quotes inside words gone; lines stay where they are."""
    text = segment.text
    if segment.context is not Context.SHELL or "$" not in text:
        return text
    values: dict[str, str] = {}
    for found in _ASSIGNED.finditer(text):
        values[found[1]] = "" if found[1] in values else found[3]
    known = [name for name, value in values.items() if value][:200]
    if not known:
        return text
    use = re.compile(
        r"\$(?:\{(" + "|".join(map(re.escape, known)) + r")\}|(" + "|".join(map(re.escape, known)) + r")\b)"
    )
    joined = use.sub(lambda found: values[found[1] or found[2]], text)
    return re.sub(r"(?<=\w)\"\"(?=\w)|(?<=\w)''(?=\w)", "", joined)
