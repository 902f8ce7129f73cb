"""Judges which secrets a command's arguments reach for, and labels what it then prints."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Final

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.shell.evaluate import HOLE
from skillkeep.auditor.engines.shell.lookup import lookup
from skillkeep.auditor.engines.shell.model import Word
from skillkeep.auditor.engines.shell.named_keys import leaves_rest, named_key
from skillkeep.auditor.engines.shell.narrowing import asks_for_one
from skillkeep.auditor.engines.shell.site import Call, ShellSite
from skillkeep.auditor.engines.tables import KEPT_BY_AGENTS, LOGIN_OF, secrets, subject_of

__all__ = ["Touching", "is_network_device"]

_NOTHING: Final[frozenset[str]] = frozenset()
_NOTHING_AT: Final[frozenset[int]] = frozenset()
_NETWORK_DEVICE: Final = compiled(r"/(?:dev|inet)/(?:tcp|udp)/")
_NO_PATH: Final = compiled(r"-{0,2}[A-Za-z0-9]{0,24}")
_SOURCING: Final = frozenset({"source", "."})
_SEARCHING: Final = frozenset({"grep", "rg", "sed", "awk"})
_KEEPING: Final = frozenset({"grep", "rg", "git", "sh", "bash"})  # they are given the text of a device's name
_EXPORTED: Final = compiled(
    r"\bexport[ \t]+[\"']?\$\((?:cat[ \t]+[^\s|()]+|e?grep[ \t]+-[vE]{1,2}[ \t]+(?:'[^'\n]*'|\"[^\"\n]*\"|\S+)"
    r"[ \t]+[^\s|()]+)[ \t]*(?:\|[ \t]*(?:e?grep|sed)[ \t]+[^|()\n$`;&]+)*"
    r"\|[ \t]*xargs(?:[ \t]+-\w+(?:[ \t]+'\\\\n')?)?[ \t]*\)"
)
_RECURSIVE: Final = compiled(r"-[A-Za-z]*[rR]")


def is_network_device(text: str) -> bool:
    """True for a path by which a shell or awk opens a connection."""
    return bool(_NETWORK_DEVICE.search(text))


class Touching:
    """Judges one call at a time."""

    def __init__(self, site: ShellSite, table: dict[str, Any]) -> None:
        self._site = site
        self._stores: dict[str, list[str]] = table["credential_stores"]
        self._path_only = lookup().path_only
        self._own_key: dict[str, list[str]] = table["own_key"]
        self._leaving_out: dict[str, list[str]] = table["leaves_out"]
        self._keeps_store: dict[str, list[str]] = table["keeps_store"]
        self._places: list[str] = table["secret_places"]
        self._collected = lookup().collected
        self._searched = lookup().searched
        self._showing: dict[str, list[str]] = table["showing_secrets"]
        self._printing = lookup().collecting
        self._known: dict[str, str | None] = {}

    def judge(self, call: Call) -> frozenset[str]:
        """Report what `call` reaches for; ``secret:…`` labels."""
        labels = self._store(call) if call.name in self._stores else _NOTHING
        naming = call.name in self._path_only
        left_out = self._left_out(call) if call.name in self._leaving_out else _NOTHING_AT
        for at, (text, word) in enumerate(zip(call.arguments, call.words, strict=False)):
            if at not in left_out and not _NO_PATH.fullmatch(text) and not (naming and " " in text):
                labels |= self._argument(call, text, word)
        if call.name == "printenv":
            labels |= self._printed(call)
        elif call.name in self._printing or self._shows(call):
            labels |= {f"secret:what {call.name} prints"}
        elif call.name in {"grep", "rg", "ag"} and self._is_search(call):
            labels |= {"secret:what was searched for among all files"}
        return labels

    def path(self, text: str) -> str | None:
        """What secret lies at a path, also one with wildcards."""
        if text not in self._known:
            self._known[text] = secrets().path(text) or (self._by_pattern(text) if "*" in text or "?" in text else None)
        return self._known[text]

    def _store(self, call: Call) -> frozenset[str]:
        asked = self._stores[call.name]
        joined = " ".join(call.arguments)
        if asked and not any(f" {item} " in f" {joined} " for item in asked):
            return _NOTHING
        message = f"{call.name} reads a stored secret"
        self._site.report("code-credential-store", call.command, message, subject=call.name)
        return frozenset({f"secret:{call.name}"})

    def _shows(self, call: Call) -> bool:
        """True for a command that prints many secrets at once: that is looking at them until they are sent."""
        asked = self._showing.get(call.name, ())
        return any(f" {item} " in f" {' '.join(call.arguments)} " for item in asked)

    def _printed(self, call: Call) -> frozenset[str]:
        labels = _NOTHING
        for name in call.operands:
            if secrets().variable(name):
                self._site.report("code-credential-env", call.command, f"reads the secret {name}", subject=name)
                labels |= {f"secret:{name}"}
        return labels

    def _is_search(self, call: Call) -> bool:
        recursive = call.name != "grep" or any(map(_RECURSIVE.match, call.arguments)) or call.has("--recursive")
        return recursive and any(map(self._searched.search, call.operands[:1]))

    def _argument(self, call: Call, text: str, word: Word) -> frozenset[str]:
        if ("/tcp/" in text or "/udp/" in text) and is_network_device(text):
            self._device(call, word)
        bare = text.partition("=")[2] if text.startswith("-") and "=" in text else text.lstrip("@")
        what = self.path(bare) or (self.path(bare.partition("@")[2]) if "=@" in bare else None)
        if what is None or " " in bare.strip():
            return self._gathered(call, text)
        one = asks_for_one(call) or (self._site.narrowed and call.name in {"cat", "strings"})
        named = one and bare.endswith("/environ")
        if named or call.name in self._path_only or self._is_key_option(call, text) or self._keeps(call, text):
            self._site.report("code-credential-mention", word, f"{call.name} names the place of {what}")
            return _NOTHING
        if call.name == "rm" and what.startswith(LOGIN_OF):
            self._site.report("code-credential-mention", word, f"rm deletes {bare[-60:]}")
            return _NOTHING
        if call.name in _SEARCHING and text == (call.operands or [""])[0]:
            return _NOTHING  # a pattern, not a file
        if what in KEPT_BY_AGENTS and (taken := self._taken(call, text, word)) is not None:
            return taken
        shown = bare.replace(HOLE, "…")[:120]
        message = f"{call.name} reaches for {what}: {shown}"
        if HOLE in bare and "://" in bare:  # of a function, which its callers tell the rest
            self._site.doubt("code-credential-file", word, message, secrets().reading(what))
            return frozenset({f"secret:{what}"})
        shown_only = secrets().reading(what)
        self._site.report("code-credential-file", word, message, subject=subject_of(what), severity=shown_only)
        return frozenset({f"secret:{what}"})

    def _taken(self, call: Call, text: str, word: Word) -> frozenset[str] | None:
        """Of what an agent keeps: variables that are judged where they are used, or the one key that is asked for."""
        if call.name in _SOURCING and text.endswith("/.env"):
            self._site.report(
                "code-credential-mention", word, f"{call.name} takes in what the agent keeps in {text[-40:]}"
            )
            return _NOTHING
        if self._is_exported(call):
            shown = f"what the agent keeps in {text[-40:]} becomes the environment, as with source"
            self._site.report("code-credential-mention", word, shown)
            return _NOTHING
        if leaves_rest(call, text):
            self._site.report("code-credential-mention", word, f"{call.name} leaves one line out of {text[-40:]}")
            return frozenset({f"secret:{text[-60:]}"})
        if self._is_put_back(call, text):
            self._site.report("code-credential-mention", word, f"{call.name} puts {text[-40:]} back")
            return _NOTHING
        if not (name := named_key(call, text)):
            return None
        self._site.capability("env", name, word)
        self._site.report("code-credential-env", word, f"reads {name} from what the agent keeps", subject=name)
        return frozenset({f"secret:{name}"})

    def _is_exported(self, call: Call) -> bool:
        """``export $(grep -v '^#' file | xargs)``: variables, which are judged where they are used."""
        text, at = self._site.segment.text, call.command.start
        first = text.rfind("\n", 0, at) + 1
        return any(found.start() < at < found.end() for found in _EXPORTED.finditer(text, first, first + 400))

    def _is_put_back(self, call: Call, text: str) -> bool:
        """``mv new file`` gives a file what was left of itself."""
        if call.name not in {"mv", "cp"} or len(call.operands) != 2 or text != call.operands[1]:
            return False
        named = zip(call.arguments, call.words, strict=False)
        source = next(self._site.name(each, word) for each, word in named if each == call.operands[0])
        return f"secret:{text[-60:]}" in self._site.files.private.get(source.removeprefix("./"), _NOTHING)

    def _device(self, call: Call, word: Word) -> None:
        if call.name not in self._path_only | _KEEPING:
            self._site.report("shell-reverse-shell", word, "a network connection is opened by the shell")

    def _gathered(self, call: Call, text: str) -> frozenset[str]:
        """Files that are no secret where they lie, but tell all about the user once they are sent."""
        if call.name in self._path_only or not self._collected.search(text.lower()):
            return _NOTHING
        sent_by_name = call.name == "curl" and "@" not in text and call.after("-T") is None
        return _NOTHING if sent_by_name else frozenset({f"secret:{text.lstrip('@')[-60:]}"})

    def _is_key_option(self, call: Call, text: str) -> bool:
        """``ssh -i key`` uses a key for what it is there for."""
        options = self._own_key.get(call.name, ())
        return any((at := call.after(option)) is not None and call.arguments[at] == text for option in options)

    def _left_out(self, call: Call) -> frozenset[int]:
        """Where ``tar --exclude ~/.ssh`` names what it does not take."""
        options = self._leaving_out[call.name]
        told = enumerate(call.arguments)
        return frozenset(at if "=" in text else at + 1 for at, text in told if text.partition("=")[0] in options)

    def _keeps(self, call: Call, text: str) -> bool:
        """``security create-keychain`` and ``git clone address ~/.password-store`` name a place and read nothing."""
        if call.name == "git":
            *before, target = call.operands or [""]
            from_elsewhere = any(":" in each and not each.startswith("file:") for each in before[1:])
            return before[:1] == ["clone"] and from_elsewhere and target == text and "/.password-store" in text
        said = f"{' '.join(call.operands[:2])} "
        opens_login = said.startswith("unlock") and "login." in text.lower()
        words = self._keeps_store.get(call.name, ())
        return any(said.startswith(f"{word} ") for word in words) and not opens_login

    def _by_pattern(self, text: str) -> str | None:
        parts = text.lower().split("/")
        wild = [part for part in parts if "*" in part or "?" in part]
        if any(len(part.replace("*", "").replace("?", "")) < 2 for part in wild):
            return None
        for place in self._places:
            own = place.split("/")
            if len(own) == len(parts) and all(map(_is_matched, own, parts)):
                return secrets().path(place)
        return None


def _is_matched(name: str, pattern: str) -> bool:
    return name == pattern or (fnmatchcase(name, pattern) and name.startswith(".") == pattern.startswith("."))
