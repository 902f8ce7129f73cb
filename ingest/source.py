"""What the user named: a git URL, a local folder or an archive. Parsed strictly, before anything is touched.

`parse_source` decides from the text (and, for a local path, from the file system) what will be fetched, whose it
is, and under which identity (`key`) names and reviews are kept. Nothing here connects anywhere.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from skillkeep.ingest.errors import IngestError

__all__ = ["ARCHIVE_SUFFIXES", "SourceKind", "SourceRef", "check_inner_path", "parse_source", "real_path"]

ARCHIVE_SUFFIXES = (".zip", ".skill", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
_LONGEST = 4096


class SourceKind(StrEnum):
    """How a source is fetched."""

    GIT = "git"
    FOLDER = "folder"
    ARCHIVE = "archive"


@dataclass(frozen=True)
class SourceRef:
    """A parsed source; nothing of it has been fetched.

    `text` names it again on a command line (no ref, no credentials, local paths absolute). `url` is what git is
    given. `host` is lower case, with the port where it is not the scheme's own; `owner` is the first part of
    the URL's path, lower case, or empty. `port` is the only TCP port fetching may reach, 0 for none. `ref` is
    None for the repository's default. `path` is the part of the source to take (POSIX, empty: all of it).
    `key` is the identity to which names belong: the same for https and ssh, with and without ``.git``.
    `local` is the absolute path of a folder, file or local repository with every link resolved.
    """

    text: str
    kind: SourceKind
    url: str
    scheme: str
    host: str
    owner: str
    port: int
    ref: str | None
    path: str
    key: str
    local: Path | None = None


def parse_source(text: str, ref: str | None = None, path: str | None = None) -> SourceRef:
    """Read `text` as git URL (https, ssh, ``user@host:path``, file, http on loopback; ``#ref``), folder or archive.

    Raises `IngestError`: `bad_source`, `option_like`, `unsupported_scheme`, `credentials_in_url`, `bad_ref`,
    `bad_selection`, `source_not_found`. No message repeats a URL that may hold a secret.
    """
    from skillkeep.ingest.giturl import looks_like_git, parse_git

    _check_text(text)
    chosen = check_inner_path(path) if path else ""
    if looks_like_git(text):
        return parse_git(text, ref, chosen)
    return _parse_local(text, ref, chosen)


def _check_text(text: str) -> None:
    if not text or len(text) > _LONGEST:
        raise _bad("it is empty or longer than 4096 characters")
    if text.startswith("-"):
        raise IngestError(
            "option_like",
            "the source begins with a dash, like an option",
            "Write a local path as ./-name; a URL never begins with a dash.",
        )
    if any(unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} for char in text):
        raise _bad("it holds control or invisible characters")


def check_inner_path(path: str) -> str:
    """A ``--path`` in canonical form: POSIX, relative, below the source's root; ``""`` for the root itself.

    Raises `IngestError` (`option_like`, `bad_selection`).
    """
    if path.startswith("-"):
        raise IngestError("option_like", "the path begins with a dash, like an option", "Write it as ./-name.")
    parts = [part for part in path.split("/") if part not in {"", "."}]
    climbs = path.startswith("/") or ".." in parts or "\\" in path
    if climbs or len(path) > _LONGEST or any(unicodedata.category(char) in {"Cc", "Cf"} for char in path):
        raise IngestError(
            "bad_selection",
            "the path inside the source is not usable",
            "Give a plain path below the source's root, such as skills/pdf.",
            path=path,
        )
    return "/".join(parts)


def _parse_local(text: str, ref: str | None, path: str) -> SourceRef:
    real = real_path(os.path.expanduser(text) if text.startswith("~") else text)
    if real is None:
        raise _not_found(text)
    info = real.stat()
    if ref is not None:
        raise _bad("a ref goes with a git repository only", "Use file:///absolute/path for a local repository.")
    if stat.S_ISDIR(info.st_mode):
        kind = SourceKind.FOLDER
    elif not stat.S_ISREG(info.st_mode):
        raise _bad("it is neither a folder nor a file")
    else:
        kind = SourceKind.ARCHIVE if real.name.lower().endswith(ARCHIVE_SUFFIXES) else SourceKind.FOLDER
    return SourceRef(
        text=os.fspath(real),
        kind=kind,
        url="",
        scheme="",
        host="",
        owner="",
        port=0,
        ref=None,
        path=path,
        key=f"{kind}:{real}",
        local=real,
    )


def real_path(text: str) -> Path | None:
    """The absolute, link-free path of what the user typed, or None when it does not exist or cannot be read."""
    try:
        return Path(text).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):
        return None


def _not_found(text: str) -> IngestError:
    hint = "Check the path; a git repository is named by https://, ssh://, user@host:path or file://."
    if "@" in text:  # may hold a password in a form that is no URL: not repeated
        return IngestError("source_not_found", "the source does not exist", hint)
    if text.count("/") == 1 and not text.startswith((".", "/", "~")):
        hint = f"There is no such path here. Did you mean https://github.com/{text} ?"
    return IngestError("source_not_found", "the source does not exist", hint, source=text)


_FORMS = "Give a git URL, the path of a folder, or the path of a zip or tar archive."


def _bad(what: str, hint: str = _FORMS) -> IngestError:
    return IngestError("bad_source", f"the source cannot be used: {what}", hint)
