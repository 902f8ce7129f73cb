"""Judges the calls and reads of one JavaScript file."""

from __future__ import annotations

import shlex
from typing import Any, Final

from skillkeep.auditor.engines.interface import Context, Emitter, Segment
from skillkeep.auditor.engines.javascript.flow import Flow, variable_of
from skillkeep.auditor.engines.javascript.reader import HOLE, Chain, Reader
from skillkeep.auditor.engines.network import Host, host_of
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.interface import Location, Severity

__all__ = ["Judge"]

_UNKNOWN_WORD: Final = '"$NOT_KNOWN"'
_LONGEST_EXCERPT: Final = 300
_KEYWORDS: Final = frozenset(
    {
        "return", "await", "of", "in", "typeof", "case", "else", "new", "void", "throw", "yield", "do", "default",
        "delete", "extends", "instanceof",
    }
)  # fmt: skip
_CALLERS: Final = frozenset({"call", "apply"})


class Judge:
    """Walks the tokens once and judges every chain that starts there."""

    def __init__(self, segment: Segment, emit: Emitter, reader: Reader, table: dict[str, Any]) -> None:
        self._segment = segment
        self._emit = emit
        self._reader = reader
        self._table = table
        self._flow = Flow(reader, table)
        self._hosts: set[str] = set()
        self._reported: set[tuple[str, int, str]] = set()
        self._covered: list[tuple[int, int]] = []

    def run(self) -> None:
        """Judge everything."""
        tokens = self._reader.tokens
        for at, kind in enumerate(tokens.kinds):
            if kind == "name" and tokens.values[at] in {"new", "await", "void", "typeof"}:
                continue  # the chain after it is judged
            literal = kind in {"string", "template", "regex"} and tokens.is_punct(at + 1, ".")
            if literal or kind == "name" or (kind == "punct" and tokens.values[at] in {"(", "["}):
                if at and (tokens.is_punct(at - 1, ".") or tokens.is_punct(at - 1, "?.")):
                    continue
                if kind == "punct" and at and self._continues(at):
                    continue
                self._chain(at, self._reader.chain(at))
        self._destructured()
        self._mentions()

    def _continues(self, at: int) -> bool:
        """True when a bracket belongs to the chain before it."""
        before, tokens = at - 1, self._reader.tokens
        if tokens.kinds[before] == "name":
            return tokens.values[before] not in _KEYWORDS
        return tokens.kinds[before] in {"string", "template"} or tokens.values[before] in {")", "]", "?."}

    def _chain(self, at: int, chain: Chain) -> None:
        for path in chain.path.split("|"):
            self._environment(path, at, chain.end)
        for paths, first, bracket in chain.calls:
            for path in paths.split("|"):
                self._call(path, first, bracket)

    def _call(self, path: str, first: int, bracket: int) -> None:
        arguments = self._reader.arguments(bracket)
        base, _, method = path.rpartition(".")
        if method in _CALLERS and (base in self._table["code"] or base in self._table["shell"]):
            path, arguments = base, arguments[1:]
        table = self._table
        if (position := table["code"].get(path)) is not None or self._is_constructor(path, base):
            self._code(path, first, bracket, self._pick(arguments, position if position is not None else -1))
        elif path in table["code_if_text"]:
            self._code_if_text(path, first, bracket, arguments)
        elif path in table["shell"]:
            self._shell(path, first, bracket, self._pick(arguments, 0))
        elif path in table["process"]:
            self._process(path, first, bracket, arguments)
        elif path in table["import"]:
            self._import(path, first, bracket, arguments)
        elif "?" in path.split(".") and path.partition(".")[0] in {
            "child_process",
            "vm",
            "globalThis",
            "window",
            "global",
        }:
            self._report("javascript-hidden-execution", first, bracket, "a function chosen at run time is called")
        self._handed(path, arguments)
        self._reaches(path, first, bracket, arguments)

    @staticmethod
    def _pick(arguments: list[tuple[int, int]], position: int) -> tuple[int, int] | None:
        if not arguments:
            return None
        return arguments[-1] if position < 0 else arguments[position] if position < len(arguments) else None

    @staticmethod
    def _is_constructor(path: str, base: str) -> bool:
        """``x.constructor.constructor(…)`` and ``Object.getPrototypeOf(async function(){}).constructor(…)``."""
        outer = base.endswith(".constructor") or base.startswith("Function.") or "getPrototypeOf()" in base
        return path.endswith("constructor") and outer

    def _folded(self, argument: tuple[int, int] | None) -> tuple[str | None, bool]:
        self._reader.decoded = False
        text = self._reader.fold(*argument) if argument is not None else None
        return text, self._reader.decoded

    def _code(self, path: str, first: int, bracket: int, argument: tuple[int, int] | None) -> None:
        if argument is None:
            return
        text, decoded = self._folded(argument)
        if text is not None and HOLE not in text:
            if decoded:
                self._report("javascript-decoded-execution", first, bracket, f"{path} runs a text that was hidden")
            self._derive(text, Context.JAVASCRIPT, first, bracket, path)
            return
        self._unknown(
            "javascript-eval", f"{path} runs text that is made at run time", first, bracket, argument, decoded
        )

    def _unknown(
        self, rule: str, message: str, first: int, bracket: int, argument: tuple[int, int] | None, decoded: bool
    ) -> None:
        labels = self._flow.labels(*argument) if argument is not None else frozenset()
        if "download" in labels:
            self._report("javascript-downloaded-execution", first, bracket, f"{message}, and it comes from the network")
        elif decoded or "decoded" in labels:
            self._report("javascript-decoded-execution", first, bracket, f"{message}, out of a decoder")
        else:
            self._report(rule, first, bracket, message)

    def _code_if_text(self, path: str, first: int, bracket: int, arguments: list[tuple[int, int]]) -> None:
        argument = self._pick(arguments, 0)
        text, _decoded = self._folded(argument)
        if text is not None:
            self._code(path, first, bracket, argument)

    def _shell(self, path: str, first: int, bracket: int, argument: tuple[int, int] | None) -> None:
        if argument is None:
            return
        text, decoded = self._folded(argument)
        tagged = self._reader.tokens.kinds[bracket] == "template"
        if path == "$" and not tagged:
            return
        if text is not None and (HOLE not in text or tagged):
            if decoded:
                self._report("javascript-decoded-execution", first, bracket, f"{path} runs a command that was hidden")
            self._derive(text.replace(HOLE, _UNKNOWN_WORD), Context.SHELL, first, bracket, path)
            return
        shape = f": {text.replace(HOLE, '…')[:120]}" if text and text.strip(HOLE) else ""
        message = f"{path} has a shell run a command made at run time{shape}"
        self._unknown("javascript-shell-command", message, first, bracket, argument, decoded)

    def _process(self, path: str, first: int, bracket: int, arguments: list[tuple[int, int]]) -> None:
        program = self._pick(arguments, 0)
        text, decoded = self._folded(program)
        if self._with_shell(arguments):
            self._shell(path, first, bracket, program)
            return
        if text is None or not text.strip(HOLE):
            self._emit.capability("binary", "*", self._at(first, bracket))
            return
        if decoded:
            self._report(
                "javascript-decoded-execution", first, bracket, f"{path} starts a program whose name is hidden"
            )
        words = [shlex.quote(text.replace(HOLE, "NOT_KNOWN"))]
        if len(arguments) > 1:
            chain = self._reader.chain(arguments[1][0])
            items = chain.items if chain.items is not None else (HOLE,)
            words += [_UNKNOWN_WORD if HOLE in item else shlex.quote(item) for item in items[:256]]
        self._derive(" ".join(words), Context.SHELL, first, bracket, path)

    def _with_shell(self, arguments: list[tuple[int, int]]) -> bool:
        tokens = self._reader.tokens
        for first, last in arguments[1:]:
            for at in range(first, last - 2):
                named = tokens.kinds[at] in {"name", "string"} and tokens.values[at] == "shell"
                if named and tokens.is_punct(at + 1, ":") and not tokens.is_name(at + 2, "false"):
                    return True
        return False

    def _import(self, path: str, first: int, bracket: int, arguments: list[tuple[int, int]]) -> None:
        argument = self._pick(arguments, 0)
        if argument is None:
            return
        text, decoded = self._folded(argument)
        if decoded:
            self._report("javascript-hidden-import", first, bracket, "the name of the imported module is hidden")
        elif text is not None and text.startswith(("data:", "blob:")):
            self._report("javascript-eval", first, bracket, f"{path} runs code that stands in an address")
        elif text is not None and "://" in text:
            self._report("javascript-downloaded-execution", first, bracket, f"{path} runs code from {text[:120]}")
        elif text is None or text.startswith(HOLE):
            self._report("javascript-chosen-import", first, bracket, f"{path} loads a module chosen at run time")

    def _handed(self, path: str, arguments: list[tuple[int, int]]) -> None:
        for first, last in arguments:
            chain = self._reader.chain(first)
            if chain.end != last or chain.calls or self._reader.tokens.kinds[first] != "name":
                continue
            for name in chain.path.split("|"):
                code = name in self._table["code"] and name not in {"Function", "AsyncFunction"}
                if (code or name in self._table["shell"]) and name != "$" and path != "util.promisify":
                    message = f"{name} is handed to other code, so what it will run cannot be judged"
                    self._report("javascript-handed-execution", first, last, message)

    def _reaches(self, path: str, first: int, bracket: int, arguments: list[tuple[int, int]]) -> None:
        table = self._table
        if (position := table["network"].get(path)) is not None and not self._defines(first, bracket):
            self._connect(path, first, bracket, arguments, position)
        if (position := table["write"].get(path)) is not None:
            self._write(first, bracket, self._pick(arguments, position))
        if path in table["credential_calls"]:
            self._report("code-credential-store", first, bracket, f"{path} reads {table['credential_calls'][path]}")
        if path in table["copiers"] and any(self._is_environment(item) for item in arguments):
            self._report("code-environment-read", first, bracket, "every variable of the environment is read")
        if path in table["environment_calls"] and arguments:
            name = self._reader.fold(*arguments[0])
            self._variable(name if name is not None else "?", first, bracket)
        if path in table["harmless"] or path.startswith("text.") or path in table["write"]:
            return
        local = path in self._reader.bindings.names
        for item in arguments[:8]:
            self._file(path, first, bracket, item, local=local)

    def _defines(self, first: int, bracket: int) -> bool:
        """True for ``fetch(url) {`` on one line: a method is defined, nothing is called."""
        tokens = self._reader.tokens
        closing = tokens.closing.get(bracket, bracket)
        if not tokens.is_punct(closing + 1, "{") or bracket != first + 1:
            return False
        return "\n" not in self._segment.text[tokens.ends[closing] : tokens.starts[closing + 1]]

    def _is_environment(self, item: tuple[int, int]) -> bool:
        chain = self._reader.chain(item[0])
        return chain.end == item[1] and chain.path in self._table["environment"]

    def _file(self, path: str, first: int, bracket: int, item: tuple[int, int], *, local: bool) -> None:
        if path not in self._table["read"] and (local or path not in self._table["network"]):
            return
        text, _decoded = self._folded(item)
        what = secrets().path(text.replace(HOLE, "")) if text is not None else None
        if what is not None and text is not None:
            self._covered.append(item)
            shown = text.replace(HOLE, "…")[:120]
            self._report("code-credential-file", first, bracket, f"reaches for {what}: {shown}")

    def _connect(self, path: str, first: int, bracket: int, arguments: list[tuple[int, int]], position: int) -> None:
        address = self._pick(arguments, position)
        text, _decoded = self._folded(address)
        if text is None and address is not None:
            text = self._url_in(address)
        host = host_of(text, HOLE) if text else Host("*")
        self._emit.capability("network", host.name, self._at(first, bracket))
        if host.name not in self._hosts:
            self._hosts.add(host.name)
            rule = "code-network-address" if host.bare and not host.local else "code-network"
            where = "an address made at run time" if host.name == "*" else host.name
            severity = Severity.INFO if host.local else None
            self._report(rule, first, bracket, f"{path} connects to {where}", severity=severity)
        if not host.local:
            self._sent(path, first, bracket, arguments)

    def _url_in(self, address: tuple[int, int]) -> str | None:
        """``{hostname: "…"}`` or ``{url: "…"}``."""
        tokens = self._reader.tokens
        for at in range(address[0], min(address[1], address[0] + 200) - 2):
            if tokens.values[at] in {"host", "hostname", "url", "baseURL"} and tokens.is_punct(at + 1, ":"):
                chain = self._reader.chain(at + 2)
                if chain.text:
                    return chain.text
        return None

    def _sent(self, path: str, first: int, bracket: int, arguments: list[tuple[int, int]]) -> None:
        labels: frozenset[str] = frozenset()
        for item in arguments:
            labels |= self._flow.labels(*item)
        for label in sorted(labels):
            if label.startswith("secret:"):
                what = label.partition(":")[2]
                subject = what if what.isidentifier() else ""
                self._report("code-credential-sent", first, bracket, f"{what} flows into {path}", subject=subject)
        if "environment" in labels:
            self._report("code-environment-sent", first, bracket, f"the whole environment flows into {path}")

    def _write(self, first: int, bracket: int, argument: tuple[int, int] | None) -> None:
        text, _decoded = self._folded(argument)
        if text is None or argument is None:
            return
        self._covered.append(argument)
        if (meaning := secrets().persistence(text.replace(HOLE, ""))) is not None:
            message = f"writes {meaning.what}: {text.replace(HOLE, '…')[:120]}"
            self._report("code-persistence", first, bracket, message, severity=meaning.severity)
        if text.startswith(("/", "~")) or ".." in text.split("/"):
            self._emit.capability("write", text.replace(HOLE, "*")[:200], self._at(first, bracket))

    def _environment(self, path: str, at: int, end: int) -> None:
        name = variable_of(path, self._table)
        tokens = self._reader.tokens
        if name is None or path.startswith("Deno.env") or tokens.is_punct(end, "="):
            return
        head = tokens.values[at]
        if head in self._reader.bindings.names and self._held(head):
            return  # the variable was reported where it was bound
        self._variable(name, at, end - 1)

    def _held(self, name: str) -> bool:
        """True when a name stands for one variable's value already: ``t`` of ``const t = process.env.TOKEN``."""
        paths = self._reader.value_of(name).split("|")
        return any(variable_of(path, self._table) is not None for path in paths)

    def _variable(self, name: str, first: int, last: int) -> None:
        if name == "?":
            self._emit.capability("env", "*", self._at(first, last))
        elif not secrets().plain(name):
            self._emit.capability("env", name, self._at(first, last))
            if secrets().variable(name):
                self._report("code-credential-env", first, last, f"reads the secret {name}", subject=name)

    def _destructured(self) -> None:
        """``const {API_KEY} = process.env``."""
        for bindings in self._reader.bindings.names.values():
            for binding in bindings:
                if binding.members and not binding.path:
                    chain = self._reader.chain(binding.first)
                    if chain.path in self._table["environment"]:
                        self._variable(binding.members[0], binding.first, binding.last - 1)

    def _mentions(self) -> None:
        tokens = self._reader.tokens
        for at, kind in enumerate(tokens.kinds):
            text = tokens.values[at] if kind == "string" else ""
            if not 4 < len(text) < 400 or any(first <= at < last for first, last in self._covered):
                continue
            if (what := secrets().path(text)) is not None:
                self._report("code-credential-mention", at, at, f"names the place of {what}")

    def _at(self, first: int, last: int) -> Location:
        start, end = self._span(first, last)
        return self._segment.locate(start, end)

    def _span(self, first: int, last: int) -> tuple[int, int]:
        tokens = self._reader.tokens
        last = min(last, len(tokens.kinds) - 1)
        end = tokens.ends[last]
        if tokens.is_punct(last, "("):
            arguments = self._reader.arguments(last)
            closing = arguments[-1][1] if arguments else last + 1
            end = tokens.ends[min(closing, len(tokens.kinds) - 1)]
        return tokens.starts[first], max(end, tokens.ends[first])

    def _report(
        self, rule: str, first: int, last: int, message: str, *, subject: str = "", severity: Severity | None = None
    ) -> None:
        start, end = self._span(first, last)
        if (key := (rule, start, subject)) in self._reported:
            return
        self._reported.add(key)
        place = self._segment.locate(start, end)
        excerpt = self._segment.text[start : min(end, start + _LONGEST_EXCERPT)]
        self._emit.finding(rule, place, excerpt, message, segment=self._segment, subject=subject, severity=severity)

    def _derive(self, text: str, context: Context, first: int, bracket: int, via: str) -> None:
        self._emit.derive(text, context, self._at(first, bracket), via, self._segment)
