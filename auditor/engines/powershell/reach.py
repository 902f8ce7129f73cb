"""Judges what a PowerShell command touches: the network, secrets, files that run later, and what it destroys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.installers import is_installer
from skillkeep.auditor.engines.powershell.calls import Call
from skillkeep.auditor.engines.powershell.site import Site
from skillkeep.auditor.engines.tables import Persistence, secrets, subject_of
from skillkeep.auditor.engines.values import HOLE, NOTHING, Value
from skillkeep.auditor.interface import Severity

if TYPE_CHECKING:
    from skillkeep.auditor.syntax.grammars import Node

__all__ = ["Reach"]

_CMDLET: Final = compiled(r"[a-z]+-[a-z0-9]+")
_PROGRAM: Final = compiled(r"[a-z0-9][\w.+-]{0,40}")
_FLAGS_OF_CURL: Final = compiled(r"-[fslk]{1,5}")
_PATH_ONLY: Final = frozenset(
    {
        "test-path",
        "split-path",
        "join-path",
        "write-output",
        "write-host",
        "new-item",
        "resolve-path",
        "set-location",
        "cd",
        "push-location",
        "ssh",
        "ssh-keygen",
        "ssh-add",
        "icacls",
    }
)
_WRITING: Final = {
    "set-content": "-path",
    "add-content": "-path",
    "out-file": "-filepath",
    "new-item": "-path",
    "tee-object": "-filepath",
    "copy-item": "-destination",
    "move-item": "-destination",
}
_REGISTRY: Final = frozenset({"set-itemproperty", "new-itemproperty", "new-item", "set-item", "reg"})
_SCHEDULING: Final = frozenset({"register-scheduledtask", "register-scheduledjob", "set-scheduledtask"})
_PATH: Final = compiled(r"[^\n\"'|;<>]{1,300}")
_WMI: Final = compiled(r"(?i)__eventfilter|commandlineeventconsumer|activescripteventconsumer")
_PROFILE: Final = Persistence("PowerShell's start-up file", Severity.WARN, runs=True)
_DEFENCES: Final = frozenset(
    {"set-mppreference", "add-mppreference", "uninstall-windowsfeature", "set-netfirewallprofile"}
)


class Reach:
    """Judges one call at a time."""

    def __init__(self, site: Site, table: dict[str, Any]) -> None:
        self._site = site
        self._network: dict[str, dict[str, Any]] = table["network"]
        self._stores = frozenset(table["credential_commands"])
        self._store_texts = compiled("|".join(table["credential_texts"]), re.IGNORECASE)
        self._run_keys = compiled("|".join(table["run_keys"]), re.IGNORECASE)
        self._wiped = compiled("|".join(table["wiped"]), re.IGNORECASE)

    def judge(self, call: Call) -> frozenset[str]:
        """Judge `call`; the labels it adds to what it prints."""
        labels = self._secrets(call)
        program = self._network.get(call.name)
        if program is not None:
            labels |= self._connect(call, program, labels)
        elif call.name in {"get-childitem", "get-item"} and self._lists_environment(call):
            labels |= {"environment"}
        self._persists(call)
        self._destroys(call)
        for value, node in call.outputs:
            self.written(value, node, call.labels | labels)
        if not _CMDLET.fullmatch(call.name) and _PROGRAM.fullmatch(call.name) and call.program.known:
            self._site.capability("binary", call.name, call.node)
        return labels

    def written(self, file: Value, node: Node | None, labels: frozenset[str], place: Node | None = None) -> None:
        """`file` is written with data that has `labels`."""
        shown = place or node
        if shown is None:
            return
        self._site.fill(file, node, labels)
        text = file.text.replace("\\", "/")
        if (meaning := self._meaning(text, shown)) is not None:
            named = "" if meaning is _PROFILE else f": {text.replace(HOLE, '…')[:120]}"
            self._site.report("code-persistence", shown, f"writes {meaning.what}{named}", severity=meaning.severity)
            self._planted(meaning, shown, labels)
        if re.match(r"[a-z]:/|/|~", text, re.IGNORECASE):
            self._site.capability("write", text.replace(HOLE, "*")[:200], shown)

    def _meaning(self, path: str, node: Node) -> Persistence | None:
        """What a write to `path`, which `node` names, sets up to run later."""
        found = secrets().persistence(path)
        return _PROFILE if found is None and self._is_profile(node) else found

    def _is_profile(self, node: Node) -> bool:
        return self._site.source(node).lower().lstrip("\"'(").startswith("$profile")

    def _planted(self, meaning: Persistence, node: Node, labels: frozenset[str], address: str = "") -> None:
        """What is fetched becomes a file that runs by itself: ``irm address >> $PROFILE``."""
        if "download" in labels and (meaning.runs or self._is_profile(node)):
            severity = Severity.WARN if address and is_installer(address) else None
            message = f"a download{address and f' from {address[:120]}'} becomes {meaning.what}"
            self._site.report("shell-download-execution", node, message, subject=address, severity=severity)

    def touched(self, value: Value, node: Node, by: str) -> frozenset[str]:
        """A path handed to something that reads; the label of the secret that lies there."""
        text = value.text.lstrip("@")
        what = secrets().path(text) if text.strip(HOLE) and _PATH.fullmatch(text) else None
        if what is None:
            return NOTHING
        message = f"{by} reaches for {what}: {text.replace(HOLE, '…')[:120]}"
        self._site.report(
            "code-credential-file", node, message, subject=subject_of(what), severity=secrets().reading(what)
        )
        return frozenset({f"secret:{what}"})

    def _secrets(self, call: Call) -> frozenset[str]:
        labels = NOTHING
        if call.name in self._stores or self._store_texts.search(call.line):
            self._site.report("code-credential-store", call.node, f"{call.name} reads a stored secret")
            labels |= {f"secret:{call.name}"}
        for value in [*call.operands, *call.options.values()]:
            for part in value.parts():
                if call.name in _PATH_ONLY:
                    if secrets().path(part.text) is not None and " " not in part.text.strip():
                        self._site.report("code-credential-mention", call.node, f"{call.name} names a secret's place")
                else:
                    labels |= self.touched(part, call.node, call.name)
                labels |= self._site.origin(part, None)[0] & {"download"} if call.name == "get-content" else NOTHING
        return labels

    def _connect(self, call: Call, program: dict[str, Any], labels: frozenset[str]) -> frozenset[str]:
        turned = "upload" in program and call.argument("-transfertype")[0].text.lower().startswith("upload")
        address, _ = call.argument(program["upload" if turned else "address"])
        if not address.known and address.text == HOLE and call.piped.text.startswith("http"):
            address = call.piped
        if not call.operands and len(call.options) == 1 and address.text.strip(HOLE) == "":
            ((name, value),) = call.options.items()  # ``curl -fsSL address | sh``, beside a line of PowerShell
            is_curls = _FLAGS_OF_CURL.fullmatch(name) and value.known and value.text.startswith("https://")
            address = value if is_curls else address
        self._site.connects(address, call.node, call.name)
        self._site.sent(call.labels | labels, call.node, call.name)
        if (output := program.get("output")) and not turned:
            file, place = call.argument(output, 1 if call.name == "start-bitstransfer" else 99)
            if place is not None:
                self._site.fill(file, place, frozenset({"download"}), address.text)
                if (meaning := self._meaning(file.text.replace("\\", "/"), place)) is not None:
                    self._planted(meaning, place, frozenset({"download"}), address.text)
        return frozenset({"download"}) if program.get("download") else NOTHING

    @staticmethod
    def _lists_environment(call: Call) -> bool:
        return any(value.text.lower().strip("\\/ ") in {"env:", "env:*", "env:\\*"} for value in call.values)

    def _persists(self, call: Call) -> None:
        name, node = call.name, call.node
        if name in _REGISTRY and self._run_keys.search(call.line):
            self._site.report("code-persistence", node, "a key of the registry is set that runs something later")
        elif name in _SCHEDULING or (name == "schtasks" and "/create" in call.line.lower()):
            self._site.report("code-persistence", node, f"{name} installs a scheduled job", subject="scheduled-job")
        elif name in {"new-service"} or (name == "sc" and "create" in call.line.lower()):
            self._site.report("code-persistence", node, f"{name} installs a service", severity=Severity.WARN)
        elif _WMI.search(call.line):
            self._site.report("code-persistence", node, "an event of the system is tied to a command")
        elif name in _DEFENCES and re.search(r"-(?:disable|exclusion|enabled)", call.line):
            self._site.report("shell-disable-protection", node, f"{name} switches the machine's protection off")
        if name in _WRITING:
            file, place = call.argument(_WRITING[name], 1 if name in {"copy-item", "move-item"} else 0)
            labels = call.labels
            if name in {"copy-item", "move-item"} and call.operands:
                labels |= self._site.origin(call.operands[0], call.places[0])[0]
            self.written(file, place, labels)

    def _destroys(self, call: Call) -> None:
        name = call.name
        if name == "remove-item" and call.option("-recurse", "-r") is not None:
            targets = [value.text for value in call.values if self._wiped.search(value.text.strip("\"' "))]
            if targets:
                self._site.report("shell-destructive", call.node, f"deletes {targets[0][:80]}")
        elif name in {"format-volume", "clear-disk", "initialize-disk"}:
            self._site.report("shell-destructive", call.node, f"{name} destroys a disk")
        elif name in {"vssadmin", "wmic", "wbadmin"} and re.search(r"delete\b.*(?:shadow|catalog|backup)", call.line):
            self._site.report("shell-destructive", call.node, f"{name} deletes the system's copies")
