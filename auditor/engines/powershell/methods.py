"""Judges calls of .NET and COM objects: web clients, decoders, assemblies, processes, the environment, files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.powershell.execution import Execution
from skillkeep.auditor.engines.powershell.folding import Folder
from skillkeep.auditor.engines.powershell.operators import decoded_bytes, string_method, text_of_bytes
from skillkeep.auditor.engines.powershell.reach import Reach
from skillkeep.auditor.engines.powershell.site import Site
from skillkeep.auditor.engines.powershell.unpacking import unpacked_into
from skillkeep.auditor.engines.values import HOLE, NOTHING, UNKNOWN, Value, listed

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Methods"]

_TEXT: Final = "text.encoding"
_READING: Final = frozenset(
    {"readalltext", "readallbytes", "readalllines", "readlines", "openread", "copy", "open", "opentext"}
)
_WRITING: Final = frozenset({"writealltext", "writeallbytes", "writealllines", "appendalltext", "create"})
_RUNNING: Final = frozenset({"invokescript", "newscriptblock", "addscript", "addcommand"})
_LOADING: Final = frozenset({"load", "unsafeloadfrom", "loadfile", "loadfrom"})
_STARTING: Final = frozenset({"run", "exec", "shellexecute", "start", "create", "execwb", "shellexecutea"})


class Methods:
    """Judges one call or property at a time."""

    def __init__(self, site: Site, table: dict[str, Any], execution: Execution, reach: Reach) -> None:
        self._site = site
        self._execution = execution
        self._reach = reach
        self._web = frozenset(table["web_classes"])
        self._downloading = frozenset(table["downloading"])
        self._sending = frozenset(table["sending"])
        self.folder: Folder | None = None

    def call(self, node: Node, target: Value, name: str, arguments: list[Value] | None) -> Value:
        """``target.name(arguments)``; a property when `arguments` is None."""
        given = tuple(arguments or ())
        labels = target.labels | NOTHING.union(*(argument.labels for argument in given))
        kind = target.text if target.kind == "type" else target.kind
        if kind in self._web or name in {
            "downloadstring",
            "downloadfile",
            "downloaddata",
            "uploadstring",
            "uploaddata",
        }:
            return self._web_call(node, kind, name, given, labels)
        if name == "extracttodirectory" and len(given) > 1:
            places = self._argument(node, 0), self._argument(node, 1)
            unpacked_into(given[0], places[0], given[1], places[1], self._site)
        if target.kind == "type":
            return self._static(node, kind, name, given, labels)
        if kind.startswith(_TEXT) and name in {"getstring", "getchars"} and given:
            return text_of_bytes(kind.rpartition(".")[2], given[0])
        if name in _RUNNING and given:
            self._execution.text(given[0], node, name)
        elif name in {"invoke", "invokereturnasis", "begininvoke"} and (labels & {"download", "decoded"}):
            self._execution.text(Value(target.text, labels), node, "Invoke")
        elif kind in {"wscript.shell", "shell.application", "win32_process"} and name in _STARTING and given:
            self._execution.text(Value(" ".join(part.text for part in given), labels), node, f"{kind}.{name}")
            self._site.derive(given[0].text, Context.SHELL, node, name)
        if arguments is None:
            if name == "length" and target.known:
                return Value(str(len(target.text)), kind="int")
            return Value(HOLE, labels, kind=kind)
        return string_method(target, name, given).labelled(labels)

    def _web_call(self, node: Node, kind: str, name: str, given: tuple[Value, ...], labels: frozenset[str]) -> Value:
        if name in self._sending and given:
            if "://" in given[0].text or name.startswith("upload"):
                self._site.connects(given[0], node, name)
            for argument in given:
                labels |= self._reach.touched(argument, node, name)
            self._site.sent(labels, node, name)
        elif name in {"open", "create", "connect", "new"} and given:
            address = next((argument for argument in given if "://" in argument.text), given[0])
            self._site.connects(address, node, kind or name)
            self._site.sent(address.labels, node, name)
        elif name in self._downloading:
            if given:
                self._site.connects(given[0], node, name)
                self._site.sent(given[0].labels, node, name)
            if name.startswith("downloadfile") and len(given) > 1:
                self._site.fill(given[1], self._argument(node, 1), frozenset({"download"}), given[0].text)
            return Value(HOLE, (labels | {"download"}), kind=kind)
        return Value(HOLE, labels, kind=kind)

    @staticmethod
    def _argument(node: Node, place: int) -> Node | None:
        """The node of an argument."""
        for child in node.children:
            if child.type == "argument_list" and child.named_children:
                inner = child.named_children[0].named_children
                return inner[place] if place < len(inner) else None
        return None

    def _static(self, node: Node, kind: str, name: str, given: tuple[Value, ...], labels: frozenset[str]) -> Value:
        first = given[0] if given else UNKNOWN
        if kind == "convert" and name == "frombase64string":
            return decoded_bytes(first)
        if kind in {"convert", "int", "byte", "char"} and given:
            return self._converted(name, given)
        if kind == "string" and name in {"join", "concat"}:
            return self._string(name, given)
        if kind.startswith(_TEXT):
            return Value(HOLE, labels, kind=f"{_TEXT}.{name}") if not given else text_of_bytes("utf8", first)
        if kind in {"io.file", "file"}:
            return self._file(node, name, given, labels)
        if kind == "environment":
            return self._environment(node, name, first)
        return self._system(node, kind, name, given, labels)

    def _system(self, node: Node, kind: str, name: str, given: tuple[Value, ...], labels: frozenset[str]) -> Value:
        first = given[0] if given else UNKNOWN
        if kind == "scriptblock" and name == "create":
            self._execution.text(first, node, "ScriptBlock.Create")
            return Value(first.text, first.labels, kind="block")
        if kind.endswith("reflection.assembly") and name in _LOADING:
            self._loaded(first, node, labels)
        elif kind == "diagnostics.process" and name == "start":
            self._execution.started(first, node, self._argument(node, 0), "Process.Start")
            self._site.derive(" ".join(part.text for part in given), Context.POWERSHELL, node, "Process.Start")
        elif kind == "array" and name == "reverse":
            self._reversed(node, first)
        elif kind == "wmiclass" and name == "create":
            self._execution.text(first, node, "win32_process")
        elif "dataprotection" in kind or kind.endswith("protecteddata"):
            self._site.report("code-credential-store", node, "stored secrets are decrypted")
            labels |= {"secret:stored secrets"}
        return Value(HOLE, labels, kind=kind if name == "new" else "")

    def _loaded(self, value: Value, node: Node, labels: frozenset[str]) -> None:
        if "download" in labels:
            self._execution.downloaded(node, "Assembly.Load")
        elif "decoded" in labels:
            self._site.report("shell-decoded-execution", node, "a program that was hidden is loaded")
        elif not value.known:
            self._site.report("powershell-execution", node, "a program made at run time is loaded")

    def _environment(self, node: Node, name: str, first: Value) -> Value:
        if name == "getenvironmentvariables":
            return Value(HOLE, frozenset({"environment"}))
        if name == "getenvironmentvariable" and first.known and self.folder is not None:
            return self.folder.environment(first.text, node)
        if name == "getfolderpath":
            folders = {
                "userprofile": "~",
                "applicationdata": "~/AppData/Roaming",
                "startup": "~/Start Menu/Programs/Startup",
                "localapplicationdata": "~/AppData/Local",
            }
            return Value(folders.get(first.text.lower(), HOLE))
        return UNKNOWN

    def _file(self, node: Node, name: str, given: tuple[Value, ...], labels: frozenset[str]) -> Value:
        if name in _READING and given:
            return Value(HOLE, self._reach.touched(given[0], node, name) | labels)
        if name in _WRITING and given:
            self._reach.written(given[0], self._argument(node, 0), labels, node)
        return Value(HOLE, labels)

    @staticmethod
    def _converted(name: str, given: tuple[Value, ...]) -> Value:
        base = int(given[1].text) if len(given) > 1 and given[1].text in {"2", "8", "10", "16"} else 10
        try:
            number = int(given[0].text, base)
        except ValueError:
            return Value(HOLE, given[0].labels)
        if name == "tochar":
            return Value(chr(number) if 0 <= number < 0xD800 else HOLE, given[0].labels)
        return Value(str(number), given[0].labels, kind="int")

    @staticmethod
    def _string(name: str, given: tuple[Value, ...]) -> Value:
        labels = NOTHING.union(*(part.labels for part in given))
        if name == "join" and len(given) > 1:
            parts = given[1].parts() if len(given) == 2 else given[1:]
            return Value(given[0].text.join(part.text for part in parts), labels)
        if name == "concat":
            return Value("".join(part.text for whole in given for part in whole.parts()), labels)
        return Value(HOLE, labels)

    def _reversed(self, node: Node, value: Value) -> None:
        """``[array]::Reverse($x)`` changes its argument."""
        place = self._argument(node, 0)
        if place is not None:
            name = self._site.source(place).strip().lstrip("$").lower()
            if name in self._site.variables:
                self._site.variables[name] = listed(tuple(reversed(value.parts())))
