"""Judges what a shell command touches: secrets, the network, files that run later, and what it destroys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.network import Host
from skillkeep.auditor.engines.shell.belongings import WHOLE, Belongings
from skillkeep.auditor.engines.shell.changing import Changing
from skillkeep.auditor.engines.shell.connecting import Connecting, first_url
from skillkeep.auditor.engines.shell.evaluate import Known
from skillkeep.auditor.engines.shell.lookup import lookup
from skillkeep.auditor.engines.shell.model import Command, Word
from skillkeep.auditor.engines.shell.probing import only_probes
from skillkeep.auditor.engines.shell.publishing import Publishing
from skillkeep.auditor.engines.shell.site import Call, ShellSite
from skillkeep.auditor.engines.shell.taking import Taking
from skillkeep.auditor.engines.shell.touching import Touching, is_network_device
from skillkeep.auditor.engines.tables import secrets, subject_of

__all__ = ["Reach"]

_NOTHING: Final[frozenset[str]] = frozenset()
_ORIGINS: Final = frozenset({"download", "decoded"})
_DECODING: Final = compiled(r"\bdecode_base64\b|\bunpack\b")
_FILES: Final = compiled(r"[\s:=,]+|(?:^|(?<=\s))-r")  # ``-r./tool.js``, ``-javaagent:tool.jar``
_OUT: Final = ("-out", "-o", "--output")
_EXPORTED: Final = compiled(
    r"\b(?:export|declare|typeset|readonly|local)\b(?:\\\n|[^\n]){0,200}\bENV\b|\bset\b[^\n]{0,40}(?:-\w*a|allexport)"
)
_DUMPING: Final = frozenset({"-p", "-x", "-xp", "-px", "-e", "-v", "-0", "--null"})


class Reach:
    """Judges one call at a time, then what pipelines and redirections do."""

    def __init__(self, site: ShellSite, table: dict[str, Any]) -> None:
        self._site = site
        self._touching = Touching(site, table)
        self._connecting = Connecting(site, table)
        self._publishing = Publishing(site)
        self._taking = Taking(site, table)
        self._changing = Changing(site, table)
        self._belongings = Belongings(site, table)
        self._dumps = lookup().dumps
        self._decoders: dict[str, list[str]] = table["decoders"]
        self._preloads = lookup().preloads
        self._passing = lookup().passing

    def judge(self, call: Call, labels: frozenset[str], fed: Known | None = None) -> frozenset[str]:
        """Judge `call` and what flows into it (`labels`, the text `fed`); the labels it adds to what it prints."""
        added = self._touching.judge(call) | self._belongings.taken(call)
        name = call.name
        if name in self._dumps and self._dumped(call):
            added |= {"environment"}
        if (name in self._decoders and self._decodes(call)) or (name == "perl" and _decodes_in_words(call)):
            added |= {"decoded"}
            for file, word in _written(call):
                self._site.files.filled(self._site.name(file, word), frozenset({"decoded"}))
        program = self._connecting.program(call)
        if name == "kubectl" and call.operands[:2] == ["config", "view"] and call.has("--raw"):
            added |= {"secret:what kubectl shows of its login"}
        own = frozenset(label for label in added if label.startswith(("secret:", WHOLE)))
        published, host = self._publishing.judge(call, own, labels | added)
        if program is not None:
            added |= self._publishing.of_files(call) | published
        elif published:
            self._connecting.sent(call, published, [Host(host)])
        if program is not None:
            added |= self._connecting.judge(call, program, labels | added, fed)
        elif self._site.files.labels:
            named = zip(call.arguments, call.words, strict=False)
            added |= _NOTHING.union(*(self._site.files.of(self._site.name(text, word)) for text, word in named))
        if self._taking.prints(call):
            added |= {"download"}
        for file, source in self._taking.files(call):
            self._site.files.downloaded(file, source)
        if (shown := self._taking.folder(call)) is not None:
            self._site.files.unpacked[shown[0]] = shown[1]
        self._changing.judge(call, labels | added)
        return added - own if call.has("--kubeconfig") and "config" not in call.operands else added

    def pipeline(self, calls: list[Call]) -> None:
        """Judge a pipeline as a whole."""
        self._connecting.pipeline(calls)

    def recipe(self, command: Command) -> None:
        """``RUN <<EOF`` of a Dockerfile: a script of its own."""
        if command.heredoc is not None and command.words and command.words[0].literal == "RUN":
            self._site.derive(self._site.scope.text(command.heredoc), Context.SHELL, command, "RUN")

    def preloaded(self, command: Command, name: str, value: str, labels: frozenset[str]) -> None:
        """A library or start-up file that every program started from here on takes in."""
        if name not in self._preloads or (name == "ENV" and not self._is_handed_on(command)):
            return
        self._site.made.run(value, Context.SHELL)
        filled = any(each.startswith(self._passing) or self._site.files.of(each) for each in _FILES.split(value))
        if filled or not labels.isdisjoint(_ORIGINS):
            self._site.report("code-persistence", command, f"{name} makes every program run {value[:80]}")

    def _is_handed_on(self, command: Command) -> bool:
        """Whether ``ENV=…``, which is a common name in scripts, is more than a variable of this script."""
        return bool(command.words) or _EXPORTED.search(self._site.segment.text) is not None

    def redirects(self, command: Command, call: Call | None, flowing: frozenset[str]) -> frozenset[str]:
        """Judge where a command that prints `flowing` reads from and writes to; the labels of what it reads."""
        labels = _NOTHING
        for operator, target in command.redirects:
            text = self._site.scope.text(target)
            if is_network_device(text) and only_probes(command, self._site.segment.text):
                self._site.report("code-network", command, "a redirection asks whether a port answers")
            elif is_network_device(text):
                self._site.report("shell-reverse-shell", command, "a redirection opens a network connection")
            elif operator == "<":
                labels |= self._input(command, target, text)
            elif ">" in operator and not operator.endswith("&"):
                for each in self._site.scope.each(target):
                    self._changing.written(command, target, each)
                self._site.files.filled(
                    self._site.name(text, target), flowing, first_url(call) if call is not None else ""
                )
        return labels

    def inputs(self, command: Command) -> frozenset[str]:
        """The labels of the files that a command reads from by redirections."""
        read = [target for operator, target in command.redirects if operator == "<"]
        return _NOTHING.union(*(self._input(command, target, self._site.scope.text(target)) for target in read))

    def _input(self, command: Command, target: Word, text: str) -> frozenset[str]:
        labels = _NOTHING
        if (what := self._touching.path(text)) is not None:
            self._site.report(
                "code-credential-file", command, f"reads {what}", subject=subject_of(what),
                severity=secrets().reading(what),
            )  # fmt: skip
            labels |= {f"secret:{what}"}
        name = self._site.name(text, target)
        return labels | self._site.files.of(name) | self._site.files.private.get(name.removeprefix("./"), _NOTHING)

    @staticmethod
    def _dumped(call: Call) -> bool:
        if call.name in {"env", "printenv"}:
            return not call.operands
        first = call.command.words[0].start if call.command.words else 0
        if any(value.start > first for _, value, _ in call.command.assignments) and not call.has("-p"):
            return False  # ``declare -x NAME=value``
        if not call.arguments:
            return call.name != "compgen"
        return call.name != "set" and call.arguments[0] in _DUMPING  # ``set -e`` prints nothing

    def _decodes(self, call: Call) -> bool:
        options = self._decoders[call.name]
        if call.name == "tr":
            return any(each in argument.lower() for argument in call.arguments for each in options)
        return not options or any(argument in options for argument in call.arguments)


def _written(call: Call) -> Iterator[tuple[str, Word]]:
    """The file that an option has a decoder write: ``openssl enc -d … -out file``."""
    for option in _OUT:
        if (at := call.after(option)) is not None and at < len(call.words):
            yield call.arguments[at], call.words[at]


def _decodes_in_words(call: Call) -> bool:
    """``perl -ne 'print decode_base64($_)'``: a program in the command that decodes."""
    return any(_DECODING.search(item) for item in call.arguments)
