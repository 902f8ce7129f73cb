"""Judges what a shell command executes: pipes into interpreters, eval, substituted commands, code options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.shell.appended import appended
from skillkeep.auditor.engines.shell.archives import UNPACKING, unpack
from skillkeep.auditor.engines.shell.calls import program_name
from skillkeep.auditor.engines.shell.commanding import commands_in
from skillkeep.auditor.engines.shell.evaluate import HOLE, Known
from skillkeep.auditor.engines.shell.interpreters import LEADING, code_option, interpreter_of, is_fed, scripts_of
from skillkeep.auditor.engines.shell.lists import holds_download, is_run_by_xargs, listed_in
from skillkeep.auditor.engines.shell.lookup import lookup
from skillkeep.auditor.engines.shell.made import BLANK
from skillkeep.auditor.engines.shell.model import Script, Substitution, Variable, Word
from skillkeep.auditor.engines.shell.outputs import data_files, is_in_prose, is_own_public_key, is_setting, is_sum
from skillkeep.auditor.engines.shell.running import Running
from skillkeep.auditor.engines.shell.settings import Settings
from skillkeep.auditor.engines.shell.site import FED_PUBLIC_KEY, Call, ShellSite
from skillkeep.auditor.interface import Severity

__all__ = ["Execution"]

_PLACEHOLDERS: Final = compiled(r"`(?:[\w./-]*<[A-Za-z][\w .-]{0,60}>)+[\w./-]*`")
_COMMAND_LIKE: Final = compiled(  # and no name or remark between backticks, as prose has them
    r"`[ \t]*(?:cat|echo|printf|base\d\d|xxd|curl|wget|tr|rev|sed|awk|head|tail|strings|dd|openssl|gunzip|zcat"
    r"|python\d?|perl|ruby|node|php|\.{0,2}/|~/)|\||://|[ \t]--?\w|\$[\w{(]|[<>]"
)

_CONTEXTS: Final[dict[str, Context | None]] = {
    "shell": Context.SHELL,
    "python": Context.PYTHON,
    "javascript": Context.JAVASCRIPT,
    "powershell": Context.POWERSHELL,
    "ruby": Context.RUBY,
    "text": Context.TEXT,
}
_WRITTEN_DOWN: Final = frozenset({Context.PYTHON, Context.JAVASCRIPT})  # its own engine sees what runs its input
_BY_NAME: Final = frozenset({Context.SHELL, Context.POWERSHELL})  # a file's name starts it
_KEYWORDS: Final = frozenset({"case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "then", "while"})
_STANDARD_INPUT: Final = frozenset({"-", "/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"})
_ORIGINS: Final = frozenset({"download", "decoded"})
_INSTALLING: Final = frozenset({"dpkg", "rpm", "installer", "msiexec", "apt", "apt-get", "dnf", "yum"})
_UNKNOWN: Final = "NOT_KNOWN"  # stands for what is not known in a text handed back
_PROGRAM: Final = compiled(r"[^\W_][\w.+-]*|[\w+-][\w.+-]*[^\W_][\w.+-]*")
_LONGEST_NAME: Final = 255  # of a file; the pattern is quadratic
_COMMANDS: Final = compiled(r"(?m)^[^\w\n]*\w[^\n]*[|;&]|\$\(|`")
_SEPARATORS: Final = compiled(r"[\s;|&()\"'`]+")
_LEFT_OUT: Final = compiled(r"\$\(cat[ \t]*<<-?[ \t]*(['\"]?)(\w{1,20})\1[ \t\n]*(?:\.\.\.|…)[ \t\n]*\2[ \t\n]*\)")
_SHOWN_FILE: Final = compiled(r"\$\(cat (?:file|[\w-]{1,40}\.(?:json|ya?ml|toml|md|csv))\)")
_RESPELLING: Final = frozenset({"echo", "printf", "tr", "cut", "wc", "basename", "dirname", "date"})
_NO_FILE: Final = compiled(r"\$\(cat (?:\.\.\.|…|<[\w -]{1,30}>)\)")  # stands for the name of one


class Execution:
    """Judges one call at a time; `inner` judges a nested script and gives its labels."""

    def __init__(self, site: ShellSite, table: dict[str, Any], inner: Callable[[Script], frozenset[str]]) -> None:
        self._site = site
        self._table = table
        self._inner = inner
        self._builtins = lookup().builtins
        self._settings = Settings(site, table)
        self._running = Running(site)

    def judge(self, call: Call, labels: frozenset[str], before: list[Call], printed: Known | None) -> None:
        """Judge `call`, fed by the calls `before` it, which print `printed` when that is known."""
        self._program(call)
        interpreter = interpreter_of(call, self._site, self._table)
        if "xargs" in call.prefixes and self._listed(
            call, interpreter, labels | listed_in(self._site, call), before, printed
        ):
            return
        self._commands(call, labels)
        self._running.carried(call, self._table, labels, before)
        if call.name in self._table["programmed"]:
            self._programmed(call, self._table["programmed"][call.name], labels, before, printed)
        if call.name == "eval":
            self._eval(call, labels)
        elif interpreter is not None:
            self._interpret(call, interpreter, labels, before, printed)
        elif call.name in self._table["sources"]:
            self._source(call, labels, before)
        elif call.name == "ssh":
            for text in call.arguments:
                if _COMMANDS.search(text):
                    via = FED_PUBLIC_KEY if is_own_public_key(before) else "ssh"
                    self._site.derive(text, Context.SHELL, call.command, via)
        elif call.program is not None and not self._handles(call, labels, before):
            text = self._site.scope.text(call.program)
            if call.prefixes or (text not in self._builtins and text not in _KEYWORDS):
                self._running.filled(call, call.program)
            self._running.started(call, self._site.name(text, call.program))
            self._appended(call)

    def _commands(self, call: Call, labels: frozenset[str]) -> None:
        for text in commands_in(call, self._site.scope):
            if text.strip(BLANK):
                self._site.derive(text, Context.SHELL, call.command, "an argument")
                self._names(text)
            else:
                self._running.unknown(call, labels, "shell-dynamic-command", f"{call.name} runs an unknown command")

    def _listed(
        self,
        call: Call,
        interpreter: dict[str, Any] | None,
        labels: frozenset[str],
        before: list[Call],
        printed: Known | None,
    ) -> bool:
        """True where xargs makes the words it takes in a program, and these are judged."""
        if not is_run_by_xargs(call, interpreter is not None):
            return False
        if "download" in labels:
            self._running.downloaded(call, before)
            return True
        if printed is not None:
            context = Context.SHELL if interpreter is None else _CONTEXTS.get(interpreter["language"])
            self._hand_on(printed.text, context, call, "| xargs")
        return False

    def _programmed(
        self, call: Call, how: dict[str, Any], labels: frozenset[str], before: list[Call], printed: Known | None
    ) -> None:
        """``make -f file``, ``awk -f -``: the program is a file that an option names, or what is piped in."""
        context = _CONTEXTS[how["language"]]
        named = False
        for option, text, word in zip(("", *call.arguments), call.arguments, call.words, strict=False):
            value = text
            if option not in how["options"]:
                name, _, value = text.partition("=")
                glued = next((each for each in how["options"] if len(each) == 2 and text.startswith(each)), "")
                value = text[2:] if glued else value if name in how["options"] else ""
            if not value:
                continue
            named = True
            if value in _STANDARD_INPUT and (fed := call.command.heredoc) is not None:
                self._code(call, fed, self._site.scope.text(fed), context, labels)
            elif value in _STANDARD_INPUT and before:
                self._piped(call, context, labels, before, printed)
            elif isinstance(word.only, Substitution):
                self._fed_by(call, word.only, word)
            else:
                self._running.filled(call, word)
                self._site.made.run(self._site.name(value, word), context)
        if not named:
            self._running.lines(call, labels, before)
            for name in how.get("own", ()):
                self._running.run(call, name)
                self._site.made.run(name, context)

    def _names(self, text: str) -> None:
        """A command in a text of its own starts a file that this script has written."""
        words = _SEPARATORS.split(text)
        for before, name in zip(("", *words), words, strict=False):
            if self._site.made.text(name) is not None:
                interpreter = self._table["interpreters"].get(program_name(before))
                self._site.made.run(name, _CONTEXTS.get(interpreter["language"]) if interpreter else None)

    def _hand_on(self, text: str, context: Context | None, call: Call, via: str) -> None:
        """Have a program audited; one of a language that is told by nothing else is read as what it looks like, too."""
        self._site.derive(text, context, call.command, via)
        if context is Context.TEXT:
            self._site.derive(text, None, call.command, via)
        elif context is Context.SHELL:
            self._names(text)

    def _handles(self, call: Call, labels: frozenset[str], before: list[Call]) -> bool:
        """True for a program that installs, unpacks or opens what is fetched, which is judged."""
        if call.name in _INSTALLING:
            self._running.installed(call)
        elif call.name in UNPACKING:
            unpack(call, labels, before, self._site)
        elif call.name in self._table["openers"]:
            self._running.opened(call)
        else:
            return False
        return True

    def _appended(self, call: Call) -> None:
        for text in appended(call):
            self._site.derive(text, Context.SHELL, call.command, "an argument")

    def finish(self) -> None:
        """Judge what the whole script has written."""
        self._site.made.finish()
        self._running.planted()

    def fed_function(self, call: Call, labels: frozenset[str], before: list[Call]) -> None:
        """A function of the script that is fed something, where the script holds a shell that runs its input."""
        unread = labels & {"download", "decoded"} or any(map(data_files, before))
        if before and self._site.bare_interpreter and unread:
            self._running.unknown(call, labels, "shell-dynamic-command", f"{call.name} runs what it is fed")

    def _program(self, call: Call) -> None:
        """What is run when the program's own name is not written down."""
        first = call.program
        if first is None or call.prefixes == ("find",):
            return
        if first.literal is None and not call.prefixes and isinstance(first.only, Substitution):
            self._substituted(call, first, first.only)
        elif first.literal is None and isinstance(first.only, Variable):
            whole = first.only.name.partition("[")[0]
            self._site.named_by(whole, known=HOLE not in call.name)
            held = self._site.scope.labels.get(whole, frozenset()) & {"download", "decoded"}
            if held and not call.prefixes:
                self._running.unknown(call, held, "shell-dynamic-command", f"what ${first.only.name} holds is run")
            elif first.only.name == _UNKNOWN:
                self._site.report("shell-dynamic-command", call.command, "the command is made at run time")
        name = call.name
        known = name in self._site.programs or name in self._builtins or name in self._site.functions
        if not known and len(name) <= _LONGEST_NAME and _PROGRAM.fullmatch(name):
            self._site.programs.add(name)
            self._site.capability("binary", name, call.command)

    def _substituted(self, call: Call, first: Word, piece: Substitution) -> None:
        commands = [command for pipeline in piece.script.pipelines for command in pipeline.commands]
        names = [self._site.scope.text(command.words[0]) for command in commands if command.words]
        marked = self._site.segment.text[first.start - 1 : first.start] == "!"  # an agent's command, judged inside
        marked |= is_in_prose(self._site.segment.text, first.start)
        marked = marked or _LEFT_OUT.match(self._site.segment.text, first.start) is not None
        marked = marked or is_sum(self._site.segment.text, first.start, first.end, call.command.end)
        if marked or (names and names[0] in self._table["safe_command"]):
            return
        if len(names) == 1 and names[0].isupper() and len(commands[0].words) == 1:
            return  # ``$(CC)``: a Makefile's variable
        known = self._site.scope.output(piece.script)
        if known is not None:
            if known.decoded:
                self._site.report("shell-decoded-execution", call.command, "the name of the command is hidden")
            whole = known.text.rstrip("\n") + self._site.segment.text[first.end : call.command.end]
            self._site.derive(whole, Context.SHELL, call.command, "substitution")
            return
        said = self._site.segment.text[first.start : first.end]
        told = _COMMAND_LIKE.search(said) and not _PLACEHOLDERS.fullmatch(said)
        alone = self._site.segment.provenance[:1] == ("inline code",) and self._site.segment.text.strip() == said
        if alone and _NO_FILE.fullmatch(said):
            return
        plain = bool(_SHOWN_FILE.fullmatch(said)) or not _COMMAND_LIKE.search(f"`{said[2:]}")
        plain |= bool(names) and _RESPELLING.issuperset(names)
        shown = (alone and said[:2] == "$(" and plain) or self._site.segment.text.rfind("`") == first.start  # or stray
        severity = None if (said[:1] != "`" or told) and not shown else Severity.WARN
        said = "the output of a command is run as a command"
        self._site.report("shell-substituted-command", call.command, said, severity=severity)

    def _interpret(
        self,
        call: Call,
        interpreter: dict[str, Any],
        labels: frozenset[str],
        before: list[Call],
        printed: Known | None,
    ) -> None:
        context = _CONTEXTS.get(interpreter["language"])
        code = code_option(call, interpreter["code"])
        if code is not None:
            given = call.arguments[code]
            if given == "-" and before and context is Context.POWERSHELL:
                self._piped(call, context, labels, before, printed)
                return
            word = call.words[code] if code < len(call.words) else None
            self._code(call, word, interpreter.get("head", "") + given, context, labels)
            return
        if call.has("-EncodedCommand", "-enc", "-e") and interpreter["language"] == "powershell":
            self._site.report("shell-decoded-execution", call.command, f"{call.name} runs an encoded command")
        operands = [item for item in call.operands if item != "-"]
        reads_input = is_fed(call) or bool(interpreter.get("stdin"))
        if call.command.heredoc is not None and reads_input:
            self._code(call, call.command.heredoc, self._site.scope.text(call.command.heredoc), context, labels)
        elif reads_input and before:
            self._piped(call, context, labels, before, printed)
        else:
            self._site.bare_interpreter = self._site.bare_interpreter or reads_input
            self._script_file(call, operands, context)
            if context is Context.JAVASCRIPT:
                self._appended(call)

    def _code(self, call: Call, word: Word | None, text: str, context: Context | None, labels: frozenset[str]) -> None:
        """Text given to an interpreter to run."""
        if word is not None and word.literal == "":  # ``python -c ""`` shows where the code goes
            return
        decoded = word is not None and self._site.scope.was_decoded(word)
        if not text.strip(BLANK):
            said = f"{call.name} runs text that is made at run time"
            self._running.unknown(call, labels, "shell-dynamic-command", said)
            return
        made = word is not None and any(isinstance(piece, Substitution) for piece in word.pieces)
        reads_data = word is not None and not made and context in _WRITTEN_DOWN
        if decoded or ("decoded" in labels and not reads_data):
            self._site.report("shell-decoded-execution", call.command, f"{call.name} runs a text that was hidden")
        filled = word is not None and holds_download(self._site, word, text)
        if filled or ("download" in labels and made):
            self._running.downloaded(call)
        elif context in _BY_NAME and self._site.files.labels:
            for name in _SEPARATORS.split(text):
                self._running.run(call, name)
        if context is Context.PYTHON:
            self._running.read_in(call, text)
        self._hand_on(text, context, call, call.name)

    def _piped(
        self, call: Call, context: Context | None, labels: frozenset[str], before: list[Call], printed: Known | None
    ) -> None:
        if printed is not None:
            if printed.decoded:
                self._site.report("shell-decoded-execution", call.command, f"{call.name} runs a text that was hidden")
            self._hand_on(printed.text, context, call, f"| {call.name}")
        elif "download" in labels:
            self._running.downloaded(call, before)
        elif "decoded" in labels:
            self._site.report("shell-decoded-execution", call.command, f"a decoder's output is piped into {call.name}")
        elif before[-1].name in {"echo", "printf"}:
            message = f"text that is made at run time is piped into {call.name}"
            self._site.report("shell-dynamic-command", call.command, message)
        elif before[-1].command.heredoc is not None:
            heredoc = before[-1].command.heredoc
            self._site.derive(self._site.scope.text(heredoc), context, heredoc, f"| {call.name}")
        else:
            alone = _STANDARD_INPUT.issuperset(call.operands)  # and no script that takes data from its input
            data = next((item for each in before for item in data_files(each)), "") if alone else ""
            message = f"the output of {before[-1].name} is run by {call.name}{data and f', taken from {data[:80]}'}"
            severity = None if data else Severity.WARN
            self._site.report("shell-dynamic-command", call.command, message, severity=severity)

    def _script_file(self, call: Call, operands: list[str], context: Context | None) -> None:
        for word in call.words:
            piece = word.only
            if isinstance(piece, Substitution) and piece.process:
                self._fed_by(call, piece, word)
                return
        before = ""
        first = next((item for item in operands if item not in LEADING), None)
        for text, word in zip(call.arguments, call.words, strict=False) if first is not None else ():
            if text == first:
                self._running.given(call, word, before)
                if not before.startswith("-"):
                    break  # what follows is given to the script, whose own name may be as unknown
            before = text
        for word in scripts_of(call):
            for text in self._site.scope.each(word):
                self._site.made.run(self._site.name(text, word), context)
        for operator, target in call.command.redirects:
            if operator == "<&" and not self._site.files.handed.isdisjoint(_ORIGINS):
                message = f"{call.name} runs what an open descriptor gives"
                self._running.unknown(call, self._site.files.handed, "shell-dynamic-command", message)
            if operator == "<":
                self._running.filled(call, target)
                self._site.made.run(self._site.name(self._site.scope.text(target), target), context)
            if operator == "<" and isinstance(target.only, Substitution):
                self._fed_by(call, target.only, target)

    def _fed_by(self, call: Call, piece: Substitution, word: Word) -> None:
        """``bash <(…)``."""
        known = self._site.scope.output(piece.script)
        if known is not None:
            if known.decoded:
                self._site.report("shell-decoded-execution", call.command, f"{call.name} runs a text that was hidden")
            self._site.derive(known.text, Context.SHELL, call.command, call.name)
            return
        labels = self._inner(piece.script)
        lines = call.name in self._table["sources"] and self._settings.prints_dotenv(piece.script)
        severity = Severity.WARN if lines or self._settings.prints(piece.script, labels) else None
        message = f"{call.name} runs a command's output"
        self._running.unknown(call, labels, "shell-dynamic-command", message, word, severity)

    def _source(self, call: Call, labels: frozenset[str], before: list[Call]) -> None:
        if not call.arguments or call.arguments[0] in _STANDARD_INPUT:
            if (given := call.command.heredoc) is not None:
                self._code(call, given, self._site.scope.text(given), Context.SHELL, labels)
            elif before and before[-1].name not in self._table["safe_eval"]:
                known = len(before) == 1 and not labels and is_setting((before[0].name, *before[0].arguments))
                severity = Severity.WARN if known else None
                message = f"{call.name} runs what it is fed"
                self._running.unknown(call, labels, "shell-dynamic-command", message, severity=severity)
            return
        piece = call.words[0].only if call.words else None
        if isinstance(piece, Substitution) and piece.process:
            self._fed_by(call, piece, call.words[0])
        elif call.words:
            self._running.filled(call, call.words[0])
            self._site.made.run(self._site.name(call.arguments[0], call.words[0]), Context.SHELL)

    def _eval(self, call: Call, labels: frozenset[str]) -> None:
        text = " ".join(call.arguments)
        if self._settings.is_set_up(call) or call.arguments[:2] == ("set", "--"):
            return
        if any(self._site.scope.was_decoded(word) for word in call.words):
            self._site.report("shell-decoded-execution", call.command, "eval runs a text that was hidden")
        if text.strip(BLANK):
            self._hand_on(text, Context.SHELL, call, "eval")
        if HOLE in text:
            known = self._settings.is_printed(call, labels) or self._settings.is_weak(call, text)
            severity = Severity.WARN if known else None
            said = "eval runs text that is made at run time"
            self._running.unknown(call, labels, "shell-eval", said, severity=severity)
