"""What a call gives back: modules, decoded and joined texts, and what the file's own functions return."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

from skillkeep.auditor.engines.javascript.inner import inner_nodes, saying
from skillkeep.auditor.engines.javascript.scopes import Scope
from skillkeep.auditor.engines.javascript.settings import Settings
from skillkeep.auditor.engines.javascript.texts import (
    BYTE_ENCODINGS,
    HOLE,
    MAX_TEXT,
    character,
    decode,
    module_path,
    on_text,
    replaced,
)
from skillkeep.auditor.engines.javascript.values import MOST, UNKNOWN, Value, joined, text_value, union

if TYPE_CHECKING:
    from skillkeep.auditor.engines.javascript.resolve import Resolver
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Calls"]

_DECODERS: Final = frozenset({"atob", "decodeURIComponent", "unescape", "decodeURI"})
_LOADERS: Final = (".require", "._load", "createRequire()", ".getBuiltinModule")
_PAST: Final = ("._load", ".getBuiltinModule", ".mainModule.require", ".constructor.require")  # go around `require`
_BINDINGS: Final = frozenset({"process.binding", "process._linkedBinding"})
_BOUND: Final = frozenset({"spawn_sync", "process_wrap"})
_WORST: Final = "child_process"  # what is taken for a module that is not known and was loaded past `require`
_JOINERS: Final = frozenset({"path.join", "path.resolve", "path.posix.join", "path.posix.resolve"})
_SAME: Final = frozenset(
    {"String", "TextDecoder().decode", "TextEncoder().encode", "Buffer", "Object.freeze", "path.normalize"}
)
_AWAIT: Final = ("await",)  # the grammar takes ``await (…)`` for a call
_MOST_ITEMS: Final = 4096
_MOST_FRAMES: Final = 3
_SHORT: Final = 600


class Calls:
    """Results of calls; see `Resolver`."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._settings = Settings(resolver)
        self._frames = 0
        self._returned: dict[int, Value] = {}

    def made(self, node: Node, maker: Value, scope: Scope) -> Value:
        """The value of ``new maker(…)``."""
        arguments = self._resolver.arguments(node)
        if "URL" in maker.paths and arguments:
            first = self._resolver.value(arguments[0], scope)
            base = self._resolver.value(arguments[1], scope) if len(arguments) > 1 else UNKNOWN
            whole = first if any("://" in text for text in first.texts) or base.opaque else joined((base, first))
            return Value(paths=("URL()",), texts=whole.texts)
        if "Request" in maker.paths and arguments:
            return Value(paths=("Request()",), texts=self._resolver.value(arguments[0], scope).texts)
        return Value(paths=maker.suffixed("()"), functions=maker.functions)

    def result(self, node: Node, callee: Value, scope: Scope) -> Value:
        """The value of a call whose callee is known as `callee`."""
        arguments = self._resolver.arguments(node)
        if callee.paths == _AWAIT and len(arguments) == 1:
            return self._resolver.value(arguments[0], scope)
        target = node.child_by_field_name("function")
        receiver, method = self._receiver(target, scope)
        if method == "bind" and receiver is not None and (receiver.paths or receiver.functions):
            return receiver
        found = [value for path in callee.paths if (value := self._of_path(path, node, arguments, scope)) is not None]
        found += [self.applied(function, arguments, scope) for function in callee.functions]
        if receiver is not None and (made := self._on_receiver(method, receiver, arguments, scope)) is not None:
            plain = {*receiver.suffixed(f".{method}()"), f"text.{method}()"}  # no more than that a method was called
            found = [each for each in found if not (plain.issuperset(each.paths) and _is_path(each))]
            found.append(made)
        return union(found) if found else UNKNOWN

    def _receiver(self, target: Node | None, scope: Scope) -> tuple[Value | None, str]:
        while target is not None and target.type in {"parenthesized_expression", "non_null_expression"}:
            target = next(iter(inner_nodes(target)), None)
        if target is None or target.type not in {"member_expression", "subscript_expression"}:
            return None, ""
        receiver = self._resolver.value(target.child_by_field_name("object"), scope)
        if target.type == "member_expression":
            key = target.child_by_field_name("property")
            return receiver, self._resolver.program.name(key) if key is not None else ""
        return receiver, self._resolver.value(target.child_by_field_name("index"), scope).text or ""

    def _of_path(self, path: str, node: Node, arguments: list[Node], scope: Scope) -> Value | None:
        """The value of a call of one known path."""
        if path in self._resolver.words.importers or path.endswith(_LOADERS):
            return self._module(arguments, scope, _WORST if path.endswith(_PAST) else "?")
        if path in _BINDINGS:
            name = self._resolver.value(arguments[0], scope).text if arguments else None
            return Value(paths=(_WORST if name is None or name in _BOUND else "?",))
        if path.endswith("promisify") and arguments:
            return self._resolver.value(arguments[0], scope)
        if path == "Reflect.apply" and len(arguments) > 1:
            return Value(paths=self._resolver.value(arguments[0], scope).suffixed("()"))
        if path == "Reflect.get" and len(arguments) > 1:
            return self._reflected(arguments, scope)
        if (given := self._settings.of(path, node, arguments, scope)) is not None:
            return given
        return self._pure(path, arguments, scope) or Value(paths=Value(paths=(path,)).suffixed("()"))

    def _reflected(self, arguments: list[Node], scope: Scope) -> Value:
        owner, names = (self._resolver.value(each, scope) for each in arguments[:2])
        known = names.known or ("?",)
        return union(self._resolver.names.member(owner, name, computed=True) for name in known)

    def _module(self, arguments: list[Node], scope: Scope, unknown: str) -> Value:
        name = self._resolver.value(arguments[0], scope) if arguments else UNKNOWN
        paths = [self._resolver.surroundings.named(module_path(text)) for text in name.known]
        return Value(paths=tuple(paths) or (unknown,), decoded=name.decoded)

    def _pure(self, path: str, arguments: list[Node], scope: Scope) -> Value | None:
        """Functions without effects on texts that are known."""
        if path == "os.homedir":
            return Value(paths=("os.homedir()",), texts=("~",))
        if path in _JOINERS:
            parts = [self._resolver.value(argument, scope) for argument in arguments]
            spaced = [each for part in parts for each in (part, text_value("/"))]
            whole = joined(spaced[:-1])
            return Value(texts=tuple(_slashes(text) for text in whole.texts), decoded=whole.decoded)
        if path in {"String.fromCharCode", "String.fromCodePoint"}:
            return self._characters(arguments, scope)
        if not arguments:
            return None
        first = self._resolver.value(arguments[0], scope)
        if path in _DECODERS or path == "Buffer.from":
            return self._decoded(path, first, arguments, scope)
        if path in _SAME and first.texts:
            return Value(("text",) if path == "Buffer" else (), first.texts, decoded=first.decoded)
        if path in {"Number", "parseInt"} and first.texts:
            return self._number(first, arguments, scope)
        if path == "Array.from" and (first.items is not None or first.text is not None):
            return (
                first
                if first.items is not None
                else Value(items=tuple(map(text_value, (first.text or "")[:_MOST_ITEMS])))
            )
        return None

    def _number(self, first: Value, arguments: list[Node], scope: Scope) -> Value | None:
        base = self._resolver.value(arguments[1], scope).text if len(arguments) > 1 else "10"
        try:
            return text_value(str(int(first.text or "", int(base or ""))), number=True, decoded=first.decoded)
        except ValueError:
            return None

    def _decoded(self, path: str, first: Value, arguments: list[Node], scope: Scope) -> Value | None:
        if first.items is not None and path == "Buffer.from":
            texts = [character(item.text) if item.text is not None else None for item in first.items]
            known = all(text is not None for text in texts)
            return Value(("Buffer.from()",), ("".join(map(str, texts)),), decoded=True) if known else None
        encoding = self._resolver.value(arguments[1], scope).text if len(arguments) > 1 else None
        texts = [decode(path, text, encoding) for text in first.known]
        hides = path != "Buffer.from" or encoding in BYTE_ENCODINGS
        paths = (f"{path}()",)
        if not first.known or any(text is None for text in texts):
            return Value(paths, decoded=hides and path != "Buffer.from")
        kept = [str(text) for text in texts] + ([HOLE] if len(first.known) < len(first.texts) else [])
        return Value(paths, tuple(kept), decoded=hides or first.decoded)

    def _characters(self, arguments: list[Node], scope: Scope) -> Value:
        items: list[Value] = []
        for argument in arguments:
            value = self._resolver.value(argument, scope)
            items.extend(value.items if value.items is not None and argument.type == "spread_element" else (value,))
        texts = [character(item.text) if item.text is not None else None for item in items]
        if not texts or any(text is None for text in texts) or len(texts) > MAX_TEXT:
            return Value(paths=("String.fromCharCode()",), decoded=True)
        return text_value("".join(map(str, texts)), decoded=True)

    def _on_receiver(self, method: str, receiver: Value, arguments: list[Node], scope: Scope) -> Value | None:
        if method in {"apply", "call"} or not (receiver.texts or receiver.items is not None):
            return None
        if receiver.items is not None:
            return self._on_items(method, receiver, arguments, scope)
        folded = self._resolver.texts(arguments[:64], scope)
        first = folded[0] if folded else None
        if method == "split" and first is not None and receiver.text is not None:
            pieces = receiver.text if first == "" else receiver.text.split(first)
            return Value(items=tuple(text_value(piece, decoded=receiver.decoded) for piece in pieces[: MAX_TEXT >> 5]))
        if method == "toString" and first in BYTE_ENCODINGS and "Buffer.from()" in receiver.paths:
            return union(text_value(_encoded(text, str(first))) for text in receiver.known[:MOST] or ("",))
        if method in {"replace", "replaceAll"} and len(folded) > 1 and arguments[0].type == "regex":
            pattern = self._resolver.program.syntax.source(arguments[0])
            texts = [replaced(pattern, text, folded[1]) for text in receiver.texts]
        else:
            texts = [on_text(method, text, folded) for text in receiver.texts]
        kept = [text for text in texts if text is not None]
        if not kept or len(kept) < len(texts):
            return None
        self._resolver.spend(sum(map(len, kept)) >> 8)
        return Value(texts=tuple(kept), decoded=receiver.decoded, number=method in {"charCodeAt", "codePointAt"})

    def _on_items(self, method: str, receiver: Value, arguments: list[Node], scope: Scope) -> Value | None:
        items = receiver.items or ()
        if not self._resolver.spend(len(items) >> 2):
            return UNKNOWN
        first = self._resolver.value(arguments[0], scope) if arguments else UNKNOWN
        if method == "join":
            comma = "," if not arguments else first.text if first.text is not None else HOLE
            decoded = receiver.decoded or any(item.decoded for item in items)
            between = text_value(str(comma))
            spaced = [each for item in items for each in (item, between)]
            return joined(spaced[:-1]).marked(decoded) if spaced else text_value("")
        if method == "reverse":
            return Value(items=tuple(item.marked(True) for item in reversed(items)), decoded=True)
        if method in {"filter", "slice", "sort", "concat", "flat", "values"}:
            return receiver
        if method == "map" and first.functions and len(items) <= _MOST_ITEMS:
            return Value(items=tuple(self.followed(first.functions[0], (item,)) for item in items))
        if method == "map" and first.paths:
            return Value(items=tuple(UNKNOWN for _ in items))
        return None

    def applied(self, function: Scope, arguments: list[Node], scope: Scope) -> Value:
        """What a function of the file returns for these arguments."""
        if self._follows(function):
            values = tuple(self._resolver.value(argument, scope) for argument in arguments[:16])
            if any(value.texts or value.paths or value.items is not None for value in values):
                return self.followed(function, values)
        return self.returned(function)

    def _follows(self, function: Scope) -> bool:
        """True for a short function, whose result its arguments may decide; a long one is read once for all calls."""
        node = function.node
        short = node is not None and node.end_byte - node.start_byte <= _SHORT and len(function.returns) <= 2
        return short and self._resolver.names.frame_depth > function.depth and self._frames < _MOST_FRAMES

    def returned(self, function: Scope) -> Value:
        """What a function returns whoever calls it."""
        assert function.node is not None
        known = self._returned.get(function.node.id)
        if known is None:
            self._returned[function.node.id] = UNKNOWN  # while it is found out, for functions that call themselves
            known = union([self._resolver.value(node, function) for node in saying(function.returns)] or [UNKNOWN])
            self._returned[function.node.id] = known
        return known

    def followed(self, function: Scope, values: tuple[Value, ...]) -> Value:
        """What a function returns when its parameters are `values`."""
        names = self._resolver.names
        if not function.returns or not self._follows(function):
            return self.returned(function)
        if not self._resolver.spend(8):
            return UNKNOWN
        frame = {
            (function, name): values[binding.index] if binding.index < len(values) else UNKNOWN
            for name, bindings in function.names.items()
            for binding in bindings[:1]
            if binding.kind == "parameter" and not binding.members
        }
        outer, depth = names.frame, names.frame_depth
        memo = self._resolver.framed({})
        names.frame, names.frame_depth = frame, function.depth
        self._frames += 1
        try:
            return union([self._resolver.value(node, function) for node in saying(function.returns)])
        finally:
            self._frames -= 1
            names.frame, names.frame_depth = outer, depth
            self._resolver.framed(memo)


def _is_path(value: Value) -> bool:
    return bool(value.paths) and not (value.texts or value.functions or value.objects) and value.items is None


def _slashes(text: str) -> str:
    while "//" in text:
        text = text.replace("//", "/")
    return text


def _encoded(text: str, encoding: str) -> str:
    data = text.encode("utf-8", "replace")
    return data.hex() if encoding == "hex" else base64.b64encode(data).decode()
