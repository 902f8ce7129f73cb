"""Judges the commands that connect: where to, what they send, and which file their answer goes to."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.network import Host, host_of, is_hidden
from skillkeep.auditor.engines.shell.belongings import WHOLE, stranger_among
from skillkeep.auditor.engines.shell.evaluate import HOLE, Known
from skillkeep.auditor.engines.shell.site import Call, ShellSite
from skillkeep.auditor.engines.tables import secrets, subject_of
from skillkeep.auditor.interface import Severity
from skillkeep.auditor.services import services

__all__ = ["Connecting"]

_NOTHING: Final[frozenset[str]] = frozenset()
_METADATA: Final = "the cloud's metadata service"  # of rules/tables/secrets.yaml
_REMOTE_PATH: Final = compiled(r"^(?:[\w.-]+@)?((?:[\w-]+\.)+[\w-]+):")
_MISLEADING: Final = ("-x", "-K", "-k", "--proxy", "--config", "--insecure", "--resolve", "--connect-to", "--url", "-e")
_MISLEADING_WGET: Final = (*_MISLEADING[2:], "-i", "--input-file", "-B", "--base")
_PLAIN: Final = compiled(
    r"-[fsSLqkvgnNc46]+|--(?:silent|fail|location|show-error|quiet|compressed|insecure|no-verbose)|-qO-|-O-"
)
_NAME: Final = compiled(r"[\w.]{0,40}|[|&;<>].*")  # no address; what the grammar took for one
_ASKING_VERSION: Final = frozenset({("--version",), ("-V",), ("--help",), ("-h",)})
_OBJECT: Final = compiled(r"\s*[\[{][\s\[{]*\"")  # JSON to be sent; no program takes an address that begins so
_QUIET: Final = frozenset({"-s", "-S", "-sS", "-f", "-L", "-fsSL", "-sL", "-i", "-v"})
_DOTS: Final = ("...", "\u2026")
_VALUED: Final = frozenset({"-H", "--header", "-X", "--request"})
_FIELDS: Final = frozenset({"-d", "--data", "--data-raw", "--data-urlencode", "-F", "--form"})
_FIELD: Final = compiled(r"[a-z_]{2,30}=")  # ``text=… https://…``: an address in it is not connected to
_HEADERS: Final = frozenset({"-H", "--header", "-u", "--user"})
_JOINING: Final = ("-e", "-c", "--exec", "--sh-exec", "-lvpe", "-ce", "-lve", "-nve", "-ne")
_REMOTE_NAME: Final = compiled(r"-[a-zA-Z]*O|--remote-name(?:-all)?")
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash"})
_ESCAPED: Final = compiled(r"\$'[^'\n]{0,400}(?:\\x[2-7][0-9a-fA-F]|\\[01][0-7]{2}){4}")
_ENDS: Final = frozenset({"nc", "ncat", "netcat", "socat", "telnet"})


def first_url(call: Call) -> str:
    """The first address among the arguments, or nothing."""
    return next((item for item in call.arguments if "://" in item), "")


_CLUSTERS: Final = {"curl": compiled(r"-[a-zA-Z]+o"), "wget": compiled(r"-[a-zA-Z]+O")}


class Connecting:
    """Judges one call at a time, then pipelines."""

    def __init__(self, site: ShellSite, table: dict[str, Any]) -> None:
        self._site = site
        self._programs: dict[str, dict[str, Any]] = table["network"]

    def program(self, call: Call) -> dict[str, Any] | None:
        """What the table says of the program, when it connects with these arguments."""
        known = self._programs.get(call.name)
        if known is None or ("only" in known and not set(known["only"]) & set(call.arguments[:3])):
            return None
        if known.get("address") and not first_url(call):
            return None
        return known

    def pipeline(self, calls: list[Call]) -> None:
        """A shell between two ends of a connection."""
        ends = [call for call in calls if call.name in _ENDS or (call.name == "openssl" and call.has("s_client"))]
        shells = [call for call in calls if call.name in _SHELLS and not call.has("-c")] if ends else []
        if shells:
            self._site.report("shell-reverse-shell", shells[0].command, "a shell is joined to a network connection")

    def judge(
        self, call: Call, program: dict[str, Any], labels: frozenset[str], fed: Known | None = None
    ) -> frozenset[str]:
        """Judge a call of `program` that `labels` flow into; the labels of what it prints. `fed` is what it reads."""
        hosts = self._hosts(call, program)
        if not hosts and (call.arguments in _ASKING_VERSION or _is_cut_off(call)):
            return _NOTHING
        for host in hosts or [Host("*")]:
            self._host(call, host)
        self._hidden(call, hosts, fed)
        if not hosts or not all(host.local for host in hosts):
            self.sent(call, labels, hosts)
        if call.name in {"nc", "ncat", "netcat"} and call.has(*_JOINING):
            self._site.report("shell-reverse-shell", call.command, f"{call.name} joins a program to a connection")
        if call.name == "socat" and any(item.lower().startswith(("exec:", "system:")) for item in call.arguments):
            self._site.report("shell-reverse-shell", call.command, "socat joins a program to a connection")
        self._remember_output(call, program)
        asked = _addresses(call, program)
        misleading = _MISLEADING_WGET if call.name.startswith("wget") else _MISLEADING
        misled = [item for item in call.arguments if item.startswith(misleading)]
        self._site.requests.append((call.command.start, call.command.end, (*asked, *misled)))
        return frozenset({"download"}) if program.get("download") else _NOTHING

    def _hidden(self, call: Call, hosts: list[Host], fed: Known | None) -> None:
        """Report a host that is written nowhere, because a decoder makes the address."""
        text, given = self._site.segment.text, zip(call.arguments, call.words, strict=False)
        found = [host for host in hosts if is_hidden(host, text)]
        if found and not any(
            self._site.scope.was_decoded(word) or _ESCAPED.search(text, word.start, word.end) for _, word in given
        ):
            found = []
        if fed is not None and fed.decoded and "xargs" in call.prefixes:
            found += [host for host in (host_of(fed.text, HOLE),) if is_hidden(host, text)]
        for host in found[:1]:
            message = f"{call.name} connects to {host.name}, which a decoder makes"
            self._site.report("code-hidden-address", call.command, message)

    def _hosts(self, call: Call, program: dict[str, Any]) -> list[Host]:
        found: list[Host] = []
        fields = call.name == "curl"
        for before, argument in pairwise(("", *call.arguments)):
            if _OBJECT.match(argument) or (fields and before in _FIELDS and _FIELD.match(argument)):
                continue
            if "://" in argument:
                address = argument[max(argument.find("http"), 0) :] if "=" in argument[:8] else argument
                found.append(host_of(address, HOLE))
            elif remote := _REMOTE_PATH.match(argument):
                found.append(host_of(remote[1], HOLE))
        if not found and (program.get("host") or call.name in {"curl", "wget"}):
            named = [  # and no name of an output's, which looks like one
                host_of(item, HOLE)
                for before, item in pairwise(("", *call.arguments))
                if not item.startswith("-") and before not in program.get("output", ())
            ]
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

    def sent(self, call: Call, labels: frozenset[str], hosts: list[Host]) -> None:
        """Report every secret among `labels`, which `call` sends to `hosts`, and what is the user's as a whole."""
        for label in sorted(labels):
            if label.startswith("secret:"):
                what = label.partition(":")[2]
                if what == _METADATA and hosts and all(secrets().path(host.name) == what for host in hosts):
                    continue  # its own token, which it asks for
                if self._site.held and (not hosts or self._logs_in(call, what, hosts)):
                    continue
                subject = subject_of(what)
                message = f"{what} flows into {call.name}"
                reached = frozenset(host.name for host in hosts) or None
                self._site.report("code-credential-sent", call.command, message, subject=subject, hosts=reached)
            elif label.startswith(WHOLE) and (host := stranger_among(hosts)):
                message = f"{label.removeprefix(WHOLE)} goes to {host} by {call.name}"
                self._site.report("shell-belongings-sent", call.command, message)
        if "environment" in labels:
            self._site.report("code-environment-sent", call.command, f"the environment flows into {call.name}")

    def _logs_in(self, call: Call, secret: str, hosts: list[Host]) -> bool:
        """A build service's secret in a header, or for its own service, or for a host that only the service knows."""
        text = self._site.segment.text
        shown = {text[word.start : word.end] for option, word in pairwise(call.words) if option.literal in _HEADERS}
        return any(name in each for each in shown for name in self._site.held) or any(
            host.name == "*" or services().owns(secret, host.name) for host in hosts
        )

    def _remember_output(self, call: Call, program: dict[str, Any]) -> None:
        urls = _addresses(call, program) or [""]
        url = urls[0]
        at = call.after("--output-dir")
        folder = f"{call.arguments[at].rstrip('/')}/" if at is not None else ""
        joined = _CLUSTERS.get(call.name)  # ``-fsSLo file``
        clusters = [item for item in call.arguments if joined and joined.fullmatch(item)]
        for option in (*program.get("output", ()), *clusters):
            if (at := call.after(option)) is not None and call.arguments[at] != "-" and at < len(call.words):
                self._downloaded(folder + self._site.name(call.arguments[at], call.words[at]), url)
        for argument in call.arguments:
            for option in program.get("output", ()):
                glued = option + ("=" if option.startswith("--") else "")
                if argument.startswith(glued) and len(argument) > len(glued):
                    self._downloaded(folder + argument[len(glued) :], url)
        if program.get("target") and call.operands:
            self._downloaded(call.operands[-1], url)
        named = call.name == "wget" or any(map(_REMOTE_NAME.fullmatch, call.arguments))
        for url in urls if named else ():
            name = url.partition("?")[0].rpartition("/")[2]
            if name and folder + name not in self._site.files.urls:
                self._downloaded(folder + name, url)

    def _downloaded(self, name: str, url: str) -> None:
        self._site.files.downloaded(name, url, asked=not self._site.defining)


def _addresses(call: Call, program: dict[str, Any]) -> list[str]:
    """What is asked for: every operand that is an address, also one that only stands where an address does."""
    fetches = call.name in {"curl", "wget", "wget2"}
    outputs, joined = program.get("output", ()), _CLUSTERS.get(call.name)
    found: list[str] = []
    for before, item in pairwise(("-s", *call.arguments)):
        if item.startswith("-") or before in outputs or (joined and joined.fullmatch(before)):
            continue
        here = fetches and (not before.startswith("-") or _PLAIN.fullmatch(before)) and not _NAME.fullmatch(item)
        if "://" in item or HOLE in item or host_of(item, HOLE).name != "*" or (here and found):
            found.append(item)
    return found


def _is_cut_off(call: Call) -> bool:
    """``curl ...``, ``curl -s -H "Accept: text/plain"`` with its address on the next line: nothing is connected to."""
    if call.has(*_DOTS) and all(item in _DOTS or item in _QUIET or _PLAIN.fullmatch(item) for item in call.arguments):
        return True
    if call.name != "curl" or call.prefixes or call.command.redirects or not call.has("-H", "--header"):
        return False
    rest = iter(call.arguments)
    return all(item in _QUIET or (item in _VALUED and next(rest, "") != "") for item in rest)
