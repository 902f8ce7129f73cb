"""Judges what a shell command starts that the script has fetched, decoded, unpacked or written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.installers import is_installer
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.network import host_of
from skillkeep.auditor.engines.shell.building import build
from skillkeep.auditor.engines.shell.calls import begins_behind, carried
from skillkeep.auditor.engines.shell.evaluate import HOLE
from skillkeep.auditor.engines.shell.model import Command, Word
from skillkeep.auditor.engines.shell.site import Call, ShellSite
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.interface import Severity

__all__ = ["Running"]

_ADDRESS: Final = compiled(r"https?://[^\s]{4}")
_ELSEWHERE: Final = compiled(  # ``curl … | REPO=other/zsh sh``: the installer takes what it installs from there
    r"\b[A-Z][A-Z0-9_]{0,60}(?<=INDEX|_REPO|EMOTE|IRROR|ISTRY|T_URL|D_URL)=[\"']?[\w.-]*[:/]|\bREPO=[\"']?[\w.-]*/"
)
_ELLIPSES: Final = frozenset({"…", "..."})  # prose about `curl … | sh` fetches nothing
_MODULE: Final = compiled(r"-[A-Za-z]*m")
_OPENED: Final = compiled(r"\.(?:app|dmg|pkg|mpkg|command|terminal|scpt|jar|exe|msi|desktop|appimage|wasm|vsix)/?$")
_READ_IN: Final = compiled(  # and run, by code that is given to Python
    r"\bexec\(\s*(?:compile\(\s*)?open\(\s*(?P<mark>['\"])(?P<name>(?:[\w.~-]*/)*[\w-]+\.py)(?P=mark)\s*(?:,[^()]*)?\)"
)
_IMPORTED: Final = compiled(r"(?:^|[;\n])[ \t]*(?:import|from)[ \t]+(?P<name>\w[\w.]*)")
_LOADING: Final = {  # options that name what an interpreter takes in, and what such files end with
    "lua": {"-l": ".lua"}, "luajit": {"-l": ".lua"}, "perl": {"-M": ".pm", "-m": ".pm"},
    "php": {"auto_prepend_file=": "", "auto_append_file=": ""}, "ruby": {"-r": ".rb"},
}  # fmt: skip
_STARTING: Final = compiled(  # settings that name commands, and what an editor takes in
    r"\.claude/(?:settings[\w.]*\.json|hooks/)|\.(?:vscode|cursor)/(?:tasks|settings|launch|mcp)\.json|(?:^|/)\.mcp\.json$"
    r"|\.git/config$|\.gitconfig$|\.(?:config/nvim|vim)/[^\n]{1,80}\.(?:lua|vim)$|\.(?:vimrc|emacs|tmux\.conf)$"
)
_RUNS_LINES: Final = compiled(  # programs of awk and sed that do so
    r"^\s{0,9}s(?P<mark>[/|#,@!:])(?:(?!(?P=mark)).){0,200}(?P=mark)(?:(?!(?P=mark)).){0,200}(?P=mark)\w*e\w*\s{0,9}$|"
    r"\bsystem\s{0,20}\(\s{0,20}[$a-z]|"
    r"\$\w+\s{0,20}\|&?\s{0,20}(?:getline|\"\s{0,20}(?:/\w+)*/?(?:ba|da|z|k)?sh\b)"
)
_REWRITING: Final = frozenset(  # what they print is no longer what the vendor wrote
    {"sed", "gsed", "awk", "gawk", "mawk", "nawk", "perl", "python", "python3", "ruby", "node", "envsubst"}
)
_SYSTEM: Final = compiled(r"(?:/usr)?(?:/local)?/s?bin/?|/opt/homebrew/bin/?")  # hold more than one archive's programs
_MOST_FOLDERS: Final = 20  # of the search path
_MOST_REQUESTS: Final = 200  # the newest, among which a pipeline's own are


class Running:
    """Reports on one script what its commands start."""

    def __init__(self, site: ShellSite) -> None:
        self._site = site

    def started(self, call: Call, name: str) -> None:
        """A program by its path; a bare name means a file of the script's own only where it sets the search path."""
        if "/" in name or "$" in name:
            self._site.made.run(name, None)
            return
        for key in self._site.files.labels:
            if key.endswith(f"bin/{name}"):  # where programs are looked for
                self.run(call, key)
                return
        if "PATH" in self._site.scope.own:
            for path in self._site.made.called(name):
                self._site.made.run(path, None)
            for folder in self._site.scope.texts.get("PATH", "").split(":")[:_MOST_FOLDERS]:
                folder = folder.removeprefix(f"{HOLE}/")  # ``$PWD/bin``
                path = f"{folder.rstrip('/')}/{name}"
                if folder and HOLE not in folder and (not _SYSTEM.fullmatch(folder) or self._site.files.of(path)):
                    self.run(call, path)

    def opened(self, call: Call) -> None:
        """``open Tool.app``, ``java -jar tool.jar``: a program that was fetched is started by another one."""
        for text, word in zip(call.arguments, call.words, strict=False):
            if _OPENED.search(text.lower()):
                self.filled(call, word)

    def carried(self, call: Call, table: dict[str, Any], labels: frozenset[str], before: list[Call]) -> None:
        """``flock lock ./tool``: a program that starts another one is given a file that the script has filled."""
        for word in (*carried(call, table), *_given_files(call, table)):
            self.filled(call, word)
        for name, url in _addresses(call.name, call.arguments, table):
            host = host_of(url, HOLE)
            if not (host.local or host.shown):
                known = is_installer(url) or host.name in table["registries"]
                message = f"a program at {url[:120]} is run by {name}"
                severity = Severity.WARN if known else None
                self._site.report("shell-download-execution", call.command, message, subject=url, severity=severity)
        build(call, self._site, labels, before)
        for option, ending in _LOADING.get(call.name, {}).items() if self._site.files.labels else ():
            for previous, text in pairwise(("", *call.arguments)):
                name = text if previous == option else text.removeprefix(option) if text.startswith(option) else ""
                if name:
                    self.imported(call, name.replace("::", "/").removesuffix(ending), (ending,))

    def unknown(
        self,
        call: Call,
        labels: frozenset[str],
        rule: str,
        message: str,
        word: Word | None = None,
        severity: Severity | None = None,
    ) -> None:
        """Report what is run and not known, by what its `labels` say of where it comes from; else by `rule`."""
        if "download" in labels:
            self.downloaded(call)
        elif "decoded" in labels:
            self._site.report("shell-decoded-execution", call.command, f"{message}, out of a decoder")
        else:
            self._site.doubt(rule, call.command, message, severity)

    def filled(self, call: Call, word: Word) -> None:
        """Run the file that `word` names, if the script has filled it from elsewhere."""
        files = self._site.files
        name = self._site.name(self._site.scope.text(word), word) if files.any else ""
        if name == "{}" and "find" in call.prefixes:  # stands for what is found
            first = call.command.words[1]
            name = f"{self._site.scope.text(first)}/{{}}"
        if files.labels or files.unpacked or files.hidden:
            self.run(call, name)
        if (key := files.same(name.removeprefix("./"), files.cut) if files.cut else None) is not None:
            message = f"{name[:80]} holds {files.cut[key][:120]}, and is run"
            self._site.report("shell-dynamic-command", call.command, message)

    def given(self, call: Call, word: Word, option: str) -> None:
        """The first thing an interpreter is given: a file, or behind ``-m`` a module of the folder it starts in."""
        self.filled(call, word)
        if call.name.startswith("python") and _MODULE.fullmatch(option):
            path = self._site.name(self._site.scope.text(word), word).replace(".", "/")
            self.imported(call, path, (".py", "/__main__.py", "/__init__.py"))

    def imported(self, call: Call, path: str, endings: tuple[str, ...]) -> None:
        """Run the module called `path`, which lies in whatever folder the program looks into."""
        names = tuple(f"{path}{ending}" for ending in endings)
        for key in self._site.files.labels:
            if key.endswith(names) and key.removesuffix(next(filter(key.endswith, names)))[-1:] in {"", "/"}:
                self.run(call, key)
                return

    def installed(self, call: Call) -> None:
        """A package, whose scripts run as root, that came from an address without a name."""
        for text in call.operands:
            key = self._site.files.find(text)
            if key is not None and host_of(self._site.files.urls.get(key, ""), HOLE).bare:
                self.downloaded(call, file=text)

    def read_in(self, call: Call, code: str) -> None:
        """``python3 -c "exec(open('work/fill.py').read())"`` runs that file."""
        for found in _IMPORTED.finditer(code) if self._site.files.labels else ():
            self.imported(call, found["name"].replace(".", "/"), (".py", "/__init__.py"))
        for found in _READ_IN.finditer(code):
            self.run(call, found["name"])
            self._site.made.run(found["name"], Context.PYTHON)

    def run(self, call: Call, name: str) -> None:
        """Run the file called `name`: report it where the script has decoded, fetched or unpacked it."""
        labels = self._site.files.of(name)
        if "decoded" in labels or self._site.files.hidden_in(name):
            message = f"{name[:80]} holds what a decoder printed, and is run"
            self._site.report("shell-decoded-execution", call.command, message)
        elif labels:
            self.downloaded(call, file=name)
        elif (url := self._site.files.unpacked_in(name)) is not None:
            shown = any(step.startswith(("fence", "inline")) for step in self._site.segment.provenance)
            severity = Severity.WARN if shown or is_installer(url) else None
            message = f"{name[:80]} comes out of an archive{url and f' from {url[:120]}'}, and is run"
            self._site.report("shell-download-execution", call.command, message, subject=url, severity=severity)

    def planted(self) -> None:
        """Report what was fetched into a file that runs by itself: ``curl address >> ~/.bashrc``."""
        for key, labels in self._site.files.labels.items():
            meaning = secrets().persistence(key) if "download" in labels else None
            starts = "download" in labels and _STARTING.search(key) is not None
            if not starts and not (meaning is not None and meaning.runs):
                continue
            what = meaning.what if meaning is not None else "settings that start programs"
            urls = [url for url in self._site.files.urls.get(key, "").split(" ") if url]
            asking = [each for each in self._site.requests if not urls or not set(urls).isdisjoint(each[2])]
            severity = Severity.WARN if urls and all(map(is_installer, urls)) else None
            message = f"a download{f' from {urls[0][:120]}' if urls else ''} becomes {what}: {key[:80]}"
            for first, last, _ in asking[-1:]:
                subject = " ".join(urls)
                span = Command(first, last)
                self._site.report("shell-download-execution", span, message, subject=subject, severity=severity)

    def lines(self, call: Call, labels: frozenset[str], before: list[Call]) -> None:
        """``curl address | awk '{system($0)}'``: awk, and sed's flag ``e``, run each line of what they are fed."""
        if "download" in labels and any(map(_RUNS_LINES.search, call.arguments)):
            self.downloaded(call, before)

    def _turned(self, span: Command) -> bool:
        """True where a setting has an installer take what it installs from elsewhere."""
        return _ELSEWHERE.search(self._site.segment.text, span.start, span.end) is not None

    def downloaded(self, call: Call, before: list[Call] | None = None, file: str = "") -> None:
        """Report a download that is run; a vendor's documented installer needs eyes, not a block."""
        start = before[0].command.start if before else call.command.start
        span = Command(start, max(call.command.end, start))
        urls: list[str] = []
        for first, last, asked in reversed(self._site.requests[-_MOST_REQUESTS:]):
            urls[:0] = asked if start <= first and last <= span.end else ()
        files = [key for name in (file, *call.arguments) if (key := self._site.files.find(name)) is not None]
        urls += [url for name in files for url in self._site.files.urls.get(name, "").split(" ") if url]
        urls += [HOLE for each in before or () if each.name in _REWRITING]
        named = {word for each in before or () for word in each.arguments if not word.startswith("-")}
        if named and not urls and named <= _ELLIPSES:
            return
        known = bool(urls) and all(map(is_installer, urls)) and not self._turned(span)
        where = f" from {urls[0].replace(HOLE, '…')[:120]}" if urls else ""
        message = f"a download{where} is run by {call.name}"
        severity = Severity.WARN if known else None
        if not any(url.strip(HOLE) for url in urls):
            self._site.doubt("shell-download-execution", span, message, severity)
            return
        self._site.report("shell-download-execution", span, message, subject=" ".join(urls), severity=severity)


def _addresses(name: str, arguments: Sequence[str], table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The address of the program that `name` fetches and runs, in one step: ``deno run https://…``, ``npx zx https://…``."""
    how: dict[str, Any] | None = table["addressed"].get(name)
    if how is None:
        return
    skipped = False
    for at, text in enumerate(arguments):
        if skipped or text.startswith("-") or text in how.get("behind", ()):
            skipped = not skipped and text in how.get("valued", ())
        elif _ADDRESS.match(text):
            yield name, text
            return
        else:
            yield from _addresses(text.partition("@")[0], arguments[at + 1 :], table) if "runs" in how else ()
            return


def _given_files(call: Call, table: dict[str, Any]) -> Iterator[Word]:
    """The files that a program runs which it is given: ``go run tool.go``."""
    how: dict[str, list[str]] | None = table["running_files"].get(call.name)
    begins = begins_behind(call, how.get("behind")) if how is not None else None
    if begins is None:
        return
    for text, word in zip(call.arguments[begins:], call.words[begins:], strict=False):
        if not text.startswith(("-", "+")):
            yield word
