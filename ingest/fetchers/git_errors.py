"""What git said on stderr, as one of our errors. Part of it is the server's text: it only picks the hint."""

from __future__ import annotations

import re

from skillkeep.errors import SkillkeepError
from skillkeep.ingest.errors import IngestError
from skillkeep.text import shorten

__all__ = ["from_stderr", "ref_missing"]

_Answer = tuple[str, str, str]
_ANSWERS: tuple[tuple[re.Pattern[str], _Answer], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), answer)
    for pattern, answer in (
        (
            r"update url base from redirection|returned error: 30[1278]",
            ("redirected", "the server sends us to another address",
             "Open the address in a browser, see who owns it now, and ingest the new address."),
        ),
        (
            r"couldn't find remote ref|not our ref|unadvertised object|no such remote ref|Needed a single revision",
            ("ref_not_found", "the repository has no such branch, tag or commit",
             "See `git ls-remote URL` for what there is; a commit is given in full (40 digits)."),
        ),
        (
            r"Operation too slow|timed out|timeout",
            ("fetch_timeout", "the server stopped answering",
             "Try again later, or raise fetch_seconds in config.toml."),
        ),
        (
            r"could not read Username|Authentication failed|returned error: 40[13]|Permission denied \(",
            ("fetch_failed", "the server asks for a login, or the repository does not exist",
             "Private repositories are taken over ssh only, with a key file in ~/.ssh that needs no passphrase."),
        ),
        (
            r"returned error: (429|5\d\d)",
            ("fetch_failed", "the server does not serve the repository now",
             "Try again later; the detail has its answer."),
        ),
        (
            r"Host key verification failed|No .* host key is known",
            ("fetch_failed", "the ssh host is not known",
             "Connect once by hand with ssh and compare the fingerprint, then try again."),
        ),
        (
            r"does not appear to be a git repository|repository .*not found|returned error: 404|not a git repository",
            ("source_not_found", "there is no git repository at this address", "Check the address."),
        ),
        (
            r"fsck|index-pack|bad (object|tree|line)|missing blob|invalid object|not send all|inflate|corrupt|died of",
            ("hostile_objects", "git refused the repository's objects",
             "The repository is damaged or built to attack; do not use it."),
        ),
        (
            r"Could not resolve|Failed to connect|Couldn't connect|Connection refused|Network is unreachable|No route",
            ("fetch_failed", "the server cannot be reached", "Check the address and your network."),
        ),
    )
)  # fmt: skip


def from_stderr(stderr: str) -> SkillkeepError:
    """The error for a git command that failed. Lines a server may write freely (``remote: …``) do not decide."""
    lines = [line for line in stderr.splitlines() if not line.lower().startswith("remote:")]
    own = "\n".join(lines)
    detail = shorten(" | ".join(line for line in lines if line.strip()), 400)
    for pattern, (code, message, hint) in _ANSWERS:
        if pattern.search(own):
            return IngestError(code, message, hint, detail=detail)
    return IngestError(
        "fetch_failed", "git could not fetch the source", "See the detail; check the address.", detail=detail
    )


def ref_missing(ref: str) -> SkillkeepError:
    """The error for a ref that the repository does not list."""
    return IngestError(
        "ref_not_found",
        "the repository has no such branch, tag or commit",
        "See `git ls-remote URL` for what there is; a commit is given in full (40 digits).",
        ref=ref,
    )
