"""The table of JavaScript names as sets, made once; see ``rules/tables/javascript.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Final

from skillkeep.auditor.engines.leaving import client_in
from skillkeep.auditor.engines.tables import table

__all__ = ["Words", "modules", "running_tables", "words"]

_STRUCTURE: Final = frozenset(
    {
        "require", "import", "createRequire", "module", "Module", "Reflect", "Object", "os", "path", "Buffer",
        "globalThis", "window", "global", "self", "atob", "unescape", "decodeURIComponent", "decodeURI", "String",
        "process", "util", "TextDecoder", "URL", "this", "top", "parent", "frames", "exports", "promisify", "zlib",
        "crypto", "<checked>",
    }
)  # fmt: skip
_CHOSEN: Final = frozenset({"child_process", "vm"})
_GLOBAL: Final = frozenset({"globalThis", "window", "global"})
_THROUGH: Final = frozenset({"call", "apply", "bind"})
_LISTING: Final = frozenset({"split()", "filter()", "map()", "slice()", "sort()", "reverse()", "match()"})
_OF_TEXTS: Final = frozenset(
    {
        "at", "charAt", "concat", "endsWith", "filter", "includes", "indexOf", "lastIndexOf", "localeCompare", "map",
        "match", "matchAll", "normalize", "padEnd", "padStart", "replace", "replaceAll", "search", "slice", "split",
        "startsWith", "substring", "toLowerCase", "toString", "toUpperCase", "trim", "trimEnd", "trimStart",
    }
)  # fmt: skip
_REACHES: Final = frozenset({"constructor", "mainModule", "binding"})  # lead from any object to what runs code


@dataclass(frozen=True)
class SettingsWords:
    """Libraries that check settings and give each variable back under its own name."""

    schemas: frozenset[str]
    refined: frozenset[str]
    checks: dict[str, str]
    readers: dict[str, int]

    def check(self, path: str) -> str | None:
        """The member of its answer that holds the variables, empty for the answer itself; None for no such check."""
        start, _, method = path.rpartition(".")
        made, _, rest = start.partition("()")
        member = self.checks.get(f"{made.partition('.')[0]}.{method}")
        steps = rest.split(".")[1:] if rest else []
        told = all(step.endswith("()") and step[:-2] in self.refined for step in steps)
        return member if made in self.schemas and start.endswith("()") and told else None

    def is_library(self, path: str) -> bool:
        """True for such a library, and what it exports."""
        head = path.partition(".")[0]
        return "(" not in path and any(name.partition(".")[0] == head for name in (*self.schemas, *self.readers))


@dataclass(frozen=True)
class Words:
    """What names mean. Positions are those of the judged argument, -1 is the last one."""

    code: dict[str, int]
    template: dict[str, int]
    code_if_text: dict[str, int]
    shell: dict[str, int]
    process: dict[str, int]
    importers: dict[str, int]
    network: dict[str, int]
    senders: frozenset[str]
    read: dict[str, int]
    write: dict[str, int]
    credential_calls: dict[str, str]
    environment: tuple[str, ...]
    environment_calls: frozenset[str]
    copiers: frozenset[str]
    harmless: frozenset[str]
    decoders: frozenset[str]
    builtins: frozenset[str]
    local_programs: frozenset[str]
    sending_programs: frozenset[str]
    shells: frozenset[str]
    sockets: frozenset[str]
    clients: dict[str, str]
    stores: dict[str, str]
    placed_by: dict[str, str]
    puts: frozenset[str]
    called: frozenset[str]
    hands: dict[str, str]
    place_keys: tuple[str, ...]
    login_keys: tuple[str, ...]
    settings: SettingsWords
    vendors: tuple[str, ...]
    derived: dict[str, list[str]]
    signing: dict[str, int]
    heads: frozenset[str]

    @property
    def placed(self) -> tuple[str, ...]:
        """What the paths begin with whose place another call of the file tells."""
        return tuple(self.placed_by)

    def store_of(self, path: str) -> str | None:
        """The call that makes the client into which `path` puts something; None when it puts nothing."""
        if path[-1:] == ")":
            return path[:-2] if path[:-2] in self.called else None
        if path.rpartition(".")[2] not in self.puts:
            return None
        for start, told in self.placed_by.items():
            if path.startswith(start):
                return told
        return self.client_of(path)

    def client_of(self, path: str) -> str | None:
        """The call that made what `path` is, or is a member of, when that is a client of a store."""
        return client_in(path, self.stores)

    def variable_of(self, path: str) -> str | None:
        """The environment variable that a path reads (``process.env.NAME``); ``?`` when chosen at run time."""
        for base in self.environment:
            if path.startswith(base) and path[len(base) : len(base) + 1] == ".":
                return path[len(base) + 1 :].partition(".")[0].removesuffix("()")
        return None

    def is_chosen(self, path: str) -> bool:
        """True for ``globalThis[name](…)``, also through ``.call``, and for all of a dangerous module's that is chosen.

        A method by its name of what was chosen from the global object is one of many; one of a line that was chosen
        from what a program has printed is a text's.
        """
        root, *names = path.split(".")
        if "?" not in names or root not in _CHOSEN | _GLOBAL:
            return False
        if root in _CHOSEN:
            return not _is_of_text(names)
        named = {each.removesuffix("()") for each in names[names.index("?") + 1 :]}
        return "?" in named or named <= _THROUGH or not self._running.isdisjoint(named)

    @cached_property
    def _running(self) -> frozenset[str]:
        """The names of what runs code or leads to it."""
        paths = (*self.code, *self.shell, *self.process, *self.importers)
        return _REACHES | {path.rpartition(".")[2] for path in paths}

    def is_hot(self, path: str) -> bool:
        """True for a path that leads to something the table knows, or to a file of the tool."""
        head = path.partition(".")[0].partition("(")[0]
        return head in self.heads or path.startswith("file:") or "constructor" in path or "getPrototypeOf" in path


def _is_of_text(names: list[str]) -> bool:
    """``execSync().split().?.trim``: each thing that is chosen is a line of a text, and a text's method is called."""
    at = names.index("?")
    if at < 2 or names[-1] == "?":
        return False
    return all(
        before in _LISTING if each == "?" or each.isdecimal() else each.removesuffix("()") in _OF_TEXTS
        for before, each in pairwise(names[at - 1 :])
    )


@cache
def words() -> Words:
    """The table that this version ships."""
    data: dict[str, Any] = table("javascript")
    named = (
        "code",
        "template",
        "code_if_text",
        "shell",
        "process",
        "import",
        "network",
        "read",
        "write",
        "credential_calls",
        "clients",
        "stores",
        "hands",
        "derived",
        "signing",
    )
    names = [name for key in named for name in data[key]]
    names += [*data["settings"]["schemas"], *data["settings"]["readers"]]
    names += [name for key in ("environment", "environment_calls", "copiers", "decoders", "send") for name in data[key]]
    return Words(
        data["code"], data["template"], data["code_if_text"], data["shell"], data["process"], data["import"],
        data["network"], frozenset(data["send"]), data["read"], data["write"], data["credential_calls"],
        tuple(data["environment"]),
        frozenset(data["environment_calls"]), frozenset(data["copiers"]), frozenset(data["harmless"]),
        frozenset(data["decoders"]), frozenset(data["builtins"]), frozenset(data["local_programs"]),
        frozenset(data["sending_programs"]), frozenset(data["shells"]), frozenset(data["sockets"]),
        data["clients"], data["stores"], data["placed_by"], frozenset(data["puts"]), frozenset(data["called"]),
        data["hands"], tuple(data["place_keys"]), tuple(data["login_keys"]),
        SettingsWords(
            frozenset(data["settings"]["schemas"]), frozenset(data["settings"]["refined"]),
            data["settings"]["checks"], data["settings"]["readers"],
        ),
        tuple(data["vendors_libraries"]), data["derived"], data["signing"],
        frozenset(name.partition(".")[0].partition("(")[0] for name in names) | _STRUCTURE,
    )  # fmt: skip


def running_tables() -> tuple[dict[str, int] | tuple[str, ...], ...]:
    """The tables of what runs or sends something, or is the environment."""
    known = words()
    return known.code, known.shell, known.process, known.network, known.environment


@cache
def modules() -> frozenset[str]:
    """What modules of the platform and packages are called that run, send or read something."""
    return frozenset(
        path.partition(".")[0] for table in (*running_tables(), words().read) for path in table if "." in path
    )
