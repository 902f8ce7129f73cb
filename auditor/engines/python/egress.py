"""Judges connections and writes: where data may leave to, which secrets flow along, which files are written."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.leaving import leaving
from skillkeep.auditor.engines.network import Host, host_of, is_hidden
from skillkeep.auditor.engines.publishing import published_by, words_of
from skillkeep.auditor.engines.python.clients import based_on, service_of
from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.own_code import judge_replaced
from skillkeep.auditor.engines.python.published import labels_of_files
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.stores import Stores
from skillkeep.auditor.engines.python.values import HOLE, alternatives, texts_of
from skillkeep.auditor.engines.tables import secrets, table
from skillkeep.auditor.engines.written import unnamed_programs, written_as
from skillkeep.auditor.interface import Severity

__all__ = ["Egress", "names_that_send"]

_HTTP_METHODS: Final = frozenset(
    {
        "get", "post", "put", "patch", "delete", "request", "urlopen", "send", "connect", "fetch", "stream", "open",
        "goto",
    }
)  # fmt: skip
_OPENERS: Final = frozenset({"builtins.open", "io.open", "codecs.open", "aiofiles.open"})
_SOCKETS: Final = frozenset(
    {"socket.socket().connect", "socket.create_connection", "socket.socket().listen", "socket.create_server"}
)
_WRITES_WHOLE: Final = frozenset({"write_text", "write_bytes"})
_OPENS: Final = "connection:"
_PRINT: Final = "builtins.print"
_PICTURE: Final = compiled(r"!\[[^\]\n]{0,80}\]\(https?://")  # who shows it asks its host for it
_SCHEMES: Final = ("http://", "https://", "ws://", "wss://", "ftp://", "tcp://")


def names_that_send(sinks: dict[str, Any]) -> frozenset[str]:
    """The names of calls that `Egress.judge` has to see, besides the methods of `Egress.methods`."""
    kinds = ("network", "send", "process", "shell", "write", "redirected")
    return frozenset((*(name for kind in kinds for name in sinks[kind]), *_OPENERS, *_SOCKETS, _PRINT))


@dataclass(frozen=True)
class _Known:
    environment: frozenset[str]
    sends: frozenset[str]
    programs: frozenset[str]  # that connect
    write_methods: frozenset[str]
    methods: frozenset[str]


@cache
def _known() -> _Known:
    sinks = table("python")
    writes = frozenset(sinks["write_methods"])
    return _Known(
        frozenset(sinks["environment"]),
        frozenset(sinks["send"]),
        frozenset(sinks["network_programs"]),
        writes,
        _HTTP_METHODS | writes | {"open"},
    )


class Egress:
    """Judges one call at a time; a host is reported once a segment, a secret that flows out every time."""

    def __init__(self, site: Site, flow: Flow, sinks: dict[str, Any]) -> None:
        self._site = site
        self._flow = flow
        self._table = sinks
        known = _known()
        self._environment, self._sends, self._programs = known.environment, known.sends, known.programs
        self._stores = Stores(site)
        self._write_methods, self.methods = known.write_methods, known.methods
        self._hosts: set[str] = set()
        self._shows = "](http" in site.segment.text
        self.opens_socket = False

    def judge(self, call: ast.Call, scope: Scope, names: tuple[str, ...]) -> None:
        """Judge `call`, whose callee may be any of `names`."""
        for name in names:
            self.opens_socket = self.opens_socket or name in _SOCKETS
            if (where := self._table["network"].get(name)) is not None:
                self._connect(call, scope, name, self._site.argument(call, where))
                break
            if name == _PRINT:
                self._shown(call, scope)
                self._printed(call, scope)
                break
            if (where := self._table["redirected"].get(name)) is not None:
                self._redirected(call, scope, name, self._site.argument(call, where))
                break
            if places := self._stores.places(call, scope, name):
                self._put(call, scope, name, places)
                break
            if name in self._sends:
                self._send(call, scope, name)
                break
            if (where := self._table["process"].get(name)) is not None:
                self._program(call, scope, self._site.argument(call, where))
            elif (where := self._table["shell"].get(name)) is not None:
                self._published(call, scope, self._site.argument(call, where))
        else:
            if self._environment.isdisjoint(names):  # ``os.environ.get(name, "https://…")`` is no request
                self.url_method(call, scope)
        self._writes(call, scope, names)
        self.replaced(call, scope, names)

    def replaced(self, call: ast.Call, scope: Scope, names: tuple[str, ...]) -> None:
        """Judge a call that may write over a file of the program itself."""
        judge_replaced(self._site, self._flow, call, scope, names)

    def filled(self, call: ast.Call, scope: Scope) -> None:
        """``file.write(text)``."""
        if isinstance(call.func, ast.Attribute) and call.args:
            self._written(call, self._flow.contents.names(call.func.value, scope), scope)

    def url_method(self, call: ast.Call, scope: Scope) -> None:
        """``anything.post("https://…")``: a client whose type the file does not tell."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _HTTP_METHODS:
            return
        if not any(map(_may_be_address, call.args[:2])) or _asks_a_table(call):
            return
        if any(True for _ in alternatives(self._site.fold(call.func.value, scope))):
            return  # a table or a text has methods of these names too
        for item in call.args[:2]:
            texts = [text for text in alternatives(self._site.fold(item, scope)) if isinstance(text, str)]
            if any(text.lower().startswith(_SCHEMES) for text in texts):
                self._connect(call, scope, call.func.attr, item)
                return

    def _connect(self, call: ast.Call, scope: Scope, name: str, address: ast.expr | None) -> None:
        value, layers = self._site.judged(address, scope)
        texts = [item[0] if isinstance(item, tuple) and item else item for item in alternatives(value)]
        paths = [text for text in texts if isinstance(text, str)]
        hosts = based_on(self._site, call, scope, paths) or [host_of(text, HOLE) for text in paths]
        if not hosts and address is not None:
            hosts = self._peers(address, scope)  # ``urlopen(request)``: the address of the request
        hosts = hosts or [Host("*")]
        for host in hosts:
            self._host(call, name, host)
            if layers and is_hidden(host, self._site.segment.text):
                message = f"{name} connects to {host.name}, hidden by {', '.join(layers)}"
                self._site.report("code-hidden-address", call, message)
        if not all(host.local for host in hosts):
            named = all("." in host.name for host in hosts)
            self._sent(call, scope, name, opening=[item for item in _given(call) if item is not address and named])

    def _shown(self, call: ast.Call, scope: Scope) -> None:
        """A picture is printed whose address carries what it is made of."""
        if not self._shows:
            return
        texts = [text for item in call.args for text in alternatives(self._site.fold(item, scope))]
        if any(isinstance(text, str) and _PICTURE.search(text) for text in texts):
            self._report(call, "a picture's address", self._carried(call.args, scope), ())

    def _redirected(self, call: ast.Call, scope: Scope, name: str, address: ast.expr | None) -> None:
        """A client of a model is pointed at a host that the program names."""
        hosts = [host_of(text, HOLE) for text in texts_of(self._site.fold(address, scope))] if address else []
        away = [host for host in hosts if "." in host.name and not host.local]
        for host in away:
            self._host(call, name, host)
        if away:
            self._sent(call, scope, name, opening=[])

    def _send(self, call: ast.Call, scope: Scope, name: str) -> None:
        """A connection that was opened before is written to."""
        peers = self._peers(call.func.value, scope) if isinstance(call.func, ast.Attribute) else []
        for place in [host.name for host in peers] or [service_of(self._site, call, scope, name)]:
            self._site.capability("network", place, call)
        if not peers or not all(host.local for host in peers):
            self._sent(call, scope, name, opening=_given(call) if peers else [])

    def _put(self, call: ast.Call, scope: Scope, name: str, places: list[Host]) -> None:
        """Something is put into a store of somebody else's."""
        for host in places:
            self._host(call, name, host)
        self._report(call, name, self._carried(_given(call), scope), places)

    def _peers(self, connection: ast.expr, scope: Scope) -> list[Host]:
        """The hosts that the call which made `connection` names."""
        bound = scope.lookup(connection.id) if isinstance(connection, ast.Name) else None
        made = [each.node for each in bound[1] if each.kind == "value"] if bound else [connection]
        home = bound[0] if bound else scope
        hosts: list[Host] = []
        for node in made:
            for name in self._site.names.resolve(node.func, home) if isinstance(node, ast.Call) else ():
                if isinstance(node, ast.Call) and (where := self._table["network"].get(name)):
                    value = self._site.fold(self._site.argument(node, where), home)
                    hosts += [host_of(text, HOLE) for text in texts_of(value)]
        return hosts

    def _program(self, call: ast.Call, scope: Scope, command: ast.expr | None) -> None:
        """A program that connects is given a secret as an argument or as its input."""
        words = self._words(command, scope)
        program = words[0].rpartition("/")[2] if words and isinstance(words[0], str) else ""
        told = self._table["publishing"].get(program, ())
        if program in self._programs or any(each in told for each in words[1:4]):
            self._sent(call, scope, program)
        self._published(call, scope, command)

    def _published(self, call: ast.Call, scope: Scope, command: ast.expr | None) -> None:
        """A program that publishes is given a file into which a secret was put."""
        words = self._words(command, scope)
        if command is not None and (publisher := published_by(words)) is not None:
            labels = labels_of_files(self._site, self._flow, command, words, scope, whole=publisher.folder)
            self._report(call, publisher.name, labels, (), frozenset({publisher.host}))

    def _words(self, command: ast.expr | None, scope: Scope) -> Sequence[Any]:
        value = self._site.fold(command, scope)
        return value if isinstance(value, tuple) else words_of(next(iter(texts_of(value)), ""))

    def _host(self, call: ast.Call, name: str, host: Host) -> None:
        self._site.capability("network", host.name, call)
        if host.name in self._hosts:
            return
        self._hosts.add(host.name)
        if host.local:
            self._site.report("code-network", call, f"{name} connects to this machine", severity=Severity.INFO)
        elif host.bare:
            self._site.report("code-network-address", call, f"{name} connects to the bare address {host.name}")
        else:
            where = "an address made at run time" if host.name == "*" else host.name
            self._site.report("code-network", call, f"{name} connects to {where}")

    def _sent(self, call: ast.Call, scope: Scope, name: str, *, opening: Sequence[ast.expr] | None = None) -> None:
        """A secret among the arguments, or in what the call is made on, leaves.

        Texts that open a store count in `opening` (all arguments unless given): others may be what is connected to.
        """
        given = _given(call)
        labels = self._carried([*given, *_made_on(call)], scope)
        opens = {label for label in labels if label.startswith(_OPENS)}
        if opens:
            labels = labels - opens | (opens & self._carried(given if opening is None else opening, scope))
        self._report(call, name, labels, ())

    def _carried(self, nodes: Iterable[ast.expr], scope: Scope) -> frozenset[str]:
        return frozenset[str]().union(*(self._flow.labels(item, scope) for item in nodes))

    def _report(
        self,
        call: ast.Call,
        name: str,
        labels: frozenset[str],
        places: Sequence[Host],
        reached: frozenset[str] | None = None,
    ) -> None:
        """Every secret among `labels` leaves. `places` are hosts of a store that the program itself names."""
        for rule, message, subject in leaving(labels, name, places):
            self._site.report(rule, call, message, subject=subject, hosts=reached)

    def _writes(self, call: ast.Call, scope: Scope, names: tuple[str, ...]) -> None:
        for name in names:
            if (where := self._table["write"].get(name)) is not None:
                self._write(call, self._site.argument(call, where), scope)
            elif name in _OPENERS:
                self._opened(call, scope)
        if isinstance(call.func, ast.Attribute) and (
            call.func.attr in self._write_methods or (call.func.attr == "open" and self._mode_writes(call, scope, 0))
        ):
            self._write(call, call.func.value, scope)
            if call.func.attr in _WRITES_WHOLE and call.args:
                self._written(call, texts_of(self._site.fold(call.func.value, scope)), scope)

    def _written(self, call: ast.Call, names: list[str], scope: Scope) -> None:
        """A program that is written to a file."""
        for text in texts_of(self._site.fold(call.args[0], scope))[:4]:
            named = [made for name in names[:1] if (made := written_as(name, text)) is not None]
            for made in named if names else unnamed_programs(text):
                if made.started:
                    self._site.report("tactic-interpreter-start", call, made.started)
                self._site.derive(made.text.replace(HOLE, "NOT_KNOWN"), made.context, call, "written to a file")

    def _printed(self, call: ast.Call, scope: Scope) -> None:
        """``print(text, file=file)``."""
        for each in call.keywords:
            if each.arg == "file" and call.args and not isinstance(each.value, ast.Attribute):
                self._written(call, self._flow.contents.names(each.value, scope), scope)

    def _opened(self, call: ast.Call, scope: Scope) -> None:
        if self._mode_writes(call, scope, 1):
            self._write(call, self._site.argument(call, [0, "file", "filename"]), scope)

    def _mode_writes(self, call: ast.Call, scope: Scope, position: int) -> bool:
        mode = self._site.argument(call, [position, "mode"])
        modes = [item for item in alternatives(self._site.fold(mode, scope)) if isinstance(item, str)]
        return any(set(item) & set("wax+") for item in modes)

    def _write(self, call: ast.Call, path: ast.expr | None, scope: Scope) -> None:
        for text in alternatives(self._site.fold(path, scope)):
            if not isinstance(text, str):
                continue
            meaning = secrets().persistence(text)
            if meaning is not None:
                message = f"writes {meaning.what}: {text.replace(HOLE, '…')[:120]}"
                self._site.report("code-persistence", call, message, severity=meaning.severity)
            if text.startswith(("/", "~")) or ".." in text.split("/"):
                self._site.capability("write", text.replace(HOLE, "*")[:200], call)


def _may_be_address(item: ast.expr) -> bool:
    """False for a constant that is none; what is made or named has to be folded."""
    if not isinstance(item, ast.Constant):
        return True
    return isinstance(item.value, str) and item.value.lower().startswith(_SCHEMES)


def _asks_a_table(call: ast.Call) -> bool:
    """``settings.get("redirect", "https://…")``: a request's address comes first."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "get" or len(call.args) != 2 or call.keywords:
        return False
    key = call.args[0]
    return isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier()


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _made_on(call: ast.Call) -> list[ast.expr]:
    """What a method is called on, or what gives the function that is called."""
    if isinstance(call.func, ast.Attribute):
        return [call.func.value]
    return [] if isinstance(call.func, ast.Name) else [call.func]
