"""Git URLs and refs, read strictly: what is not plainly one of the allowed forms is refused.

The owner that a URL shows decides the trust tier, so nothing may make git or curl fetch from another owner than
the one we read: no dot segments (curl removes them), no escapes in them, no user names that look like hosts, no
redirects (see the fetcher).
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import replace
from urllib.parse import quote, unquote

from skillkeep.ingest.errors import IngestError
from skillkeep.ingest.source import SourceKind, SourceRef, real_path

__all__ = ["check_ref", "is_commit", "looks_like_git", "parse_git"]

_SCP = re.compile(r"(?P<user>[^@/:]+)@(?P<host>\[[0-9A-Fa-f:.]+\]|[^@/:\[\]]+):(?P<path>.+)\Z")
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_REGISTRY = re.compile(r"(npm|pypi|docker|oci|gem|cargo|github|gitlab|data|javascript):", re.IGNORECASE)
_FORGE = re.compile(r"(?P<forge>github|gitlab):/*(?P<place>[A-Za-z0-9._-]+/[A-Za-z0-9._-]+)\Z", re.IGNORECASE)
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)\Z")
_AUTHORITY = re.compile(r"(?:(?P<user>[^@]*)@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^@:\[\]]*)(?::(?P<port>[0-9]{1,5}))?\Z")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*\Z")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}\Z")
_OWNER = re.compile(r"[A-Za-z0-9._-]+\Z")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_REF_BAD = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|\Z)|/\.|\A\.|\.\Z|\A/|/\Z")
_PORTS = {"https": 443, "http": 80, "ssh": 22}
_CASELESS_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})


def looks_like_git(text: str) -> bool:
    """True when `text` has the form of a URL or of ``user@host:path``, wanted or not; else it is a local path."""
    return bool(_URL.match(text) or _HELPER.match(text) or _SCP.match(text) or _REGISTRY.match(text))


def parse_git(text: str, ref: str | None, path: str) -> SourceRef:
    """Parse a git URL; see `parse_source` for the errors."""
    if _HELPER.match(text) or (_REGISTRY.match(text) and not _URL.match(text)):
        raise _registry(text)
    bare, mark, fragment = text.partition("#")
    if mark and ref is not None and fragment != ref:
        raise IngestError("bad_ref", "the URL's #ref and --ref differ", "Give the ref once.")
    wanted = fragment if mark else ref
    chosen = None if wanted is None else check_ref(wanted)
    match = _URL.match(bare)
    if not match:
        scp = _SCP.match(bare)
        if scp is None:  # its path is empty without the fragment
            raise _malformed("path")
        source = _remote("ssh", scp["user"], scp["host"], 0, scp["path"].removeprefix("/"), (chosen, path))
        return replace(source, text=bare, url=bare)  # without a leading slash the path begins in the user's home
    scheme, rest = match["scheme"].lower(), match["rest"]
    if scheme == "file":
        return _local_repository(rest, chosen, path)
    if scheme not in _PORTS:
        raise _unsupported(f"the transport {scheme} is not used")
    authority, _, url_path = rest.partition("/")
    parts = _AUTHORITY.match(authority)
    if "@" in authority and (scheme != "ssh" or ":" in authority.rpartition("@")[0]):
        raise _credentials()
    if "?" in rest:
        raise _credentials()
    if not parts:
        raise _malformed("host")
    return _remote(scheme, parts["user"], parts["host"], int(parts["port"] or 0), url_path, (chosen, path))


def _remote(
    scheme: str, user: str | None, host: str, port: int, url_path: str, rest: tuple[str | None, str]
) -> SourceRef:
    ref, inner = rest
    if user is not None and not _USER.match(user):
        raise _malformed("user name")
    bare = host.strip("[]")
    if not (_HOST.match(host) if host == bare else _is_ipv6(bare)) or port > 65_535:
        raise _malformed("host or port")
    if scheme == "http" and not _is_loopback(bare):
        raise _unsupported("plain http is taken from this machine only", "Use https://.")
    parts, forge_ref, forge_path = _split_path(host.lower(), url_path)
    if (ref and forge_ref and ref != forge_ref) or (inner and forge_path and inner != forge_path):
        raise IngestError("bad_ref", "the URL already names a ref or path, and another one was given", "Give it once.")
    default = _PORTS[scheme]
    shown_host = host.lower() if port in {0, default} else f"{host.lower()}:{port}"
    prefix = f"{user}@" if user else ""
    url = f"{scheme}://{prefix}{shown_host}/{'/'.join(parts)}"
    identity = [*parts[:-1], parts[-1].removesuffix(".git")]
    caseless = shown_host in _CASELESS_HOSTS
    key = "/".join([shown_host, *((part.lower() for part in identity) if caseless else identity)])
    owner = parts[0].lower() if len(parts) > 1 and _OWNER.match(parts[0]) else ""
    return SourceRef(
        text=url,
        kind=SourceKind.GIT,
        url=url,
        scheme=scheme,
        host=shown_host,
        owner=owner,
        port=port or default,
        ref=ref or (check_ref(forge_ref) if forge_ref else None),
        path=inner or forge_path,
        key=key,
    )


def _split_path(host: str, url_path: str) -> tuple[list[str], str, str]:
    """The path's parts, and ref and inner path of a forge's web address (``/tree/<ref>/<path>``)."""
    parts = url_path.removesuffix("/").split("/")
    for part in parts:
        plain = unquote(part)
        if plain in {"", ".", ".."} or any(char in plain for char in "/\\") or not plain.isprintable():
            raise _malformed("path")
        if part.startswith("-") and part != "-":
            raise IngestError("option_like", "a part of the URL begins with a dash", "Check the URL.")
    if host == "github.com" and len(parts) > 3 and parts[2] in {"tree", "blob"}:
        return parts[:2], parts[3], "/".join(unquote(part) for part in parts[4:])
    if host == "gitlab.com" and "-" in parts and parts[parts.index("-") + 1 :][:1] in (["tree"], ["blob"]):
        cut = parts.index("-")
        return parts[:cut], "".join(parts[cut + 2 : cut + 3]), "/".join(unquote(part) for part in parts[cut + 3 :])
    return parts, "", ""


def _local_repository(rest: str, ref: str | None, path: str) -> SourceRef:
    if not rest.startswith("/"):
        raise _malformed("path: file:// is followed by an absolute path")
    if "?" in rest or "\\" in rest:
        raise _malformed("path: write %3F for a question mark in it, and %5C for a backslash")
    real = real_path(unquote(rest))
    if real is None:
        raise IngestError("source_not_found", "the local repository does not exist", "Check the path.")
    return SourceRef(
        text=f"file://{quote(os.fsencode(real))}",
        kind=SourceKind.GIT,
        url=f"file://{quote(os.fsencode(real))}",
        scheme="file",
        host="",
        owner="",
        port=0,
        ref=ref,
        path=path,
        key=f"file:{os.fspath(real).removesuffix('.git').rstrip('/')}",
        local=real,
    )


def check_ref(ref: str) -> str:
    """`ref` itself when git would allow it as a branch, tag, full ref or commit name.

    Rules of git-check-ref-format(1), and none that begins like an option or a refspec. Raises `IngestError`
    (`bad_ref`, `option_like`).
    """
    if ref.startswith("-"):
        raise IngestError("option_like", "the ref begins with a dash, like an option", "Give a branch, tag or commit.")
    if not ref or len(ref) > 255 or ref == "@" or ref.startswith("+") or _REF_BAD.search(ref) or not ref.isprintable():
        raise IngestError("bad_ref", "that is not a ref git allows", "Give a branch, a tag or a full commit id.")
    return ref


def is_commit(ref: str) -> bool:
    """True for a full commit id (SHA-1 or SHA-256, lower case)."""
    return bool(_COMMIT.match(ref))


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_FORMS = "Use https://, ssh://, user@host:path, file:// or a local path."


def _unsupported(what: str, hint: str = _FORMS) -> IngestError:
    return IngestError("unsupported_scheme", f"the source cannot be used: {what}", hint)


def _registry(text: str) -> IngestError:
    if found := _FORGE.match(text):
        return _unsupported("that is no URL", f"Did you mean https://{found['forge'].lower()}.com/{found['place']} ?")
    hint = "Give the URL of its git repository, or an archive of it that you have downloaded."
    return _unsupported("packages and images of registries are not fetched", hint)


def _credentials() -> IngestError:
    return IngestError(
        "credentials_in_url",
        "the URL holds a user name, password, token or query",
        "Remove it; use ssh for a private repository. A real secret is in your shell's history now: replace it.",
    )


def _malformed(what: str) -> IngestError:
    return IngestError(
        "bad_source", f"the URL is malformed: {what}", "Check the URL, for example https://host/owner/repo."
    )
