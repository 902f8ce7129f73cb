"""Judges what PowerShell executes: text given to Invoke-Expression, encoded commands, files from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.installers import is_installer
from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.powershell.calls import Call
from skillkeep.auditor.engines.powershell.declarations import only_declares
from skillkeep.auditor.engines.powershell.operators import decoded_bytes
from skillkeep.auditor.engines.powershell.site import Site
from skillkeep.auditor.engines.powershell.unpacking import built, packages, started_in, unpack
from skillkeep.auditor.engines.values import HOLE, Value
from skillkeep.auditor.interface import Severity

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Execution"]

_SHELLS: Final = frozenset({"powershell", "pwsh"})
_INTERPRETERS: Final[dict[str, tuple[str, Context | None]]] = {
    "bash": ("-c", Context.SHELL),
    "sh": ("-c", Context.SHELL),
    "wsl": ("", Context.SHELL),
    "python": ("-c", Context.PYTHON),
    "python3": ("-c", Context.PYTHON),
    "py": ("-c", Context.PYTHON),
    "node": ("-e", Context.JAVASCRIPT),
    "ruby": ("-e", Context.RUBY),
    "mshta": ("", None),
    "osascript": ("-e", None),
}
_STARTING: Final = frozenset(
    {
        "start-process",
        "invoke-item",
        "import-module",
        "invoke-command",
        "start-job",
        "regsvr32",
        "rundll32",
        "cscript",
        "wscript",
        "msiexec",
        "mshta",
        "python",
        "python3",
        "node",
        "cmd",
    }
)
_STARTERS: Final = {
    "start-process": (("-filepath", 0), ("-argumentlist", 1)),
    "invoke-wmimethod": (("-argumentlist", 99),),
    "invoke-cimmethod": (("-arguments", 99),),
}
_FETCHING: Final = frozenset({"regsvr32", "rundll32", "msiexec", "mshta", "add-appxpackage", "winget"})
_ADDRESS: Final = compiled(r"https?://[^\s\"',;]+")
_MOST_ADDRESSES: Final = 100
_HIDDEN: Final = compiled(r"(?i)^h(?:i(?:d(?:d(?:e(?:n)?)?)?)?)?$|^1$")
_LONGEST_LINE: Final = 200
_SETTING: Final = compiled(  # what shells are set up with: its own words, printed by a program
    r"(?i)\s*(?:\(?& ?)?(?!(?:get|invoke|write|read|import|convert\w*)-|(?:cat|gc|type|irm|iwr|curl|echo)\b)"
    r"[a-z][\w-]* (?:[\w./=:-]+ ){0,4}(?:completions?|init|hook|shellenv|activate)(?: [\w./=:-]+){0,4}\)?"
    r" *\|(?: *Out-String *\|)? *(?:iex|Invoke-Expression)\s*"
)
_SCRIPT: Final = compiled(r"(?i)[\w./\\~:-]+\.ps1")
_BYPASS: Final = compiled(r"(?i)^(?:bypass|unrestricted)$")


class Execution:
    """Judges one call at a time."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def judge(self, call: Call) -> None:
        """Judge what `call` runs."""
        if call.name == "invoke-expression":
            text = call.argument("-command")[0] if call.operands or call.options else call.piped
            self.text(text, call.node, "Invoke-Expression")
        elif call.name in _SHELLS:
            self._shell(call)
        elif call.name == "cmd":
            rest = " ".join(word for word in call.words if word.lower() not in {"/c", "/k", "-c", "/s", "/q"})
            self._site.derive(rest.replace("\\", "/").replace("&", ";"), Context.SHELL, call.node, "cmd")
        elif call.name in _INTERPRETERS:
            self._interpreter(call)
        elif call.name in _STARTERS:
            self._starter(call)
        elif call.name == "add-type":
            self._added(call)
        elif call.invoked and call.program.kind != "block":
            self._invoked(call)
        self._files(call)
        self._elsewhere(call)

    def text(self, value: Value, node: Node, by: str) -> None:
        """`value` is run as PowerShell by `by`."""
        if "download" in value.labels:
            self.downloaded(node, by)
        elif "decoded" in value.labels:
            self._site.report("shell-decoded-execution", node, f"{by} runs a text that was hidden")
        elif not value.known:
            severity = Severity.WARN if self._is_setting(node) else None
            self._site.report(
                "powershell-execution", node, f"{by} runs text that is made at run time", severity=severity
            )
        if value.text.strip(HOLE + " \n\"'"):
            self._site.derive(value.text, Context.POWERSHELL, node, by)

    def _is_setting(self, node: Node) -> bool:
        """True for a line ``program completion powershell | Invoke-Expression``, all of it written down."""
        text = self._site.text
        end = text.find("\n", node.end_byte)
        line = text[text.rfind("\n", 0, node.start_byte) + 1 : end if end >= 0 else len(text)]
        return len(line) < _LONGEST_LINE and _SETTING.fullmatch(line) is not None

    def downloaded(self, node: Node, by: str, address: str = "") -> None:
        """Something downloaded is run; a vendor's documented installer needs eyes, not a block."""
        inside = (
            [address]
            if address
            else [each for each in self._site.addresses[-_MOST_ADDRESSES:] if each in self._site.source(node)]
        )
        urls = inside or self._site.addresses[-1:]
        known = bool(urls) and all(map(is_installer, urls))
        where = f" from {urls[-1][:120]}" if urls else ""
        severity = Severity.WARN if known else None
        message, subject = f"a download{where} is run by {by}", " ".join(urls)
        self._site.report("shell-download-execution", node, message, subject=subject, severity=severity)

    def started(self, file: Value, node: Node, place: Node | None, by: str) -> None:
        """`file` is run, if it came from elsewhere that matters."""
        labels, address = self._site.origin(file, place)
        if "decoded" in labels:
            self._site.report("shell-decoded-execution", node, f"{by} runs a file that a decoder wrote")
        elif "download" in labels:
            self.downloaded(node, by, address)

    def _shell(self, call: Call) -> None:
        hidden = bypass = False
        for name, value in call.options.items():
            if _is_encoded(name, value):
                self._encoded(call, value)
            elif name == "-c" or ("-command".startswith(name) and len(name) > 2):
                self._command(call, value)
            elif "-windowstyle".startswith(name) and len(name) > 1 and _HIDDEN.match(value.text):
                hidden = True
            elif (name == "-ep" or "-executionpolicy".startswith(name)) and _BYPASS.match(value.text):
                bypass = True
        if not call.options.keys() & {"-c", "-command", "-file", "-f"} and call.operands and not _is_script(call):
            self._command(call, call.operands[0])
        if call.piped.known or call.piped.labels:
            self.text(call.piped, call.node, call.name)
        if hidden:
            message = "PowerShell is started without a window" + (" and without its policy" if bypass else "")
            self._site.report("powershell-hidden", call.node, message, severity=None if bypass else Severity.WARN)

    def _command(self, call: Call, value: Value) -> None:
        if value.text == "-":
            return
        rest = list(call.words[call.words.index(value.text) :]) if value.text in call.words else [value.text]
        self.text(Value(" ".join(rest), call.labels), call.node, call.name)

    def _encoded(self, call: Call, value: Value) -> None:
        self._site.report("shell-decoded-execution", call.node, f"{call.name} runs an encoded command")
        data = decoded_bytes(value)
        if data.known and data.text:
            text = data.text.encode("latin-1", "replace").decode("utf-16-le", "replace")
            self._site.derive(text, Context.POWERSHELL, call.node, "EncodedCommand")

    def _interpreter(self, call: Call) -> None:
        option, context = _INTERPRETERS[call.name]
        code = call.options.get(option) if option else None
        if code is None and not option:
            code = Value(self._site.source(call.node).partition(" ")[2], call.labels)
        if code is not None and code.text:
            if not code.known and code.text.strip(HOLE) == "":
                self._site.report("shell-dynamic-command", call.node, f"{call.name} runs text that is made at run time")
            else:
                self._site.derive(code.text, context, call.node, call.name)
        elif "download" in call.piped.labels:
            self.downloaded(call.node, call.name)
        elif "decoded" in call.piped.labels:
            self._site.report("shell-decoded-execution", call.node, f"{call.name} runs a text that was hidden")

    def _starter(self, call: Call) -> None:
        """``Start-Process program -ArgumentList …``, or the same by way of WMI."""
        parts = [part.text for name, place in _STARTERS[call.name] for part in call.argument(name, place)[0].parts()]
        program = (
            parts[0].lower().replace("/", "\\").rpartition("\\")[2].removesuffix(".exe").split(" ")[0] if parts else ""
        )
        if program in _SHELLS or program in _INTERPRETERS or program == "cmd":
            hidden = call.option("-windowstyle")
            style = f" -windowstyle {hidden.text}" if hidden is not None and program in _SHELLS else ""
            line = " ".join([parts[0] + style, *(part for part in parts[1:] if part != HOLE)])
            self._site.derive(line, Context.POWERSHELL, call.node, call.name)
        if "download" in call.labels:
            self.downloaded(call.node, call.name)

    def _added(self, call: Call) -> None:
        source = call.option("-typedefinition", "-memberdefinition") or (call.operands[0] if call.operands else None)
        if source is not None and call.option("-assemblyname") is None and not only_declares(source.text):
            self._site.report("powershell-execution", call.node, "Add-Type compiles and loads code at run time")

    def _invoked(self, call: Call) -> None:
        """``& $command``: fine for a program's path, not for text from elsewhere."""
        if "download" in call.program.labels:
            self.downloaded(call.node, "&")
        elif "decoded" in call.program.labels:
            self._site.report("shell-decoded-execution", call.node, "the name of the command was hidden")

    def _elsewhere(self, call: Call) -> None:
        """``mshta $address``: programs of Windows that run what lies at an address."""
        if call.name in _FETCHING:
            found = (_ADDRESS.search(text) for text in (*call.words, *(each.text for each in call.values)))
            address = next((each[0] for each in found if each is not None), "")
            if address:
                self.downloaded(call.node, call.name, address)

    def _files(self, call: Call) -> None:
        """Files from elsewhere among what is started."""
        unpack(call, self._site)
        if self._site.unpacked:
            self._unpacked(call)
        if not self._site.files:
            return
        self.started(call.program, call.node, call.node.children[0] if call.node.children else None, "the script")
        if call.invoked and call.places == [] and call.node.named_children:
            self.started(call.program, call.node, call.node.named_children[-1], "the script")
        if call.name in _STARTING or call.name in _SHELLS or packages(call):
            for value, place in [*zip(call.operands, call.places, strict=True), *self._named(call)]:
                self.started(value, call.node, place, call.name)
                first = next(iter(value.parts()), value)
                if first.text != value.text:  # ``rundll32 file.dll,Start``
                    self.started(first, call.node, None, call.name)

    def _unpacked(self, call: Call) -> None:
        """What is started or built in a folder that was unpacked; a page shows it, as one of a shell."""
        given = [(call.program, call.node.children[0] if call.node.children else None)]
        if call.name in _STARTING or call.name in _SHELLS:
            given += [*zip(call.operands, call.places, strict=True), *self._named(call)]
        address = next(
            (found for value, node in given if (found := started_in(value, node, self._site)) is not None),
            built(call, self._site),
        )
        if address is not None:
            shown = any(step.startswith(("fence", "inline")) for step in self._site.segment.provenance)
            severity = Severity.WARN if shown or is_installer(address) else None
            message = f"{call.name} runs what comes out of an archive{address and f' from {address[:120]}'}"
            self._site.report("shell-download-execution", call.node, message, subject=address, severity=severity)

    @staticmethod
    def _named(call: Call) -> list[tuple[Value, Node]]:
        return [(value, call.nodes[name]) for name, value in call.options.items() if name in call.nodes]


def _is_script(call: Call) -> bool:
    """True for ``pwsh folder/file.ps1 …``: what follows is given to the file, where Windows PowerShell runs it all."""
    first = call.operands[0]
    return call.name == "pwsh" and first.known and _SCRIPT.fullmatch(first.text) is not None


def _is_encoded(name: str, value: Value) -> bool:
    """``-e``, ``-ec``, ``-enc`` … with a value that is no policy."""
    if name in {"-e", "-ec", "-en"}:
        return not _BYPASS.match(value.text)
    return len(name) > 2 and "-encodedcommand".startswith(name)
