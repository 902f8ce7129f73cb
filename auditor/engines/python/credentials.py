"""Judges reads of secrets: environment variables by name, credential files by path, stores by call."""

from __future__ import annotations

import ast
import unicodedata
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.python.folding import CONSTANT_ENDS, UNTOLD
from skillkeep.auditor.engines.python.scopes import Binding, Scope
from skillkeep.auditor.engines.python.site import Site
from skillkeep.auditor.engines.python.values import HOLE, OneOf, alternatives
from skillkeep.auditor.engines.tables import KEPT_BY_AGENTS, secrets, subject_of, table
from skillkeep.auditor.interface import Severity
from skillkeep.auditor.patterns import PatternSet

__all__ = ["COPIERS", "Credentials", "is_error", "names_that_read"]

_WHOLE: Final = ("os.environ.items", "os.environ.values", "os.environ.keys")
_SHORTEST_PATH: Final = 4
_LONGEST_TEXT: Final = 4096
_LONGEST_MENTION: Final = 400
_MADE: Final = frozenset({ast.Call, ast.BinOp, ast.JoinedStr, ast.Subscript, ast.IfExp})
_FOLDED: Final = _MADE | {ast.Constant, ast.Name, ast.Attribute, ast.Tuple, ast.List}
_NO_TEXT: Final = frozenset(
    {ast.Dict, ast.List, ast.Tuple, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Compare,
     ast.Lambda}
)  # fmt: skip
_TEXTUAL: Final = frozenset({str, bytes})
_AT_ONCE: Final = 64
# What a source has to spell to come by ``os.environ``: its name, or a way to names that are made at run time.
_WAYS: Final = (
    "environ", "getattr", "__getattribute__", "attrgetter", "methodcaller", "__dict__", "__import__", "import_module",
    "modules", "globals", "locals", "vars", "__globals__", "f_globals", "f_builtins", "func_globals", "__builtins__",
)  # fmt: skip
COPIERS: Final = frozenset(
    {"builtins.dict", "builtins.str", "builtins.repr", "json.dumps", "builtins.print", "pprint.pprint"}
)


def names_that_read(sinks: dict[str, Any]) -> frozenset[str]:
    """The names of calls that `Credentials.call` has to see, besides `COPIERS`; else `Credentials.paths` is enough."""
    return frozenset((*sinks["environment"], *sinks["credential_calls"], *_WHOLE))


@cache
def _ways() -> PatternSet:
    return PatternSet(["|".join(_WAYS)])


@dataclass(frozen=True)
class _Known:
    environment: frozenset[str]
    methods: frozenset[str]  # that only look
    reading: frozenset[str]  # methods that read what they are called on
    readers: frozenset[str]


@cache
def _known() -> _Known:
    sinks = table("python")
    return _Known(
        frozenset(sinks["environment"]),
        frozenset(sinks["harmless_methods"]),
        frozenset(sinks["read_methods"]),
        frozenset((*sinks["read"], *sinks["process"], *sinks["network"])),
    )


_BARE_ADDRESS: Final = compiled(r"169\.254\.169\.254|fd00:ec2::254")
_GUARD: Final = compiled(  # what looks at an address and asks nobody there
    r"ip_(?:address|network|interface)|IPv[46]Address|inet_(?:aton|pton)|subTest|parametrize|assert\w+"
    r"|_?(?:is|has|check|validate|verify|reject|block|deny|forbid)_\w+"
)
_PROFILES: Final = compiled(r"(?i)/local state$")
_OPENING: Final = compiled(  # the key in it, what that key opens, and whatever could take it elsewhere
    r"(?i)os_?crypt|encrypted|login ?data|cookie|web data|decrypt|base64|b64|\b(?:urllib|requests|httpx|aiohttp|socket"
    r"|http|smtplib|ftplib|subprocess|shutil|zipfile|tarfile|ctypes|importlib)\b|\beval\b|\bexec\b|__import__"
    r"|(?<!(?-i:[^.\w]sys\.std(?:out|err)))\.write(?:_text|_bytes)?\("  # what is printed may be written as well
)


class Credentials:
    """Judges calls and subscripts of one file, then the secret paths that nothing was seen to read."""

    def __init__(self, site: Site, sinks: dict[str, Any]) -> None:
        self._site = site
        self._table = sinks
        known = _known()
        self._environment = known.environment
        self._harmless_methods = self.looking = known.methods
        self._covered: set[int] = set()  # ids of the nodes whose text a judged read names
        self._read_methods = self.methods = known.reading
        self._known: dict[str, str] = {}  # what lies at a path, or an empty text
        self._named_by: dict[tuple[int, str], tuple[str, str]] = {}
        self._later: list[tuple[ast.Call, Scope]] = []
        self._readers = known.readers
        self._linked = site.names.program.linked

    def call(self, call: ast.Call, scope: Scope, names: tuple[str, ...], *, harmless: bool) -> None:
        """Judge `call`, whose callee may be any of `names`, each of them `harmless` or not."""
        for name in names:
            if name in self._environment and call.args:
                self._variable(call, call.args[0], scope)
            elif name in self._table["credential_calls"]:
                what = self._table["credential_calls"][name]
                message, store = f"{name} reads {what}", what if name.startswith(f"{what}.") else ""
                self._site.report("code-credential-store", call, message, subject=store)
            elif name in _WHOLE or (name in COPIERS and self._takes_environment(call, scope)):
                self._site.report("code-environment-read", call, "every variable of the environment is read")
        self.paths(call, scope, names, harmless=harmless)

    def subscript(self, node: ast.Subscript, scope: Scope) -> None:
        """Judge ``os.environ["NAME"]`` where it is read."""
        read = node.ctx.__class__ is ast.Load and self.meets_environment
        if read and "os.environ" in self._site.names.resolve(node.value, scope):
            self._variable(node, node.slice, scope)

    def finish(self) -> None:
        """After every call: what secret paths passed from call to call reach, and those that no judged read covers."""
        if self._texts or any(self._known.values()):
            for call, scope in self._later:
                self._arguments(call, scope, follow=True)
        for node, text, what in self._texts.values():
            if id(node) not in self._covered and len(text) < _LONGEST_MENTION:
                self._site.report("code-credential-mention", node, f"names the place of {what}")

    @cached_property
    def meets_environment(self) -> bool:
        """False when no expression of the file can stand for the environment as a whole."""
        text = self._site.segment.text
        spelled = text if text.isascii() else unicodedata.normalize("NFKC", text)  # as Python reads names
        return self._linked or _ways().occurs(0, spelled.encode("utf-8", "replace"))

    @cached_property
    def _texts(self) -> dict[int, tuple[ast.Constant, str, str]]:
        """The file's texts that name a secret's place, by their node's id: most files are told by a few looks."""
        values: list[tuple[ast.Constant, Any]] = [(node, node.value) for node in self._site.found.texts]
        texts = [
            (node, value if value.__class__ is str else value.decode("latin-1"))
            for node, value in values
            if len(value) < _LONGEST_TEXT
        ]
        found: dict[int, tuple[ast.Constant, str, str]] = {}
        if len(texts) > _AT_ONCE and not secrets().near("\n".join([text for _, text in texts])):
            return found
        for first in range(0, len(texts), _AT_ONCE):
            some = texts[first : first + _AT_ONCE]
            if secrets().near("\n".join(text for _, text in some)):
                known = ((node, text, secrets().path(text)) for node, text in some)
                found.update((id(node), (node, text, what)) for node, text, what in known if what is not None)
        return found

    def _variable(self, node: ast.Call | ast.Subscript, chooser: ast.AST, scope: Scope) -> None:
        value = self._site.fold(chooser, scope)
        names = [item for item in alternatives(value) if isinstance(item, str) and HOLE not in item]
        if not names:
            self._site.capability("env", "*", node)
        for name in names:
            if secrets().plain(name):
                continue
            self._site.capability("env", name, node)
            if secrets().variable(name):
                self._site.report("code-credential-env", node, f"reads the secret {name}", subject=name)

    def _takes_environment(self, call: ast.Call, scope: Scope) -> bool:
        return any("os.environ" in self._site.names.resolve(item, scope) for item in call.args)

    def paths(self, call: ast.Call, scope: Scope, names: tuple[str, ...], *, harmless: bool = False) -> None:
        """Judge the arguments of `call` that may name a secret's place; of a `harmless` one what it is called on."""
        function = call.func
        receiver, method = (function.value, function.attr) if isinstance(function, ast.Attribute) else (None, "")
        if receiver is not None and method in self._read_methods and self._path(call, receiver, scope, True):
            return
        if harmless:
            return
        looks = receiver is not None and method in self._harmless_methods and self._readers.isdisjoint(names)
        if looks or (receiver is None and self._is_local(call, scope)):
            for item in call.args if not looks or method in self._site.found.attributes else ():
                self._named(item, scope, follow=False)
            return
        follow = self._linked or not self._readers.isdisjoint(names)
        if not self._arguments(call, scope, follow=follow) and not follow:
            self._later.append((call, scope))

    def _arguments(self, call: ast.Call, scope: Scope, *, follow: bool) -> bool:
        """Report every argument that names a secret's place."""
        found = False
        mentions = bool(self._texts)
        for item in (*call.args, *[each.value for each in call.keywords]) if call.keywords else call.args:
            kind = item.__class__
            if kind is ast.Constant and not mentions:
                continue
            if kind in _FOLDED and self._path(call, item, scope, follow):
                found = True
        return found

    def _is_local(self, call: ast.Call, scope: Scope) -> bool:
        """True for a call of a function or class that this file defines: its body is judged with what it is given."""
        if not isinstance(call.func, ast.Name):
            return False
        bound = scope.lookup(call.func.id)
        return bound is not None and all(item.kind == "define" for item in bound[1])

    def _named(self, item: ast.expr, scope: Scope, follow: bool) -> tuple[str, str]:
        """The secret path that `item` may hold and what it is, or two empty texts."""
        kind = item.__class__
        if kind is ast.Tuple or kind is ast.List:
            if _names_only(item):  # type: ignore[arg-type]
                return "", ""
            elements: list[ast.expr] = item.elts  # type: ignore[attr-defined]
            for each in elements:
                if each.__class__ in _MADE and (found := self._named(each, scope, follow))[1]:
                    return found
            return "", ""
        if kind is ast.Constant:
            if not self._texts:
                return "", ""
            known_text = self._texts.get(id(item))
            return known_text[1:] if known_text is not None else ("", "")
        if kind is ast.Name and not follow:
            return self._of_name(item, scope)  # type: ignore[arg-type]
        if kind is ast.Attribute and not self._linked:
            ending: str = item.attr  # type: ignore[attr-defined]
            if ending not in self._site.found.attributes and ending not in CONSTANT_ENDS:
                return "", ""
        return self._folded(item, scope, follow) if kind in _FOLDED else ("", "")

    def _of_name(self, name: ast.Name, scope: Scope) -> tuple[str, str]:
        bound = scope.lookup(name.id)
        if bound is None:
            return self._folded(name, scope, False) if scope.module.stars else ("", "")
        key = (id(bound[0]), name.id)
        known = self._named_by.get(key)
        if known is None:
            silent = all(each.kind in UNTOLD or _is_no_text(each) for each in bound[1])
            known = self._named_by[key] = ("", "") if silent else self._folded(name, scope, False)
        return known

    def _folded(self, item: ast.expr, scope: Scope, follow: bool) -> tuple[str, str]:
        folder = self._site.folder
        value = folder.fold(item, scope) if follow else folder.near(item, scope)
        kind = value.__class__
        if kind is not OneOf and kind not in _TEXTUAL:
            return "", ""
        known_texts = (each.decode("latin-1") if each.__class__ is bytes else each for each in alternatives(value))
        texts = [each for each in known_texts if each.__class__ is str and len(each) >= _SHORTEST_PATH]
        fresh = [each for each in texts if each not in self._known]
        if len(fresh) > 1 and not secrets().near("\n".join([each for each in fresh if len(each) <= _LONGEST_TEXT])):
            self._known.update(dict.fromkeys(fresh, ""))
        for text in texts:
            known = self._known.get(text)
            if known is None:
                known = self._known[text] = secrets().path(text) or ""
            if known:
                return text, known
        return "", ""

    def _path(self, call: ast.Call, item: ast.expr, scope: Scope, follow: bool) -> bool:
        text, what = self._named(item, scope, follow)
        if what:
            self._covered.update(map(id, ast.walk(item)))
            taken = self._site.found.taken.get(id(call)) if what in KEPT_BY_AGENTS else None
            if taken is not None:
                self._taken(call, taken)
                return True
            if _BARE_ADDRESS.fullmatch(text) and _GUARD.fullmatch(_last_name(call)):
                return False
            message = f"reaches for {what}: {text.replace(HOLE, '…')[:120]}"
            severity = secrets().reading(what) or (Severity.WARN if self._lists_profiles(text) else None)
            self._site.report("code-credential-file", call, message, subject=subject_of(what), severity=severity)
        return bool(what)

    def _taken(self, call: ast.Call, names: frozenset[str]) -> None:
        """Variables out of what an agent keeps for all tools: they are judged as those of the environment are."""
        if not names:
            shown = "what the agent keeps becomes the environment, as with source"
            self._site.report("code-credential-mention", call, shown)
        for name in sorted(names):
            self._site.capability("env", name, call)
            if secrets().variable(name):
                shown = f"reads {name} from what the agent keeps"
                self._site.report("code-credential-env", call, shown, subject=name)

    def _lists_profiles(self, path: str) -> bool:
        """True for a browser's table of profiles, where the file looks into it for their names and for nothing else."""
        program = self._site.segment.text
        return _PROFILES.search(path) is not None and "info_cache" in program and not _OPENING.search(program)


def _last_name(call: ast.Call) -> str:
    function = call.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _is_no_text(binding: Binding) -> bool:
    """True for a value that is written as a table, a list, a number or a test."""
    node = binding.node
    return binding.kind == "value" and (
        node.value.__class__ not in _TEXTUAL if node.__class__ is ast.Constant else node.__class__ in _NO_TEXT
    )


def _names_only(command: ast.Tuple | ast.List) -> bool:
    """True for ``["sudo", "chown", "-R", "me", path]``: a program that gives nothing of a file away."""
    words = [each.value for each in command.elts if isinstance(each, ast.Constant)]
    first = words[1] if words[:1] == ["sudo"] and len(words) > 1 else words[0] if words else ""
    written = len(command.elts) > 1 and isinstance(command.elts[0], ast.Constant)
    return written and first in {"chown", "chmod", "mkdir", "ssh-keygen", "ssh-add", "ssh-copy-id"}


def is_error(name: str) -> bool:
    """True for a built-in exception: a text about a path reads nothing."""
    return name.startswith("builtins.") and name.endswith(("Error", "Exception", "Warning", "Exit"))
