"""Programs that a program writes: a text that is put into a file whose name says what will run it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.units import is_unit, unit_commands
from skillkeep.auditor.engines.values import HOLE
from skillkeep.auditor.languages import sniff

__all__ = ["Written", "is_agents_page", "unnamed_programs", "written_as"]

_ENDINGS: Final = {
    "js": Context.JAVASCRIPT, "mjs": Context.JAVASCRIPT, "cjs": Context.JAVASCRIPT, "ts": Context.TYPESCRIPT,
    "py": Context.PYTHON, "sh": Context.SHELL, "bash": Context.SHELL, "command": Context.SHELL, "zsh": Context.SHELL,
    "ps1": Context.POWERSHELL, "rb": Context.RUBY,
}  # fmt: skip
_NAME: Final = compiled(r"\.(\w{2,7})$")
_MAKEFILE: Final = compiled(r"(?:^|[/\\])(?:GNUm|[Mm])akefile$")
_SHELL_FILE: Final = compiled(
    r"(?:^|[/\\])(?:\.(?:envrc|bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile|zlogin|xinitrc|xprofile)"
    r"|PKGBUILD)$|(?:^|/)(?:\.git/hooks|\.husky)/(?!_/)[\w-]+$"
)
_GIT_SETTINGS: Final = compiled(r"(?:^|/)(?:\.?gitconfig|\.config/git/config)$")
_PATH_FILE: Final = compiled(r"\.pth$", re.IGNORECASE)
_RUN_LINE: Final = compiled(r"^import[ \t][^\n]*", re.MULTILINE)  # as ``site.addpackage`` does
_START_MODULE: Final = compiled(r"(?:^|[/\\])(?:site|user)customize\.py$")
_AGENTS_PAGE: Final = compiled(
    r"(?:^|/)(?:(?:AGENTS|CLAUDE|GEMINI|SOUL|MEMORY|HEARTBEAT|IDENTITY|TOOLS|USER)\.md|SKILL\.md|\.cursorrules"
    r"|\.windsurfrules|\.clinerules|copilot-instructions\.md)$"
    r"|(?:^|/)\.(?:claude|codex|cursor|gemini|openclaw|windsurf)/(?:[\w.-]+/){0,4}[\w.-]+\.mdc?$"
)

_FETCHES: Final = compiled(r"https?://|\b(?:urlopen|requests|fetch|curl|wget)\b")
_RUNS: Final = compiled(
    r"\b(?:exec|eval|system|popen|Popen|spawn|execSync|subprocess|child_process|Function)\b|\|[ \t]*(?:ba)?sh\b"
)
_PROGRAMS: Final = frozenset({Context.PYTHON, Context.JAVASCRIPT, Context.TYPESCRIPT, Context.SHELL})


class Written(NamedTuple):
    """What of a written text is read as a program, and in which language; `started` says that it starts unasked."""

    text: str
    context: Context
    started: str = ""


def is_agents_page(name: str) -> bool:
    """Whether an agent of the user reads the file `name` as instructions, in whatever it does next."""
    return bool(_AGENTS_PAGE.search(name.replace("\\", "/")))


def written_as(name: str, text: str) -> Written | None:
    """What `text`, written to the file `name`, will be read as; None for what is no program."""
    if started := _run_at_start(name, text):
        message = f"every start of Python runs what is written to {name.replace(HOLE, '…')[:120]}"
        return Written(started, Context.PYTHON, message)
    if is_unit(name):
        return Written("".join(f"{command}\n" for _, command in unit_commands(text)), Context.SHELL)
    context = _language(name)
    return Written(text, context) if context is not None else None


def unnamed_programs(text: str) -> Iterator[Written]:
    """What `text` is a program in, written to a file whose name is not known; only what fetches and runs something."""
    if _FETCHES.search(text) and _RUNS.search(text):
        for context in sniff(text):
            if context in _PROGRAMS:
                yield Written(text, context)


def _language(name: str) -> Context | None:
    if is_agents_page(name):
        return Context.INSTRUCTION
    if _MAKEFILE.search(name) or _SHELL_FILE.search(name):
        return Context.SHELL
    if _GIT_SETTINGS.search(name):
        return Context.CONFIG
    found = _NAME.search(name)
    return _ENDINGS.get(found[1].lower()) if found is not None else None


def _run_at_start(name: str, text: str) -> str:
    """What every start of Python runs of `text`, once it lies in the file `name` of ``site-packages``."""
    if _PATH_FILE.search(name):
        return "\n".join(_RUN_LINE.findall(text))
    return text if _START_MODULE.search(name) else ""
