"""Files that a script fills: what was downloaded or decoded, unpacked, copied, or taken from the environment."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.engines.values import HOLE

__all__ = ["Files"]

_NOTHING: frozenset[str] = frozenset()
_ORIGINS = frozenset({"download", "decoded"})
_SCRIPT = compiled(r"/|\.(?:sh|bash|py|js|mjs|pl|rb|php|lua|ps1|exe|bin|run)$")  # and no program's bare name
_SHARED = frozenset({"/", "/usr", "/usr/local"})  # hold more than one archive's programs
_RELATIVE = compiled(r"(?!\.\.)[\w.@-][\w./@-]{0,250}")  # and no data behind a script's end
_BELOW_HERE = compiled(r"\.?[\w-][\w.-]*/|\./")


@dataclass
class Files:
    """File names as the script writes them. `urls` of the downloaded ones; `labels` of all.

    `folders` are those the script changes into, so that ``cd /tmp`` makes ``a`` and ``/tmp/a`` the same. `unpacked` are
    folders with the content of a downloaded archive, and its address (`in_place`: with what else lay there), `hidden`
    those of a decoded one; `programs` are copies of interpreters under other names; `private` are the labels of files
    that hold what is the user's; `handed` are those of open descriptors; `unasked` are downloads of
    functions that nobody has called yet;
    `cut` are files that hold no program of the script's, and what they hold in words: a part of another file, which is
    no program by its name, or a text of which nothing is known.
    """

    urls: dict[str, str] = field(default_factory=dict)
    labels: dict[str, frozenset[str]] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    unpacked: dict[str, str] = field(default_factory=dict)
    in_place: set[str] = field(default_factory=set)
    hidden: set[str] = field(default_factory=set)
    programs: dict[str, str] = field(default_factory=dict)
    private: dict[str, frozenset[str]] = field(default_factory=dict)
    handed: frozenset[str] = _NOTHING
    unasked: set[str] = field(default_factory=set)
    cut: dict[str, str] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        """Whether the script has filled a file at all."""
        return bool(self.labels or self.unpacked or self.hidden or self.cut)

    def known(self, others: Iterable[Files]) -> None:
        """Take on what scripts have filled of which this text is a part."""
        for other in others:
            self.labels |= other.labels
            self.urls |= other.urls
            self.folders += other.folders
            self.unpacked |= {folder: url for folder, url in other.unpacked.items() if folder not in _SHARED}
            self.in_place |= other.in_place
            self.hidden |= other.hidden
            self.programs |= other.programs
            self.cut |= other.cut

    @contextmanager
    def tried(self) -> Iterator[None]:
        """What is filled inside only may be, and is forgotten behind it."""
        urls, labels, unasked = dict(self.urls), dict(self.labels), set(self.unasked)
        self.unasked.update(urls)
        yield
        self.urls, self.labels, self.unasked = urls, labels, unasked

    def downloaded(self, name: str, url: str, *, asked: bool = True) -> None:
        """`name` now holds what `url` answered, or what an earlier one did; not `asked` in a body nobody has called."""
        key = name.removeprefix("./")
        earlier = "" if key in self.unasked else self.urls.get(key, "")
        (self.unasked.discard if asked else self.unasked.add)(key)
        if earlier and url not in earlier.split(" "):
            url = f"{earlier} {url or HOLE}"  # one of them, whichever answered
        self.filled(name, frozenset({"download"}), url)

    def filled(self, name: str, labels: frozenset[str], url: str = "") -> None:
        """`name` now holds data with these labels; only where it comes from is kept."""
        origin = labels & _ORIGINS
        key = name.removeprefix("./")
        if len(origin) < len(labels) and key and not key.startswith("/dev/"):
            self.private[key] = self.private.get(key, _NOTHING) | (labels - origin)
        if not origin or not key or key.startswith("/dev/"):
            return
        self.labels[key] = self.labels.get(key, _NOTHING) | origin
        if "download" in origin and (url or key not in self.urls):
            self.urls[key] = url

    def copied(self, source: str, target: str) -> None:
        """`target` (a file, or a folder with a slash at its end) is now the same as `source`."""
        key = self.find(source)
        if key is not None:
            name = target + key.rpartition("/")[2] if target.endswith("/") else target
            self.filled(name, self.labels[key], self.urls.get(key, ""))

    def find(self, name: str) -> str | None:
        """The name under which the file was filled, or None."""
        return self.same(name.removeprefix("./"), self.labels) if self.labels else None

    def same(self, key: str, names: Container[str]) -> str | None:
        """Which of `names` is the file `key`, told from the folders that the script changes into."""
        if key in names:
            return key
        for folder in self.folders:
            if f"{folder}/{key}" in names:
                return f"{folder}/{key}"
            if key.startswith(f"{folder}/") and key[len(folder) + 1 :] in names:
                return key[len(folder) + 1 :]
        return None

    def unpacked_in(self, name: str) -> str | None:
        """The address of the archive that the file called `name` came out of, or None."""
        names = self._called(name)
        return next(
            (url for folder, url in self.unpacked.items() if any(_is_below(folder, each) for each in names)), None
        )

    def hidden_in(self, name: str) -> bool:
        """Whether the file called `name` came out of an archive that a decoder made."""
        return any(_is_below(folder, each) for folder in self.hidden for each in self._called(name))

    def _called(self, name: str) -> list[str]:
        """The file as it is called from here, and from where the script was before it changed into a folder."""
        if not _SCRIPT.search(name) or not _RELATIVE.fullmatch(name):
            return [name]
        return [name, *(f"{folder}/{name.removeprefix('./')}" for folder in self.folders)]

    def of(self, name: str) -> frozenset[str]:
        """The labels of the file's content."""
        key = self.find(name)
        return self.labels[key] if key is not None else _NOTHING


def _is_below(folder: str, name: str) -> bool:
    return name.startswith(f"{folder}/") or (folder == "." and _BELOW_HERE.match(name) is not None)
