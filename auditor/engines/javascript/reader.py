"""Reads expressions from tokens: which qualified name a chain stands for, and which text an expression folds to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from skillkeep.auditor.engines.javascript.bindings import Binding, Bindings, module_path
from skillkeep.auditor.engines.javascript.texts import BYTE_ENCODINGS, HOLE, MAX_TEXT, characters, decode, on_text
from skillkeep.auditor.engines.javascript.tokens import Tokens

__all__ = ["HOLE", "Chain", "Reader"]

_MAX_DEPTH: Final = 30
_STEPS: Final = 20_000
_STEPS_A_TOKEN: Final = 40
_GLOBALS: Final = frozenset({"globalThis", "window", "global", "self", "top", "parent", "frames"})
_PURE: Final = frozenset(
    {
        "atob", "Buffer.from", "decodeURIComponent", "decodeURI", "unescape", "String.fromCharCode", "String",
        "path.join", "path.resolve", "os.homedir", "process.binding", "process._linkedBinding",
    }
)  # fmt: skip
_HOMES: Final = frozenset({"process.env.HOME", "process.env.USERPROFILE", "os.homedir()", "Deno.env.get()"})
_MOST_VALUES: Final = 1024
_MOST_ARGUMENTS: Final = 8_192
_LONGEST_PATH: Final = 2_000
_MOST_PATHS: Final = 64
_IMPORTED: Final = frozenset({"ws", "got", "ky", "request", "needle", "superagent", "execa", "zx", "bun", "undici"})
_WORDS: Final = frozenset({"await", "new", "void", "typeof", "yield", "async", "delete"})


@dataclass(frozen=True, slots=True)
class Chain:
    """A member expression. `path` is its qualified name (may be empty), `text` what it folds to, `end` the index
    after it. `calls` are the calls along it: (path called, first token, index of the bracket or template).
    """

    path: str
    text: str | None
    end: int
    calls: tuple[tuple[str, int, int], ...] = ()
    items: tuple[str, ...] | None = None


class Reader:
    """Expressions of one file; bounded in depth and steps."""

    def __init__(self, tokens: Tokens, bindings: Bindings, heads: frozenset[str]) -> None:
        """`heads` are the modules and globals that names are followed to; a name may stand for many others."""
        self.tokens = tokens
        self.bindings = bindings
        self._heads = heads
        self.decoded = False  # set when a decoder took part in the last fold
        self._left = _STEPS + _STEPS_A_TOKEN * len(tokens.kinds)
        self._memo: dict[str, tuple[Chain, bool]] = {}
        self._chains: dict[int, tuple[Chain, bool]] = {}
        self._depth = 0
        self._open: set[str] = set()

    @property
    def exhausted(self) -> bool:
        """True when the budget of steps ran out, so that later answers are empty."""
        return self._left <= 0 or self.tokens.looks <= 0

    def arguments(self, bracket: int) -> list[tuple[int, int]]:
        """Token ranges of the arguments of the call whose ``(`` is at `bracket`; a tagged template is one."""
        if self.tokens.kinds[bracket] == "template":
            return [(bracket, self.tokens.after[bracket])]
        found: list[tuple[int, int]] = []
        last = self.tokens.closing.get(bracket, bracket)
        at = bracket + 1
        while at < last:
            end = min(self._end_of_argument(at), last)
            if end > at:
                found.append((at, end))
            at = end + 1
            if len(found) > _MOST_ARGUMENTS:
                self._left = 0  # what is cut off could matter, so the file counts as not fully judged
                break
        return found

    def _end_of_argument(self, at: int) -> int:
        tokens = self.tokens
        scanned = 0
        while at < len(tokens.kinds) and not (
            tokens.kinds[at] == "punct" and tokens.values[at] in {",", ")", "]", "}"}
        ):
            at = tokens.next(at)
            scanned += 1
        self._left -= scanned >> 3  # a long argument costs steps as well
        return min(at, len(tokens.kinds))

    def chain(self, at: int) -> Chain:
        """The member expression that starts at `at`."""
        if at in self._chains:
            chain, decoded = self._chains[at]
            self.decoded = self.decoded or decoded
            return chain
        if self._depth > _MAX_DEPTH or self._left <= 0 or at >= len(self.tokens.kinds):
            return Chain("", None, at + 1)
        self._left -= 1
        self._depth += 1
        outer, self.decoded = self.decoded, False
        try:
            chain = self._chain(at)
            if not self._open and self._depth == 1:
                self._chains[at] = (chain, self.decoded)
            return chain
        finally:
            self.decoded = self.decoded or outer
            self._depth -= 1

    def _chain(self, at: int) -> Chain:
        tokens, first = self.tokens, at
        while tokens.kinds[at] == "name" and tokens.values[at] in _WORDS and at + 1 < len(tokens.kinds):
            at += 1
        head = self._primary(at)
        path, text, items, at = head.path, head.text, head.items, head.end
        calls: list[tuple[str, int, int]] = list(head.calls)
        while at < len(tokens.kinds) and self._left > 0:
            self._left -= 1  # a long chain costs steps as well
            at = self._to_link(at)
            if (tokens.is_punct(at, ".") or tokens.is_punct(at, "?.")) and self._is_member(at + 1):
                path, text, items, at = self._member(path, text, items, tokens.values[at + 1], at + 2)
            elif tokens.is_punct(at, "[") and at in tokens.closing:
                end = self._end_of_argument(at + 1)
                key = self.fold(at + 1, end)
                name = key if key is not None and HOLE not in key else "?"
                path, text, items, at = self._member(path, text, items, name, end + 1)
            elif tokens.is_punct(at, "(") and at in tokens.closing:
                path = path if len(path) <= _LONGEST_PATH else ""
                calls.append((path, first, at))
                path, text, items, at = self._called(path, text, items, at)
            elif at < len(tokens.kinds) and tokens.kinds[at] == "template" and path:
                calls.append((path, first, at))
                path, text, at = f"{path}()", None, tokens.after[at]
            else:
                break
        return Chain(path, text, at, tuple(calls), items)

    def _to_link(self, at: int) -> int:
        """Step over what may stand before a member or call: a generic argument, ``!``, and ``?.`` before a bracket."""
        at = self._after_generic(at)
        if self.tokens.is_punct(at, "!") and (self.tokens.is_punct(at + 1, ".") or self.tokens.is_punct(at + 1, "[")):
            at += 1
        bracket = self.tokens.is_punct(at + 1, "[") or self.tokens.is_punct(at + 1, "(")
        return at + 1 if self.tokens.is_punct(at, "?.") and bracket else at

    def _is_member(self, at: int) -> bool:
        return at < len(self.tokens.kinds) and self.tokens.kinds[at] == "name"

    def _after_generic(self, at: int) -> int:
        """Skip TypeScript's ``<T>`` before a bracket."""
        tokens = self.tokens
        if not tokens.is_punct(at, "<"):
            return at
        depth = 0
        for index in range(at, min(at + 24, len(tokens.kinds))):
            value = tokens.values[index] if tokens.kinds[index] == "punct" else ""
            if value in {"(", ")", ";", "=", "+", "&&", "||"}:
                return at
            depth += (value == "<") - (value == ">")
            if depth == 0:
                return index + 1 if tokens.is_punct(index + 1, "(") else at
        return at

    def _primary(self, at: int) -> Chain:
        tokens = self.tokens
        kind, value = tokens.kinds[at], tokens.values[at]
        if kind == "string":
            return Chain("", value, at + 1)
        if kind == "template":
            return Chain("", self._template(at), tokens.after[at])
        if kind == "number":
            return Chain("", value, at + 1)
        if kind == "name":
            if value == "import" and tokens.is_punct(at + 1, "("):
                return Chain("import", None, at + 1)
            return self._name(value, at)
        if value == "(" and at in tokens.closing:
            return self._parenthesis(at)
        if value == "[" and at in tokens.closing:
            return self._array(at)
        return Chain("", None, at + 1)

    def _parenthesis(self, at: int) -> Chain:
        """``(x)``, ``(0, x)``: the last part counts."""
        first = at + 1
        end = self._end_of_argument(first)
        while self.tokens.is_punct(end, ","):
            first, end = end + 1, self._end_of_argument(end + 1)
        inner = self.chain(first) if first < end else Chain("", None, end)
        text = self.fold(first, end)
        whole = inner.end == end or self.tokens.is_name(inner.end, "as")
        return Chain(inner.path if whole else "", text, end + 1, (), inner.items if whole else None)

    def _array(self, at: int) -> Chain:
        items: list[str] = []
        paths: dict[str, None] = {}
        index = at + 1
        while index < len(self.tokens.kinds) and not self.tokens.is_punct(index, "]"):
            end = self._end_of_argument(index)
            items.append(self.fold(index, end) or HOLE)
            if self.tokens.kinds[index] == "name" and len(paths) < _MOST_PATHS:
                paths.update(dict.fromkeys(filter(self._is_hot, self.chain(index).path.split("|"))))
            if not self.tokens.is_punct(end, ",") or len(items) > 8192:
                index = end
                break
            index = end + 1
        return Chain("|".join(paths) or "[]", None, index + 1, (), tuple(items))

    def _is_hot(self, path: str) -> bool:
        """True for a path that leads to something the table knows."""
        return path.partition(".")[0] in self._heads or "constructor" in path or "getPrototypeOf" in path

    def _name(self, name: str, at: int) -> Chain:
        bound = self.bindings.names.get(name)
        if not bound or name in self._open:
            return Chain("" if name in _IMPORTED else name, None, at + 1)
        if name in self._memo:
            known, decoded = self._memo[name]
            self.decoded = self.decoded or decoded
            return Chain(known.path, known.text, at + 1, (), known.items)
        outer, self.decoded = self.decoded, False
        chain = self._bound(name, at)
        self._memo[name] = (chain, self.decoded)
        self.decoded = self.decoded or outer
        return chain

    def value_of(self, name: str) -> str:
        """The qualified names a name may stand for, joined by ``|``."""
        return self._name(name, 0).path

    def _aliases(self, name: str) -> list[Binding]:
        """Every value of `name` and of the names that are plainly assigned to it, however they go in circles."""
        seen, queue = {name}, [name]
        found: list[Binding] = []
        while queue and len(found) < _MOST_VALUES:
            for binding in self.bindings.names.get(queue.pop(), ()):
                alias = self._alias(binding)
                if alias is None:
                    found.append(binding)
                elif alias not in seen:
                    seen.add(alias)
                    queue.append(alias)
                    if alias not in self.bindings.names:
                        found.append(Binding(alias))
        return found

    def _alias(self, binding: Binding) -> str | None:
        if binding.path or binding.members or binding.last - binding.first != 1:
            return None
        return self.tokens.values[binding.first] if self.tokens.kinds[binding.first] == "name" else None

    def _bound(self, name: str, at: int) -> Chain:
        self._open.add(name)
        paths: dict[str, None] = {}
        texts: dict[str | None, None] = {}
        items: tuple[str, ...] | None = None
        bound = self._aliases(name)
        for binding in bound:
            path, text, found = self._value(binding)
            for part in path.split("|") if path else ():
                if self._is_hot(part):
                    paths[part] = None
            texts[text] = None
            items = found if len(bound) == 1 else None
        self._open.discard(name)
        known = [text for text in texts if text is not None]
        text = known[0] if len(texts) == 1 and known else None
        return Chain("|".join(list(paths)[:_MOST_PATHS]) or name, text, at + 1, (), items)

    def _value(self, binding: Binding) -> tuple[str, str | None, tuple[str, ...] | None]:
        if binding.path:
            return binding.path, None, None
        chain = self.chain(binding.first)
        if chain.end < binding.last and not self.tokens.is_name(chain.end, "as"):
            if self._is_fallback(chain.end):
                return self._through(chain.path, binding.members), None, None
            return "", self.fold(binding.first, binding.last) if not binding.members else None, None
        path = self._through(chain.path, binding.members)
        return path, chain.text if not binding.members else None, chain.items

    def _is_fallback(self, at: int) -> bool:
        return self.tokens.is_punct(at, "||") or self.tokens.is_punct(at, "??")

    @staticmethod
    def _through(path: str, members: tuple[str, ...]) -> str:
        return ".".join((path, *members)) if path and members else path

    def _member(
        self, path: str, text: str | None, items: tuple[str, ...] | None, name: str, end: int
    ) -> tuple[str, str | None, tuple[str, ...] | None, int]:
        if items is not None and name.isdecimal():
            at = int(name[:6])
            return path.replace("[]", ""), items[at] if at < len(items) else None, None, end
        if name == "constructor":
            return f"{path or 'value'}.constructor", None, None, end
        if path in _GLOBALS and name != "?":
            return name, None, None, end
        if name == "default" and path:
            return path, None, None, end
        joined = "|".join(f"{part}.{name}" for part in path.split("|")) if path else ""
        if (not path or path in self.bindings.names) and (stored := self._property(name)):
            joined = f"{joined}|{stored}" if joined else stored
        known = "~" if joined in _HOMES else None
        if text is not None or items is not None:
            return f"text.{name}", text, items, end
        return joined, known, None, end

    def _property(self, name: str) -> str:
        """A member of something unknown: what was stored under this name anywhere in the file."""
        key = f".{name}"
        if key in self._open:
            return ""
        self._open.add(key)
        found = [self._value(binding)[0] for binding in self.bindings.properties.get(name, ())[:8]]
        self._open.discard(key)
        return "|".join(dict.fromkeys(path for path in found if path))

    def _called(
        self, path: str, text: str | None, items: tuple[str, ...] | None, bracket: int
    ) -> tuple[str, str | None, tuple[str, ...] | None, int]:
        arguments = self.arguments(bracket)
        end = (arguments[-1][1] if arguments else bracket + 1) + 1
        base, _, method = path.rpartition(".")
        importing = path in {"require", "import"} or path.endswith((".require", "createRequire()", "._load"))
        if not (importing or method == "promisify" or path in _PURE or text is not None or items is not None):
            return ("" if not path else base if method == "bind" else f"{path}()"), None, None, end
        if method == "promisify" and arguments:
            return self.chain(arguments[0][0]).path, None, None, end
        folded = [self.fold(*argument) for argument in arguments[:8192]]
        first = folded[0] if folded else None
        if importing:
            return (module_path(first) if first and HOLE not in first else "?"), None, None, end
        if path in {"process.binding", "process._linkedBinding"}:
            return "child_process" if first in {"spawn_sync", "process_wrap"} else "?", None, None, end
        result, kept = self._applied(path, method, text, items, folded)
        return f"{path}()" if path else "", result, kept, end

    def _applied(
        self, path: str, method: str, text: str | None, items: tuple[str, ...] | None, folded: list[str | None]
    ) -> tuple[str | None, tuple[str, ...] | None]:
        """The value of a call of a pure function on known texts."""
        first = folded[0] if folded else None
        if path in {"atob", "Buffer.from", "decodeURIComponent", "unescape", "decodeURI"} and first is not None:
            encoding = folded[1] if len(folded) > 1 else None
            self.decoded = self.decoded or path != "Buffer.from" or encoding in BYTE_ENCODINGS
            return decode(path, first, encoding), None
        if path == "String.fromCharCode":
            self.decoded = True
            return characters(folded), None
        if path in {"path.join", "path.resolve"}:
            parts = [part if part is not None else HOLE for part in folded]
            return "/".join(part.rstrip("/") for part in parts), None
        if path == "os.homedir":
            return "~", None
        if path == "String" and first is not None:
            return first, None
        if items is not None:
            if method == "join":
                return (first if first is not None else ",").join(items)[:MAX_TEXT], None
            if method == "reverse":
                self.decoded = True
                return None, tuple(reversed(items))
            return None, None
        if text is None:
            return None, None
        return on_text(method, text, folded)

    def _template(self, at: int) -> str:
        parts = self.tokens.parts[at]
        texts = [part if isinstance(part, str) else self.fold(*part) for part in parts]
        return "".join(HOLE if text is None else text for text in texts)[:MAX_TEXT]

    def fold(self, first: int, last: int) -> str | None:
        """The text of the expression in ``[first, last)``: literals, ``+``, known names and pure calls.

        Parts that are not known become a `HOLE`; None when nothing is known.
        """
        texts: list[str | None] = []
        at = first
        while at < last and self._left > 0:
            chain = self.chain(at)
            texts.append(chain.text)
            at = chain.end
            if at >= last:
                break
            if self.tokens.is_name(at, "as") or self.tokens.is_punct(at, "!"):
                break
            if self._is_fallback(at) and len(texts) == 1:
                return texts[0] if texts[0] is not None else self.fold(at + 1, last)
            if not self.tokens.is_punct(at, "+"):
                return None
            at += 1
        if not any(text is not None for text in texts):
            return None
        joined = "".join(HOLE if text is None else text for text in texts)
        return joined if len(joined) <= MAX_TEXT else None
