"""The only configuration and environment that git ever sees here; nothing is inherited.

Each line answers an attack: hooks, filters, fsmonitor and credential helpers are programs a repository or a user's
configuration could start; redirects could lead to another owner; alternates and replace refs to other objects.
See git-config(1), gitprotocol-v2(5), CVE-2024-32004, CVE-2024-32465, CVE-2022-39253, CVE-2017-1000117.
"""

from __future__ import annotations

import os
from pathlib import Path

from skillkeep.ingest.fetchers.interface import FetchOrder

__all__ = ["config_text", "environment"]

_SSH_OPTIONS = (
    "BatchMode=yes", "StrictHostKeyChecking=yes", "PasswordAuthentication=no", "KbdInteractiveAuthentication=no",
    "ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes", "PermitLocalCommand=no", "ProxyCommand=none",
    "ControlMaster=no", "ControlPath=none", "ConnectTimeout=20", "ServerAliveInterval=10", "ServerAliveCountMax=3",
    "UpdateHostKeys=no",
)  # fmt: skip
_SLOW_BYTES_A_SECOND = 1000
_SLOW_SECONDS = 20


def config_text(order: FetchOrder) -> str:
    """The private global configuration for one fetch."""
    slow = max(1, min(_SLOW_SECONDS, int(order.limits.seconds / 2)))
    proxy = "" if _is_plain(order) else order.proxy
    lines = [
        "[core]", "hooksPath = /dev/null", "fsmonitor = false", "symlinks = false", "attributesFile = /dev/null",
        "excludesFile = /dev/null", "askPass = /bin/false", "bigFileThreshold = 8m", "packedGitLimit = 256m",
        "[protocol]", "allow = never", "version = 2",
        f'[protocol "{order.scheme}"]', "allow = always",
        "[transfer]", "fsckObjects = true", "credentialsInUrl = die", "bundleURI = false",
        "[fetch]", "fsckObjects = true", "recurseSubmodules = false", "unpackLimit = 1", "writeCommitGraph = false",
        "[submodule]", "recurse = false",
        "[http]", "followRedirects = false", "sslVerify = true", f"lowSpeedLimit = {_SLOW_BYTES_A_SECOND}",
        f"lowSpeedTime = {slow}", f"proxy = {_quoted(proxy)}", "saveCookies = false", "emptyAuth = false",
        "[credential]", 'helper = ""',
        "[gc]", "auto = 0",
        "[maintenance]", "auto = false",
        "[pack]", "threads = 1",
        "[index]", "threads = false",
        "[advice]", "graftFileDeprecated = false",
    ]  # fmt: skip
    if order.local:
        # the user named this repository; git would refuse one that belongs to another user otherwise
        lines += ["[safe]", *(f"directory = {_quoted(path)}" for path in (order.local, f"{order.local}/.git"))]
    return "\n".join(lines) + "\n"


def environment(order: FetchOrder) -> tuple[tuple[str, str], ...]:
    """Every variable of the worker and of the git processes below it."""
    private = f"{order.folder}/home"
    values = {
        "PATH": os.pathsep.join(dict.fromkeys([os.path.dirname(order.program), "/usr/local/bin", "/usr/bin", "/bin"])),
        "HOME": private,
        "XDG_CONFIG_HOME": private,
        "TMPDIR": private,
        "LC_ALL": "C",
        "LANGUAGE": "C",
        "TZ": "UTC",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": f"{private}/gitconfig",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": order.scheme,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
        "SSH_ASKPASS_REQUIRE": "never",
        "GIT_SSH_VARIANT": "ssh",
        "GIT_SSH_COMMAND": " ".join(["ssh -F /dev/null", *(f"-o {option}" for option in _SSH_OPTIONS)]),
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_CEILING_DIRECTORIES": order.folder,
        "GIT_PYTHON_REFRESH": "quiet",
        "GIT_PYTHON_GIT_EXECUTABLE": order.program,
        "GIT_PYTHON_TRACE": "",
    }
    return tuple(values.items())


def write_config(order: FetchOrder) -> None:
    """Put `config_text` where `environment` says; the folder is made, private."""
    private = Path(order.folder) / "home"
    private.mkdir(mode=0o700)
    (private / "gitconfig").write_text(config_text(order), encoding="utf-8", errors="surrogateescape")


def _is_plain(order: FetchOrder) -> bool:
    return order.scheme != "https"


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
