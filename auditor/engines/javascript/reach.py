"""Judges where JavaScript reaches: connections, files of secrets, places that run later, the environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.javascript.asked import is_asked
from skillkeep.auditor.engines.javascript.overrides import override_of
from skillkeep.auditor.engines.javascript.scopes import Scope
from skillkeep.auditor.engines.javascript.site import Site
from skillkeep.auditor.engines.javascript.stores import Stores
from skillkeep.auditor.engines.javascript.taken_in import is_taken_in
from skillkeep.auditor.engines.javascript.texts import HOLE, string_value, unescape
from skillkeep.auditor.engines.javascript.values import UNKNOWN, Value
from skillkeep.auditor.engines.javascript.words import Words
from skillkeep.auditor.engines.leaving import leaving
from skillkeep.auditor.engines.network import Host, host_of, is_hidden
from skillkeep.auditor.engines.tables import KEPT_AS_SETTINGS, secrets, subject_of
from skillkeep.auditor.engines.written import written_as
from skillkeep.auditor.interface import Severity

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Reach"]

_WRITES_TEXT: Final = ("write", "append", "output")
_OPENS: Final = "connection:"
_SHOWING: Final = frozenset({"console.log", "process.stdout.write"})
_PICTURE: Final = compiled(r"!\[[^\]\n]{0,80}\]\(https?://")  # who shows it asks its host for it
_ASKS: Final = "dns."  # the name that is asked for carries what it is made of
_ADDRESS_KEYS: Final = ("host", "hostname", "url", "baseURL", "baseUrl", "uri")


class Reach:
    """Judges one call at a time; a host is reported once a segment, a secret that flows out every time."""

    def __init__(self, site: Site, words: Words) -> None:
        self._site = site
        self._words = words
        self._value = site.resolver.value
        self._stores = Stores(site.resolver)
        self._shows = "](http" in site.segment.text
        self._hosts: set[str] = set()
        self._covered: list[tuple[int, int]] = []

    def judge(self, node: Node, scope: Scope, path: str, arguments: list[Node]) -> None:
        """Judge the call `node` of `path`."""
        words = self._words
        self._leaves(node, scope, path, arguments)
        if path in words.clients:
            self._client(node, scope, words.clients[path], arguments)
        if (position := words.write.get(path)) is not None:
            self._write(node, scope, path, arguments[position : position + 2])
        if path in words.credential_calls:
            self._site.report("code-credential-store", node, f"{path} reads {words.credential_calls[path]}")
        if path.startswith("file:"):
            self._handed_over(node, scope, path, arguments)
        if path in words.copiers and any(self._is_environment(item, scope) for item in arguments):
            self._site.report("code-environment-read", node, "every variable of the environment is read")
        if path in words.environment_calls and arguments:
            for name in self._value(arguments[0], scope).known or ("?",):
                self.variable(name, node)
        if path in words.read or path in words.network:
            for item in arguments[:8]:
                self._file(node, scope, item)

    def _leaves(self, node: Node, scope: Scope, path: str, arguments: list[Node]) -> None:
        """Judge a call that connects, or that gives something to what is connected."""
        if (position := self._words.network.get(path)) is not None:
            self._connect(node, scope, path, (arguments, position))
        elif path in self._words.senders:
            self.sent(node, path, self._carried(arguments, scope))
        elif path in _SHOWING and self._shows:
            if any(_PICTURE.search(text) for item in arguments for text in self._value(item, scope).texts):
                self.sent(node, "a picture's address", self._carried(arguments, scope))
        elif places := self._stores.places(node, scope, path):
            for host in places:
                self._host(node, path, host)
            self.sent(node, path, self._carried(arguments, scope), places)

    def _client(self, node: Node, scope: Scope, service: str, arguments: list[Node]) -> None:
        """``new Octokit({auth})`` connects to its service, or to the address that it is given."""
        told = self._addresses(self._value(arguments[0], scope)).texts if arguments else ()
        for host in [host_of(text, HOLE) for text in told] or [Host(service)]:
            self._site.capability("network", host.name, node)

    def _is_environment(self, item: Node, scope: Scope) -> bool:
        return any(path in self._words.environment for path in self._value(item, scope).paths)

    def _file(self, node: Node, scope: Scope, item: Node) -> None:
        for text in self._value(item, scope).texts:
            what = secrets().path(text.replace(HOLE, ""))
            if what is not None:
                self._covered.append((item.start_byte, item.end_byte))
                shown = text.replace(HOLE, "…")[:120]
                if what == KEPT_AS_SETTINGS and is_taken_in(self._site.resolver.program, node, scope):
                    said = "what the agent keeps becomes the environment, as with source"
                    self._site.report("code-credential-mention", node, said)
                    continue
                message = f"reaches for {what}: {shown}"
                self._site.report(
                    "code-credential-file", node, message, subject=subject_of(what), severity=secrets().reading(what)
                )

    def _connect(self, node: Node, scope: Scope, path: str, given: tuple[list[Node], int]) -> None:
        arguments, position = given
        address = arguments[position] if -len(arguments) <= position < len(arguments) else None
        value = self._value(address, scope)
        if value.number and len(arguments) > position + 1:  # ``net.connect(443, "host")``
            value = self._value(arguments[position + 1], scope)
        value = value if value.texts else self._addresses(value)
        hosts = [host_of(text, HOLE) for text in value.texts if text.strip(HOLE)] or [Host("*")]
        for host in hosts:
            self._host(node, path, host)
            if value.decoded and is_hidden(host, self._site.segment.text):
                self._site.report("code-hidden-address", node, f"{path} connects to {host.name}, which a decoder makes")
        if not all(host.local for host in hosts):
            named = all("." in host.name for host in hosts)
            beside = [item for item in arguments if item is not address] if named else []
            carried = self._labels(arguments, arguments if path.startswith(_ASKS) else beside, scope)
            self.sent(node, path, carried, reached=self._reached(address, value, scope) if carried else None)

    def _reached(self, address: Node | None, value: Value, scope: Scope) -> frozenset[str] | None:
        """The named hosts of an address, and ``$NAME`` where that variable alone may tell another one."""
        told = [host_of(text, HOLE).name for text in value.texts if not text.startswith(HOLE)]
        if not told or len(told) == len(value.texts) or "*" in told:
            return None
        name = override_of(self._site.resolver, address, scope)
        return frozenset({*told, f"${name}"}) if name else None

    def _labels(self, arguments: list[Node], opening: list[Node], scope: Scope) -> frozenset[str]:
        """What `arguments` carry; texts that open a store count in `opening`: others may be what is connected to."""
        carried = self._carried(arguments, scope)
        opens = {label for label in carried if label.startswith(_OPENS)}
        return carried - opens | (opens & self._carried(opening, scope) if opens else frozenset())

    def _carried(self, arguments: list[Node], scope: Scope) -> frozenset[str]:
        return frozenset[str]().union(*(self._site.flow.labels(item, scope) for item in arguments))

    def _host(self, node: Node, path: str, host: Host) -> None:
        self._site.capability("network", host.name, node)
        if host.name in self._hosts:
            return
        self._hosts.add(host.name)
        rule = "code-network-address" if host.bare and not host.local else "code-network"
        where = "an address made at run time" if host.name == "*" else host.name
        severity = Severity.INFO if host.local else None
        self._site.report(rule, node, f"{path} connects to {where}", severity=severity)

    def _addresses(self, value: Value) -> Value:
        """``{hostname: "…"}`` or ``{url: "…"}``."""
        if not value.objects:
            return UNKNOWN
        found = (self._site.resolver.names.member(Value(objects=value.objects), key) for key in _ADDRESS_KEYS)
        return next((each for each in found if each.texts), UNKNOWN)

    def _handed_over(self, node: Node, scope: Scope, path: str, arguments: list[Node]) -> None:
        """A function of another file that sends what it gets."""
        for index, through in self._site.resolver.surroundings.senders(path).items():
            if index < len(arguments):
                self.sent(node, f"{through} in another file", self._labels([arguments[index]], [], scope))

    def sent(
        self,
        node: Node,
        path: str,
        labels: frozenset[str],
        places: Sequence[Host] = (),
        reached: frozenset[str] | None = None,
    ) -> None:
        """Report every secret among `labels`, which the call `node` of `path` sends to the `places` of a store.

        `reached` as the hosts of `Emitter.finding`.
        """
        for rule, message, subject in leaving(labels, path, places):
            self._site.report(rule, node, message, subject=subject, hosts=reached)

    def _write(self, node: Node, scope: Scope, path: str, given: list[Node]) -> None:
        if not given:
            return
        argument = given[0]
        if path.rpartition(".")[2].lower().startswith(_WRITES_TEXT):
            self._written(node, scope, given)
        for text in self._value(argument, scope).texts:
            self._covered.append((argument.start_byte, argument.end_byte))
            if (meaning := secrets().persistence(text.replace(HOLE, ""))) is not None:
                message = f"writes {meaning.what}: {text.replace(HOLE, '…')[:120]}"
                self._site.report("code-persistence", node, message, severity=meaning.severity)
            if text.startswith(("/", "~")) or ".." in text.split("/"):
                self._site.capability("write", text.replace(HOLE, "*")[:200], node)

    def _written(self, node: Node, scope: Scope, given: list[Node]) -> None:
        """A program that is written to a file."""
        names, texts = ([] if index >= len(given) else self._value(given[index], scope).texts for index in (0, 1))
        for name in list(names)[:1]:
            for text in list(texts)[:4]:
                if (made := written_as(name, text)) is not None:
                    if made.started:
                        self._site.report("tactic-interpreter-start", node, made.started)
                    self._site.derive(made.text.replace(HOLE, "NOT_KNOWN"), made.context, node, "written to a file")

    def member(self, node: Node, scope: Scope) -> None:
        """``process.env.NAME``, under whatever name it goes."""
        for path in self._value(node, scope).paths:
            name = self._words.variable_of(path)
            if name is not None and path.count(".") == self._depth_of(path) and not path.startswith("Deno.env"):
                self.variable(name, node, asked=is_asked(self._site.resolver.program, node))

    def _depth_of(self, path: str) -> int:
        """How many dots the path of the variable itself has: a method of its value is no second reading."""
        base = next(base for base in self._words.environment if path.startswith(f"{base}."))
        return base.count(".") + 1

    def variable(self, name: str, node: Node, *, asked: bool = False) -> None:
        """One variable of the environment is read at `node`, or only asked about."""
        if name == "?":
            self._site.capability("env", "*", node)
        elif not secrets().plain(name):
            self._site.capability("env", name, node)
            if secrets().variable(name):
                severity, verb = (Severity.WARN, "asks for a word in") if asked else (None, "reads the secret")
                self._site.report("code-credential-env", node, f"{verb} {name}", subject=name, severity=severity)

    def destructured(self) -> None:
        """``const {API_KEY} = process.env``."""
        program = self._site.resolver.program
        for scope in (program.top, *program.functions.values()):
            for bindings in scope.names.values():
                for binding in bindings:
                    if binding.members and binding.kind == "value" and binding.node is not None:
                        value = self._site.resolver.names.binding(binding)
                        for name in filter(None, map(self._words.variable_of, value.paths)):
                            self.variable(name, binding.node)

    def mentions(self) -> None:
        """Texts that name the place of a secret and are not used in a call that was judged."""
        syntax = self._site.resolver.program.syntax
        for node in self._site.resolver.program.strings:
            size = node.end_byte - node.start_byte
            if not 6 < size < 400 or any(first <= node.start_byte < last for first, last in self._covered):
                continue
            text = string_value(syntax, node) if node.type == "string" else unescape(syntax.source(node)[1:-1])
            if (what := secrets().path(text)) is not None:
                self._site.report("code-credential-mention", node, f"names the place of {what}")
