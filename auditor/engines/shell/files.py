"""Files that a script fills: what was downloaded or decoded, unpacked, copied, or taken from the environment."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field

__all__ = ["Files"]

_NOTHING: frozenset[str] = frozenset()
_ORIGINS = frozenset({"download", "decoded"})
_BELOW_HERE = re.compile(r"\.?[\w-][\w.-]*/|\./")


@dataclass
class Files:
    """File names as the script writes them. `urls` of the downloaded ones; `labels` of all.

    `folders` are those the script changes into, so that ``cd /tmp`` makes ``a`` and ``/tmp/a`` the same. `unpacked` are
    folders with the content of a downloaded archive, and its address, `hidden` those of a decoded one; `programs` are
    copies of interpreters under other names; `private` are the labels of files that hold what is the user's; `handed`
    are those of open descriptors.
    """

    urls: dict[str, str] = field(default_factory=dict)
    labels: dict[str, frozenset[str]] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    unpacked: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    programs: dict[str, str] = field(default_factory=dict)
    private: dict[str, frozenset[str]] = field(default_factory=dict)
    handed: frozenset[str] = _NOTHING

    def downloaded(self, name: str, url: str) -> None:
        """`name` now holds what `url` answered."""
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
        return next((url for folder, url in self.unpacked.items() if _is_below(folder, name)), None)

    def hidden_in(self, name: str) -> bool:
        """Whether the file called `name` came out of an archive that a decoder made."""
        return any(_is_below(folder, name) for folder in self.hidden)

    def of(self, name: str) -> frozenset[str]:
        """The labels of the file's content."""
        key = self.find(name)
        return self.labels[key] if key is not None else _NOTHING


def _is_below(folder: str, name: str) -> bool:
    return name.startswith(f"{folder}/") or (folder == "." and _BELOW_HERE.match(name) is not None)
