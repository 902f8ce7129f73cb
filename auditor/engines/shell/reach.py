"""Judges what a shell command touches: secrets, the network, files that run later, and what it destroys."""

from __future__ import annotations

import re
from typing import Any, Final

from skillkeep.auditor.engines.interface import Context
from skillkeep.auditor.engines.network import Host, host_of
from skillkeep.auditor.engines.shell.evaluate import HOLE
from skillkeep.auditor.engines.shell.model import Command, Word
from skillkeep.auditor.engines.shell.site import Call, ShellSite
from skillkeep.auditor.engines.tables import secrets
from skillkeep.auditor.interface import Severity

__all__ = ["Reach"]

_NOTHING: Final[frozenset[str]] = frozenset()
_WIPED: Final = re.compile(r"^(?:/|~|/\*|~/|~/\*|/(?:home|root|Users|etc|usr|var|bin|lib|boot)(?:/[^/]*)?/?\*?)$")
_DEVICE: Final = re.compile(r"^/dev/(?:sd|nvme|hd|vd|xvd|mmcblk|disk|mapper/)")
_NETWORK_DEVICE: Final = re.compile(r"/(?:dev|inet)/(?:tcp|udp)/")
_REMOTE_PATH: Final = re.compile(r"^(?:[\w.-]+@)?((?:[\w-]+\.)+[\w-]+):")
_MISLEADING: Final = ("-x", "-K", "-k", "--proxy", "--config", "--insecure", "--resolve", "--connect-to", "--url", "-e")
_SYSTEM_TARGETS: Final = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/")


class Reach:
    """Judges one call at a time, then what pipelines and redirections do."""

    def __init__(self, site: ShellSite, table: dict[str, Any]) -> None:
        self._site = site
        self._table = table
        self._path_only = frozenset(table["path_only"])

    def judge(self, call: Call, labels: frozenset[str]) -> frozenset[str]:
        """Judge `call` and what flows into it (`labels`); the labels it adds to what it prints."""
        added = self._secrets(call)
        if call.name in self._table["environment_dumps"] and self._dumps(call):
            added |= {"environment"}
        if call.name in self._table["decoders"] and self._decodes(call):
            added |= {"decoded"}
        if (network := self._network(call)) is not None:
            added |= self._connect(call, network, labels | added)
        self._destroys(call)
        self._persists(call)
        return added

    def pipeline(self, calls: list[Call]) -> None:
        """Judge a pipeline as a whole: a shell between two ends of a connection."""
        names = [call.name for call in calls]
        ends = [name for name in names if name in {"nc", "ncat", "netcat", "socat", "telnet"}]
        shells = [call for call in calls if call.name in {"sh", "bash", "zsh", "dash"} and not call.has("-c")]
        if ends and shells:
            self._site.report("shell-reverse-shell", shells[0].command, "a shell is joined to a network connection")

    def recipe(self, command: Command) -> None:
        """``RUN <<EOF`` of a Dockerfile: a script of its own."""
        if command.heredoc is not None and command.words and command.words[0].literal == "RUN":
            self._site.derive(self._site.scope.text(command.heredoc), Context.SHELL, command, "RUN")

    def redirects(self, command: Command, call: Call | None) -> frozenset[str]:
        """Judge where a command reads from and writes to; the labels of what it reads."""
        labels = _NOTHING
        for operator, target in command.redirects:
            text = self._site.scope.text(target)
            if _NETWORK_DEVICE.search(text):
                self._site.report("shell-reverse-shell", command, "a redirection opens a network connection")
            elif operator == "<":
                if (what := secrets().path(text)) is not None:
                    self._site.report("code-credential-file", command, f"reads {what}")
                    labels |= {f"secret:{what}"}
                if text in self._site.downloaded:
                    labels |= {"download"}
            elif ">" in operator and not operator.endswith("&"):
                self._written(command, target, text)
                if call is not None and (network := self._network(call)) is not None and network.get("download"):
                    self._site.downloaded[text] = _first_url(call)
        return labels

    def _secrets(self, call: Call) -> frozenset[str]:
        stores = self._table["credential_stores"].get(call.name)
        if stores is not None:
            joined = " ".join(call.arguments)
            if not stores or any(joined.startswith(item) or f" {item}" in f" {joined}" for item in stores):
                self._site.report("code-credential-store", call.command, f"{call.name} reads a stored secret")
                return frozenset({f"secret:{call.name}"})
        labels = _NOTHING
        for text, word in zip(call.arguments, call.words, strict=False):
            labels |= self._argument(call, text, word)
        if call.name == "printenv":
            for name in call.operands:
                if secrets().variable(name):
                    self._site.report("code-credential-env", call.command, f"reads the secret {name}", subject=name)
                    labels |= {f"secret:{name}"}
        return labels

    def _argument(self, call: Call, text: str, word: Word) -> frozenset[str]:
        if _NETWORK_DEVICE.search(text) and call.name not in self._path_only | {"grep", "rg", "git", "sh", "bash"}:
            self._site.report("shell-reverse-shell", word, "a network connection is opened by the shell")
        bare = text.partition("=")[2] if text.startswith("-") and "=" in text else text.lstrip("@")
        what = secrets().path(bare) or (secrets().path(bare.partition("@")[2]) if "=@" in bare else None)
        if what is None or " " in bare.strip():
            return _NOTHING
        if call.name in self._path_only or self._is_key_option(call, text):
            self._site.report("code-credential-mention", word, f"{call.name} names the place of {what}")
            return _NOTHING
        shown = bare.replace(HOLE, "…")[:120]
        if call.name in {"grep", "rg", "sed", "awk"} and text == (call.operands or [""])[0]:
            return _NOTHING  # a pattern, not a file
        self._site.report("code-credential-file", word, f"{call.name} reaches for {what}: {shown}")
        return frozenset({f"secret:{what}"})

    @staticmethod
    def _is_key_option(call: Call, text: str) -> bool:
        at = call.after("-i")
        return call.name in {"ssh", "scp", "sftp", "rsync"} and at is not None and call.arguments[at] == text

    @staticmethod
    def _dumps(call: Call) -> bool:
        if call.name in {"env", "printenv", "set"}:
            return not call.operands
        return call.arguments[:1] in {("-p",), ("-x",), ("-xp",), ("-e",)}

    def _decodes(self, call: Call) -> bool:
        options = self._table["decoders"][call.name]
        return not options or any(argument in options for argument in call.arguments)

    def _network(self, call: Call) -> dict[str, Any] | None:
        known: dict[str, Any] | None = self._table["network"].get(call.name)
        if known is None or ("only" in known and not set(known["only"]) & set(call.arguments[:3])):
            return None
        return known

    def _connect(self, call: Call, network: dict[str, Any], labels: frozenset[str]) -> frozenset[str]:
        hosts = self._hosts(call, network)
        if not hosts and call.arguments in {("--version",), ("-V",), ("--help",), ("-h",)}:
            return _NOTHING
        for host in hosts or [Host("*")]:
            self._host(call, host)
        if not hosts or not all(host.local for host in hosts):
            self._sent(call, labels)
        if call.name in {"nc", "ncat", "netcat"} and call.has("-e", "-c", "--exec", "--sh-exec", "-lvpe", "-ce"):
            self._site.report("shell-reverse-shell", call.command, f"{call.name} joins a program to a connection")
        if call.name == "socat" and any(item.lower().startswith(("exec:", "system:")) for item in call.arguments):
            self._site.report("shell-reverse-shell", call.command, "socat joins a program to a connection")
        self._remember_output(call, network)
        asked = [item for item in call.operands if "://" in item or HOLE in item or host_of(item, HOLE).name != "*"]
        misled = [item for item in call.arguments if item.startswith(_MISLEADING)]
        self._site.requests.append((call.command.start, call.command.end, tuple(asked + misled)))
        return frozenset({"download"}) if network.get("download") else _NOTHING

    def _hosts(self, call: Call, network: dict[str, Any]) -> list[Host]:
        found: list[Host] = []
        for argument in call.arguments:
            if "://" in argument:
                found.append(
                    host_of(argument[max(argument.find("http"), 0) :] if "=" in argument[:8] else argument, HOLE)
                )
            elif remote := _REMOTE_PATH.match(argument):
                found.append(host_of(remote[1], HOLE))
        if not found and (network.get("host") or call.name in {"curl", "wget"}):
            named = [host_of(item, HOLE) for item in call.operands]
            found = [host for host in named if host.name != "*"][:1]
        return found

    def _host(self, call: Call, host: Host) -> None:
        self._site.capability("network", host.name, call.command)
        if host.name in self._site.hosts:
            return
        self._site.hosts.add(host.name)
        if host.local:
            message = f"{call.name} connects to this machine"
            self._site.report("code-network", call.command, message, severity=Severity.INFO)
        elif host.bare:
            message = f"{call.name} connects to the bare address {host.name}"
            self._site.report("code-network-address", call.command, message)
        else:
            where = "an address made at run time" if host.name == "*" else host.name
            self._site.report("code-network", call.command, f"{call.name} connects to {where}", subject=host.name)

    def _sent(self, call: Call, labels: frozenset[str]) -> None:
        for label in sorted(labels):
            if label.startswith("secret:"):
                what = label.partition(":")[2]
                subject = what if what.isidentifier() else ""
                self._site.report(
                    "code-credential-sent", call.command, f"{what} flows into {call.name}", subject=subject
                )
        if "environment" in labels:
            self._site.report("code-environment-sent", call.command, f"the environment flows into {call.name}")

    def _remember_output(self, call: Call, network: dict[str, Any]) -> None:
        url = _first_url(call)
        for option in network.get("output", ()):
            if (at := call.after(option)) is not None and call.arguments[at] != "-":
                self._site.downloaded[call.arguments[at]] = url
        remote_name = call.name == "wget" or call.has("-O", "--remote-name", "-LO", "-sSLO", "-fsSLO", "-OL", "-sLO")
        if remote_name and url and (name := url.partition("?")[0].rpartition("/")[2]):
            self._site.downloaded.setdefault(name, url)
        if call.name == "git" and "clone" in call.arguments:
            return

    def _destroys(self, call: Call) -> None:
        name, command = call.name, call.command
        targets = [item for item in call.operands if _WIPED.match(item)]
        flags = "".join(item for item in call.arguments if item.startswith("-") and not item.startswith("--"))
        recursive = "r" in flags or "R" in flags or call.has("--recursive")
        if name == "rm" and ((recursive and targets) or call.has("--no-preserve-root")):
            self._site.report("shell-destructive", command, f"deletes {', '.join(targets) or 'the root folder'}")
        elif name == "dd" and any(
            _DEVICE.match(item.removeprefix("of=")) for item in call.arguments if item[:3] == "of="
        ):
            self._site.report("shell-destructive", command, "overwrites a disk")
        elif name.startswith("mkfs") or (name in {"shred", "wipefs"} and any(map(_DEVICE.match, call.operands))):
            self._site.report("shell-destructive", command, f"{name} destroys a file system")
        elif name == "find" and call.has("-delete") and targets:
            self._site.report("shell-destructive", command, f"deletes everything below {targets[0]}")

    def _persists(self, call: Call) -> None:
        name, command = call.name, call.command
        if name == "crontab" and not call.has("-l", "-r") and call.arguments:
            self._site.report("code-persistence", command, "crontab installs a scheduled job")
        elif name == "launchctl" and call.has("load", "bootstrap", "enable"):
            self._site.report("code-persistence", command, "launchctl starts something at every login")
        elif name == "systemctl" and call.has("enable"):
            message = "systemctl starts something at every boot"
            self._site.report("code-persistence", command, message, severity=Severity.WARN)
        elif name == "git" and any(
            "hookspath" in item.lower() or "fsmonitor" in item.lower() for item in call.arguments
        ):
            self._site.report("code-persistence", command, "git is told to run a program of this tool's choice")
        which = self._table["writers"].get(name)
        if which is None or (
            name == "sed" and not any(item.startswith(("-i", "--in-place")) for item in call.arguments)
        ):
            return
        operands = call.operands if which == "all" else call.operands[-1:]
        for text, word in zip(call.arguments, call.words, strict=False):
            if text in operands:
                self._written(command, word, text)

    def _written(self, command: Command, word: Word, text: str) -> None:
        if _DEVICE.match(text):
            self._site.report("shell-destructive", command, "overwrites a disk")
        if (meaning := secrets().persistence(text)) is not None:
            message = f"writes {meaning.what}: {text.replace(HOLE, '…')[:120]}"
            self._site.report("code-persistence", command, message, severity=meaning.severity)
        if text.startswith(("/", "~")) and not text.startswith(_SYSTEM_TARGETS):
            self._site.capability("write", text.replace(HOLE, "*")[:200], word)


def _first_url(call: Call) -> str:
    return next((item for item in call.arguments if "://" in item), "")
