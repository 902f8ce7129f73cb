"""Judges the files of a program: every call, subscript and decorator, once, by the names it may resolve to."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from skillkeep.auditor.engines.imitated import note_signing
from skillkeep.auditor.engines.interface import Emitter, Segment
from skillkeep.auditor.engines.python.callers import link_calls
from skillkeep.auditor.engines.python.credentials import COPIERS, Credentials, is_error, names_that_read
from skillkeep.auditor.engines.python.derived import Derived
from skillkeep.auditor.engines.python.described import DESCRIBING, judge_described
from skillkeep.auditor.engines.python.egress import Egress, names_that_send
from skillkeep.auditor.engines.python.execution import LOOKS, Execution, names_that_run
from skillkeep.auditor.engines.python.flow import Flow
from skillkeep.auditor.engines.python.folding import Folder
from skillkeep.auditor.engines.python.inputs import FEEDING
from skillkeep.auditor.engines.python.lost import Lost
from skillkeep.auditor.engines.python.names import Names
from skillkeep.auditor.engines.python.parts import feed
from skillkeep.auditor.engines.python.program import Program, Source
from skillkeep.auditor.engines.python.scopes import Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.sources import known
from skillkeep.auditor.engines.python.stores import puts, store_of
from skillkeep.auditor.engines.python.values import texts_of
from skillkeep.auditor.engines.tables import table

__all__ = ["Part", "judge"]

_TABLES: Final = (
    "code", "template", "interpreted", "shell", "process", "deserialise", "deserialise_file", "import",
    "import_soft", "native", "network", "send", "redirected", "read", "write", "credential_calls",
    "environment", "harmless",
)  # fmt: skip
_LATER: Final = {  # calls that call what they are given, and where it stands among the arguments
    "Thread": 1, "Process": 1, "Timer": 1, "submit": 0, "to_thread": 0, "run_in_executor": 1, "call_soon": 0,
    "call_soon_threadsafe": 0, "call_later": 1, "call_at": 1, "apply_async": 0, "apply": 0, "start_new_thread": 0,
    "deferToThread": 0, "add_job": 0, "run_sync": 0, "spawn": 0,
    "register": 0, "callback": 0, "push_async_callback": 0, "partial": 0,
}  # fmt: skip
_LISTED: Final = frozenset({"Thread", "Process", "Timer", "apply_async", "apply", "start_new_thread"})
_OWN_OPTIONS: Final = frozenset({"target", "func", "function", "args", "kwargs", "daemon", "name", "group"})
_OTHERS: Final = frozenset(
    {
        "items",
        "values",
        "keys",
        "connect",
        "create_connection",
        "create_server",
        "dup2",
        "listen",
        "open",
        "__subclasses__",
    }
)


@dataclass(frozen=True)
class Part:
    """One file to be judged: what the walk found in it, its text, and where answers go."""

    source: Source
    segment: Segment
    emit: Emitter


def judge(parts: Sequence[Part]) -> bool:
    """Judge `parts` as one program; True when a budget ran out, so that something may be missing."""
    sinks = table("python")
    names = Names(Program([part.source for part in parts]))
    folder = Folder(names)
    flow = Flow(folder, sinks)
    if len(parts) == 1 and "".join(parts[0].segment.provenance[:1]).startswith("fence"):
        flow.derived = Derived(names, known().environment)
    try:
        for part in parts:
            feed(part.source.found)
        link_calls(names)
        for part in parts:
            _part(Site(part.segment, part.emit, part.source.found, names, folder), flow, sinks)
        if flow.derived is not None and flow.derived.used:
            note_signing(parts[0].segment, flow.derived.used, parts[0].emit)
        return names.exhausted or folder.exhausted or flow.exhausted
    finally:
        names.folder = None  # else the whole tree waits for the garbage collector, as for what scopes feed each other
        for part in parts:
            for scope in (part.source.found.module, *part.source.found.scopes.values()):
                scope.fed.clear()


def _part(site: Site, flow: Flow, sinks: dict[str, Any]) -> None:
    found = site.found
    judges = _Judges(site, Execution(site, flow, sinks), Credentials(site, sinks), Egress(site, flow, sinks))
    plain = _Plain(found.attributes, site.names.program.linked, puts(found))
    for call, scope in found.calls:
        function = call.func
        kind = function.__class__
        if (name := _called(function)) in DESCRIBING:
            judge_described(site, flow, call, scope)
        if name in _LATER and (later := _later(name, call)) is not None:
            judges.of_later(later, scope)
        if kind is ast.Attribute and plain(function):  # type: ignore[arg-type]
            if call.args or call.keywords:
                judges.of_unknown(call, scope, function.attr)  # type: ignore[attr-defined]
        elif kind is ast.Call:
            judges.of_known(_unwrapped(site, call, scope), scope)
        else:
            judges.of_known(call, scope)
    for node, scope in found.subscripts:
        judges.credentials.subscript(node, scope)
    for decorator, scope in found.decorators:
        judges.execution.decorated(decorator, scope)
    judges.execution.stored()
    Lost(site, flow).judge()
    judges.execution.joined(connects=judges.egress.opens_socket)
    judges.credentials.finish()


class _Judges:
    """The judges of one file, each of which looks only at the calls that may concern it."""

    def __init__(self, site: Site, execution: Execution, credentials: Credentials, egress: Egress) -> None:
        self.execution, self.credentials, self.egress = execution, credentials, egress
        self._names = site.names
        self._doing = _Doing()
        self._does: dict[tuple[str, ...], int] = {}
        self._made: list[ast.Call] = []  # kept, as answers are remembered by a node's identity

    def of_unknown(self, call: ast.Call, scope: Scope, method: str) -> None:
        """Judge a call, with arguments, of a method of which nothing is known but its name."""
        self.execution.handed_on(call, scope)
        if method not in self.credentials.looking:
            self.credentials.paths(call, scope, ())
        if method in self.egress.methods:
            self.egress.url_method(call, scope)
        elif method == "write":
            self.egress.filled(call, scope)

    def of_known(self, call: ast.Call, scope: Scope) -> None:
        """Judge a call by the names that its function may resolve to."""
        function, method = call.func, ""
        if function.__class__ is ast.Name:
            called = self._names.name(function.id, scope)
        else:
            called = self._names.resolve(function, scope)
            method = function.attr if function.__class__ is ast.Attribute else ""
        does = self._does.get(called)
        if does is None:
            does = self._does[called] = self._doing(called)
        if does & _RUNS or method == "__subclasses__":
            self.execution.judge(call, scope, called)
        elif not does & _LOOKS and (call.args or call.keywords):
            self.execution.handed_on(call, scope)
        if does & _READS or (does & _COPIES and self.credentials.meets_environment):
            self.credentials.call(call, scope, called, harmless=bool(does & _HARMLESS))
        elif not does & _HARMLESS or method in self.credentials.methods:
            self.credentials.paths(call, scope, called, harmless=bool(does & _HARMLESS))
        if does & _SENDS or method in self.egress.methods:
            self.egress.judge(call, scope, called)
        elif method == "write":
            self.egress.replaced(call, scope, called)
            self.egress.filled(call, scope)

    def of_later(self, call: ast.Call, scope: Scope) -> None:
        """Judge a call that another call makes: of a function of some library which the tables know."""
        called = self._names.resolve(call.func, scope)
        if self._doing(called) & (_RUNS | _READS | _SENDS):
            self._made.append(call)
            self.of_known(call, scope)


class _Plain:
    """Tells a method of which nothing is known but its name, and whose name means nothing."""

    def __init__(self, stored: Container[str], linked: bool, puts: frozenset[str]) -> None:
        self._ends = _ends() | puts if puts else _ends()
        self._stored = stored
        self._linked = linked

    def __call__(self, function: ast.Attribute) -> bool:
        """True when the called attribute is of that kind; never among linked files, where any name may be another's."""
        return not self._linked and function.attr not in self._ends and function.attr not in self._stored


_RUNS: Final = 1
_READS: Final = 2
_SENDS: Final = 4
_COPIES: Final = 8
_HARMLESS: Final = 16
_LOOKS: Final = 32
_OF_ALL: Final = _HARMLESS | _LOOKS


class _Doing:
    """What the names that a call may resolve to can do, so that only the judges of that look at the call."""

    def __init__(self) -> None:
        self._known = _roles()

    def __call__(self, names: tuple[str, ...]) -> int:
        """The bits of all of `names`; `_HARMLESS` and `_LOOKS` when each of them is that."""
        known, does, all_are = self._known, 0, _OF_ALL if names else 0
        for name in names:
            role = known.get(name, 0)
            does |= role
            all_are &= role | _HARMLESS if is_error(name) else role
            if not role and name.endswith(".?"):
                does |= _RUNS
            if store_of(name) is not None:
                does |= _SENDS
        return does & ~_OF_ALL | all_are


@cache
def _roles() -> dict[str, int]:
    sinks = table("python")
    roles: dict[str, int] = defaultdict(int)
    for role, names in (
        (_RUNS, names_that_run(sinks)),
        (_READS, names_that_read(sinks)),
        (_COPIES, COPIERS),
        (_SENDS, names_that_send(sinks)),
        (_HARMLESS, sinks["harmless"]),
        (_LOOKS, LOOKS),
    ):
        for name in names:
            roles[name] |= role
    return dict(roles)


@cache
def _ends() -> frozenset[str]:
    """The last part of every name that means something: a method of another name cannot be one of them."""
    sinks = table("python")
    named = frozenset(name.rpartition(".")[2] for kind in _TABLES for name in sinks[kind])
    named |= frozenset(name.rpartition(".")[2] for name in FEEDING)
    return named | _OTHERS | frozenset(sinks["read_methods"]) | frozenset(sinks["write_methods"])


def _called(function: ast.expr) -> str:
    """The last name of what is called."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _later(name: str, call: ast.Call) -> ast.Call | None:
    """The call that ``Thread(target=f, args=(x,))``, ``pool.submit(f, x)`` and their like make; None for no such."""
    options = {each.arg: each.value for each in call.keywords if each.arg}
    at = _LATER[name]
    given = call.args[at:]
    function = options.get("target") or options.get("func") or options.get("function") or (given[0] if given else None)
    if not isinstance(function, ast.Name | ast.Attribute):
        return None
    listed = options.get("args") or (given[1] if name in _LISTED and len(given) > 1 else None)
    arguments = given[1:]
    if name in _LISTED or listed is not None:
        arguments = listed.elts if isinstance(listed, ast.Tuple | ast.List) else []
    named = [] if name in _LISTED else [each for each in call.keywords if each.arg not in _OWN_OPTIONS]
    if isinstance(given_names := options.get("kwargs"), ast.Dict):
        pairs = zip(given_names.keys, given_names.values, strict=True)
        named = [ast.keyword(str(key.value), value) for key, value in pairs if isinstance(key, ast.Constant)]
    return ast.copy_location(ast.Call(function, list(arguments), named), call)


def _unwrapped(site: Site, call: ast.Call, scope: Scope) -> ast.Call:
    """``partial(f, x)(y)`` as ``f(x, y)``, ``methodcaller("m", x)(o)`` as ``o.m(x)``."""
    inner = call.func
    if not isinstance(inner, ast.Call) or not inner.args:
        return call
    made = site.names.resolve(inner.func, scope)
    if "functools.partial" in made:
        plain = ast.Call(inner.args[0], [*inner.args[1:], *call.args], [*inner.keywords, *call.keywords])
        return ast.copy_location(plain, call)
    if "operator.methodcaller" in made and call.args:
        for method in texts_of(site.fold(inner.args[0], scope))[:1]:
            function = ast.copy_location(ast.Attribute(call.args[0], method, ast.Load()), call)
            return ast.copy_location(ast.Call(function, inner.args[1:], inner.keywords), call)
    return call
