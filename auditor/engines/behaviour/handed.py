"""What one place of a tool fetches, and another place starts: a script, a block of a page, a job, a hook, a server.

What a scheduled job or a hook starts is looked for wherever it is written; what is started at once, in scripts, pages
and calls of programs. One block that does both is judged by `dropped`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.behaviour.acts import code_of
from skillkeep.auditor.engines.behaviour.dropped import saves
from skillkeep.auditor.engines.behaviour.scripts import spelled_out
from skillkeep.auditor.engines.installers import is_installer, is_own_address, is_own_repository, product
from skillkeep.auditor.engines.interface import Context, SourceFile, SourceTree
from skillkeep.auditor.engines.told_to_run import is_said_not, is_told_to_run
from skillkeep.auditor.frontmatter import parse_frontmatter
from skillkeep.auditor.interface import Location

__all__ = ["Handed", "handed_over"]

_MOST: Final = 400
_LONGEST: Final = 400_000  # characters of a text
_ABOVE: Final = 300  # characters of a setting in several lines
_BEHIND: Final = 80
_NAME: Final = compiled(r"^[A-Za-z_.][\w.-]+$")
_WORDS: Final = compiled(r"[\w.-]+")
_PAGES: Final = (".md", ".mdx", ".markdown", ".mdc", ".txt")
_FETCHED: Final = compiled(
    r"(?i)\b(?:curl|wget|aria2c|scp|rsync|gh[ \t]+release|npm[ \t]+i\w*"
    r"|git[ \t]+clone|urlretrieve|download|fetch|save)\b|-OutFile\b|\bDownloadFile\(|\bgit\+(?:https|ssh):"
)
_TO: Final = r"[\"']?(?P<to>[^\s\"'`|;&<>()]{2,160})"
_SAVED: Final = (
    compiled(
        r"(?i)\b(?:curl|wget|aria2c)\b[^\n|;]{0,300}?(?:[ \t](?:-[a-z]{0,6}o|--output|--output-document)[ =\t]{1,4}"
        rf"|(?<![-=])>>?[ \t]*|\|[ \t]*(?:sudo[ \t]+)?tee[ \t]+(?:-a[ \t]+)?){_TO}"
    ),
    compiled(rf"\b(?:curl|wget)\b[^{{}}]{{0,300}}\n?[ \t]*\}}[ \t]*>>?[ \t]*{_TO}"),
    compiled(
        r"(?:\bcurl\b(?=[^\n|;]{0,300}[ \t](?:-[a-zA-Z]{0,6}O\b|--remote-name))"
        r"|\bwget\b(?![^\n|;]{0,300}[ \t](?:-[a-zA-Z]{0,6}O|--output-document)))"
        r"[^\n|;]{0,300}?://[^\s\"'`|;]{0,200}/(?P<to>[\w.-]+\.\w{1,5})\b"
    ),
    compiled(rf"(?i)-OutFile[ \t]+{_TO}"),
    compiled(  # in a sentence
        r"(?i)\b(?:download|fetch|get|save)\b[^\n]{0,80}?https?://[^\s`]{4,300}[^\n]{0,40}?"
        r"\b(?:as|to|under)[ \t]+[`\"'](?P<to>[\w./~$-]{2,120}\.\w{1,5})[`\"']"
    ),
    compiled(
        r"\bgh[ \t]+release[ \t]+download\b[^\n;|]{0,200}?[ \t](?:-p|--pattern|-O|--output)[ =\t]+"
        r"[\"']?(?P<to>[\w./~$-]{2,160})"
    ),
    compiled(r"\b(?:scp|rsync)\b[^\n;|]{0,200}?[\w.@-]{3,80}:\S{1,200}[ \t]+(?P<to>[^\s\"'`|;&<>():]{2,160})"),
    compiled(rf"\bDownloadFile\([^,\n]{{1,200}},[ \t]*{_TO}"),
    compiled(r"\burlretrieve\([^,\n]{1,200},[^\n]{0,60}?[\"'](?P<to>[^\"'\n]{2,120})[\"']"),
)
_CLONED: Final = compiled(
    r"\bgit[ \t]+clone[ \t]+(?:-\S+(?:[ \t]+\d+)?[ \t]+){0,6}"
    r"[\"']?(?P<url>[^\s\"'`;&|]{4,200}?/(?P<repo>[\w.-]{2,80}?))(?:\.git)?/?[\"']?"
    r"(?:[ \t]+(?!&&)[\"']?(?P<to>[^\s\"'`;&|)]{2,160}))?(?=[\s\"'`;&|)]|$)"
)
_INSTALLED: Final = compiled(  # by a package manager, out of a repository
    r"\b(?:pipx?3?|uv|npm|cargo|poetry)\b[^\n;|]{0,160}?\b(?:git\+(?:https|ssh)://|--git[ =\t]+https://|github:)"
    r"(?P<url>[^\s\"'`;&|#@]{4,200}?/(?P<repo>[\w.-]{2,80}?))(?:\.git)?(?=[\s\"'`;&|#@)]|$)"
)
_BY_OWNER: Final = compiled(  # ``npm install owner/repository``
    r"\bnpm[ \t]+(?:install|i)\b(?:[ \t]+-[\w-]+)*[ \t]+(?P<url>[\w-]{1,60}/(?P<repo>[\w.-]{2,80}))(?=[\s\"'`;&|#)]|$)"
)
_UNPACKED: Final = compiled(
    r"(?:\btar\b[^\n;|&]{0,160}?[ \t](?:-C|--directory)[ =\t]*|\bunzip\b[^\n;|&]{0,160}?[ \t]-d[ \t]*"
    rf"|\bExpand-Archive\b[^\n]{{0,200}}-DestinationPath[ \t]+){_TO}"
)
_OF_ALL: Final = frozenset({"local", "bin", "opt", "usr", "tmp", "home", "src", "lib", "share", "build", "dist"})
_PROGRAM: Final = compiled(
    r"[\"'`/\\](?P<name>[\w-][\w.-]{0,80}"
    r"\.(?:py|pyw|sh|bash|[cm]?js|ts|rb|pl|php|ps1|exe|bat|cmd|jar))[\"'`]"
)
_ADDRESS: Final = compiled(r"https?://[^\s\"'`|;)>]{4,300}")
_FOLDER: Final = r"(?:[A-Za-z]:|[\"']?\$\(pwd\))?[^\s\"'`|;&<>=:)]{0,80}?(?<![\w.-])"
_INTERPRETER: Final = (
    r"(?:[\w./~${}-]{0,60}/)?(?:(?:ba|z|da|k)?sh|python[\d.]*|node|ruby|perl|php|deno|bun|pwsh|powershell(?:\.exe)?"
    r"|osascript|java|wscript|cscript|mshta|source|(?<![\w.!?)])\.|crontab"
    r"|launchctl[ \t]+(?:load|bootstrap[ \t]+\S{1,40})|systemctl[ \t]+(?:--user[ \t]+)?enable)"
    r"[\"']?,?(?:[ \t]+[\"']?(?:-[\w-]{1,20}|Bypass|Hidden|run)[\"']?,?)*[ \t]+"
)
_BEFORE: Final = (  # what may stand before a program, on its command line
    r"(?:(?:cd[ \t]+\S{1,80}[ \t]*&&|\w+=\S{0,80}|sudo|doas|nohup|setsid|exec|nice|/usr/bin/env|env"
    r"|timeout[ \t]+\S{1,9}|flock[ \t]+(?:-\w+[ \t]+)*\S{1,80})[ \t]+){0,6}"
)
_LATER: Final = (
    r"(?:(?<![\w.])(?:[\d*][\w*,/-]{0,20}[ \t]+){5}|@(?:reboot|hourly|daily|midnight|weekly|monthly)[ \t]+"
    r"|\bExec\w{3,12}=[-@:+!|]{0,4}|(?i:[/-]tr)[ \t]+\\?[\"']{0,2}|(?i:-(?:Execute|Argument))[ \t]+[\"']"
    r"|[\"'](?:command|bash|powershell|run|script)[\"'][ \t]*:[ \t]*[\"']"
    r"|[\"']args[\"'][ \t]*:[ \t]*\[[^\]\[]{0,200}?[\"']"
    r"|--(?:message|system-event|prompt)[ =\t]+[\"'][^\"'\n]{0,200}?)"
)
_NOW: Final = (
    r"(?:^[ \t$>]*(?:[-*+][ \t]+|\d{1,2}\.[ \t]+)?|[;&|(`][ \t]*"
    r"|\b(?:then|do|exec|sudo|nohup|setsid)[ \t]+|\b[Rr]un:?[ \t]+)"
)
_CALLED: Final = r"\b(?:run|call|Popen|check_call|check_output|system|exec\w*|spawn\w*)\([^)\n]{0,80}?"
_SERVER: Final = compiled(
    r"\"(?:mcpServers|servers)\"\s{0,9}:\s{0,9}\{\s{0,40}\"[\w.-]{1,60}\"\s{0,9}:\s{0,9}\{\s{0,40}\Z"
)
_LAUNCHED: Final = r"ProgramArguments\s*</key>\s*<array>(?:\s*<string>[^<]{0,80}</string>){0,3}?\s*<string>[^<]{0,120}?"


@dataclass(frozen=True)
class Handed:
    """`name` is fetched by the file `by` and started `at` a place; `known` when its address is nobody else's."""

    at: Location
    shown: str
    name: str
    by: str
    known: bool


@dataclass(frozen=True)
class _Saved:
    """A file, a folder that was cloned, or a package: what it is called, by what, and where it is fetched from."""

    name: str
    kind: str
    url: str
    by: str
    at: int

    def later(self) -> re.Pattern[str]:
        """What starts it without being asked."""
        name = re.escape(self.name)
        if self.kind == "package":
            name = "[-_]".join(map(re.escape, re.split(r"[-_]", self.name)))
            return re.compile(rf"{_LATER}{_BEFORE}(?:{_INTERPRETER})?{name}(?![\w/.])", re.MULTILINE)
        end = r"/[^\s\"'`|;&<>)]+" if self.kind == "folder" else r"(?![\w/-]|\.\w)"
        path = rf"{_FOLDER}{name}{end}"
        launched = rf"{_LAUNCHED}(?<![\w.-]){name}{'/[^<]+' if self.kind == 'folder' else ''}</string>"
        direct = path if self.kind == "folder" else rf"{_FOLDER}(?<=[/\\]){name}{end}"
        return re.compile(rf"{_LATER}{_BEFORE}(?:{_INTERPRETER}[\"']?{path}|{direct})|{launched}", re.MULTILINE)

    def called(self) -> re.Pattern[str]:
        """What starts such a file at once, in a program of any language."""
        path = rf"{_FOLDER}{re.escape(self.name)}(?![\w/-]|\.\w)"
        return re.compile(rf"{_CALLED}[\"']{path}[\"']")

    def now(self) -> re.Pattern[str]:
        """What starts such a file at once, in a script of a shell or a page."""
        path = rf"{_FOLDER}{re.escape(self.name)}(?![\w/-]|\.\w)"
        direct = rf"{_FOLDER}(?<=[/\\]){re.escape(self.name)}(?![\w/-]|\.\w)"
        starts = rf"{_INTERPRETER}[\"']?{path}" + ("" if _is_data(self.name) else f"|{direct}")
        return re.compile(rf"{_NOW}{_BEFORE}(?:{starts})", re.MULTILINE)


def handed_over(tree: SourceTree) -> Iterator[Handed]:
    """Every file that some place of the tree fetches and that another one starts, each once, and a known one last."""
    texts = {file.path: _spelled(file) for file in tree.files if file.text is not None and len(file.text) < _LONGEST}
    saved: dict[tuple[str, ...], _Saved] = {}
    for each in (one for path, text in texts.items() for one in _saved(path, text, tree)):
        saved.setdefault((each.name, each.kind, each.url, each.by), each)
    naming = _naming(texts) if saved else {}
    for each in islice(saved.values(), _MOST):
        places = (
            _handed(each, path, texts[path], found, tree)
            for path in naming.get(_plain(each.name), ())
            for found in _starts(each, path, texts[path], tree)
        )
        found = list(islice(places, _MOST))
        yield from sorted(found, key=lambda one: one.known)[:1]


def _naming(texts: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """By each word of the files the paths of those that have it."""
    found: dict[str, list[str]] = {}
    for path, text in texts.items():
        for word in set(map(_plain, _WORDS.findall(text))):
            found.setdefault(word, []).append(path)
    return found


def _plain(name: str) -> str:
    return name.replace("_", "-").strip(".-")


def _handed(saved: _Saved, path: str, text: str, found: re.Match[str], tree: SourceTree) -> Handed:
    line = text.count("\n", 0, found.end() - 1) + 1
    shown = text.split("\n")[line - 1].strip()
    urls = saved.url.split(" ")
    known = all(urls) and all(map(is_installer, urls))
    return Handed(Location(path, line), shown, saved.name, saved.by, known or _is_own(saved, path, found, tree))


def _spelled(file: SourceFile) -> str:
    text = (file.text or "").replace("\\\n", "  ")
    shell = [segment for segment in code_of(file) if segment.context is Context.SHELL and segment.text == file.text]
    return spelled_out(shell[0]).replace("\\\n", "  ") if shell else text


def _saved(path: str, text: str, tree: SourceTree) -> Iterator[_Saved]:
    """What a file fetches: by commands, wherever they stand, and by calls of a program in another language."""
    if _FETCHED.search(text):
        yield from _by_commands(path, text)
    if all(each.context is Context.SHELL for each in code_of(tree.texts()[path])):
        return
    for start, told in saves(text):
        if name := _program(told, text, start):
            yield _Saved(name, "file", " ".join(_ADDRESS.findall(text)), path, start)


def _by_commands(path: str, text: str) -> Iterator[_Saved]:
    for found in (each for pattern in _SAVED for each in pattern.finditer(text)):
        told = found["to"].rstrip(".,)").replace("\\", "/")
        name = _told(told, text).rpartition("/")[2]
        line = text[text.rfind("\n", 0, found.start()) + 1 : (text.find("\n", found.end()) + 1 or len(text))]
        urls = " ".join(_ADDRESS.findall(line))
        if "://" not in told and "/dev/" not in told and _NAME.search(name):
            yield _Saved(name, "file", urls, path, found.start())
    for found in _CLONED.finditer(text):
        name = (found["to"] or found["repo"]).rstrip("/").rpartition("/")[2]
        theirs = not re.search(r"(?i)your|[<{$]", found["url"])
        if theirs and _NAME.search(name) and name.strip("."):
            yield _Saved(name, "folder", found["url"], path, found.start())
    for found in _UNPACKED.finditer(text) if re.search(r"\b(?:curl|wget|iwr|Invoke-WebRequest)\b", text) else ():
        name = found["to"].rstrip("/").rpartition("/")[2]
        if _NAME.search(name) and name.strip(".") and name not in _OF_ALL:
            yield _Saved(name, "folder", " ".join(_ADDRESS.findall(text)), path, found.start())
    for found in chain(_INSTALLED.finditer(text), _BY_OWNER.finditer(text)):
        yield _Saved(found["repo"], "package", found["url"], path, found.start())


def _program(told: str, text: str, at: int) -> str:
    """The name of a program's file that `told` is, that the variable `told` is made of, or that its line spells."""
    line = text[text.rfind("\n", 0, at) + 1 : (text.find("\n", at) + 1 or len(text))]
    made = re.findall(rf"(?m)^.*\b{re.escape(told)}[ \t]*=(?!=).*$", text) if told.isidentifier() else []
    found = [match["name"] for each in (f"'{told}'", *made, line) for match in _PROGRAM.finditer(each)]
    return found[0] if found else ""


def _told(name: str, text: str) -> str:
    """The value of a variable that tells where something is saved."""
    found = re.fullmatch(r"\$\{?(\w{1,40})\}?", name)
    value = re.search(rf"(?m)\b{found[1]}[ \t]*=[ \t]*[\"']?([^\s\"';]{{2,160}})", text) if found else None
    return value[1] if value else name


def _starts(saved: _Saved, path: str, text: str, tree: SourceTree) -> Iterator[re.Match[str]]:
    """Where `text` starts what was saved: later, or at once in another block or file."""
    page = path.lower().endswith(_PAGES)
    code = code_of(tree.texts()[path]) if saved.kind == "file" else ()
    plain = page or any(each.context in {Context.SHELL, Context.POWERSHELL} for each in code)
    later = saved.later()
    at_once = saved.now() if saved.kind == "file" and plain else saved.called() if code else None
    for named in islice(re.finditer(re.escape(saved.name), text), _MOST):
        line, end = text.rfind("\n", 0, named.start()) + 1, named.end() + _BEHIND
        if found := later.search(text, max(0, min(line, named.start() - _ABOVE)), end):
            yield found
            continue
        found = at_once.search(text, line, end) if at_once is not None else None
        if found is not None and _is_apart(saved, path, text, found) and not (page and _is_mentioned(text, found)):
            yield found


def _is_apart(saved: _Saved, path: str, text: str, found: re.Match[str]) -> bool:
    """True in another file, and behind the block of a page that saves it."""
    if path != saved.by:
        return True
    if not path.lower().endswith(_PAGES):
        return False
    between = text[saved.at : found.end()]
    if found[0].startswith("`") and "\n" in between:  # a step of its own
        return True
    return re.search(r"(?m)^[ \t>]*(?:```|~~~)", between) is not None


def _is_mentioned(text: str, found: re.Match[str]) -> bool:
    """True for an address, for what a sentence tells not to do, and for inline code that it does not tell to run."""
    before, after = text[: found.start()].rpartition("\n")[2], text[found.end() :].partition("\n")[0]
    if "://" in found[0] or found[0].startswith("(") or is_said_not(before, after):
        return True
    return found[0].startswith("`") and not is_told_to_run(text, found.start(), found.end())


def _is_data(name: str) -> bool:
    return name.lower().endswith((".md", ".json", ".txt", ".yaml", ".yml", ".csv", ".html", ".xml", ".toml"))


def _is_own(saved: _Saved, path: str, found: re.Match[str], tree: SourceTree) -> bool:
    """True for an address or a repository of the tool's own name, and for a clone of the tool itself.

    A server of a clone that a page describes is set up by a person, as any program of a clone is.
    """
    names = {parse_frontmatter(file.text or "").name for file in tree.files if file.path.lower() == "skill.md"}
    own = frozenset(product(name) for name in names) - {""}
    if saved.kind == "file":
        return all(is_own_address(url, own) or is_own_repository(url, own) for url in saved.url.split(" "))
    started = found[0]
    if (path.lower().endswith(_PAGES) and _is_server(found)) or (saved.url.rpartition("/")[2].lower() in names):
        return True
    inside = re.search(rf"(?<![\w.-]){re.escape(saved.name)}/([^\s\"'`|;&<>)\\]+)", started)
    return inside is not None and any(each.startswith(inside[1]) for each in tree.texts())


def _is_server(found: re.Match[str]) -> bool:
    """True for a program that an entry of a list of servers names, as its command or among its arguments."""
    if re.search(r"[\"']args[\"']", found[0]):
        return True
    before = found.string[max(0, found.start() - 200) : found.start()]
    return found[0].startswith('"command"') and _SERVER.search(before) is not None
