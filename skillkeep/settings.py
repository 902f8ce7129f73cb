"""Settings from ``config.toml`` of the home (or ``--config``); never from anything that is being scanned.

Unknown keys are refused: a misspelt limit must not silently mean the default. No key lifts a FAIL (law 2).
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from skillkeep.errors import SkillkeepError
from skillkeep.home import Home
from skillkeep.typed import TypedError, typed
from skillkeep.value import Field, Value, field, fields

__all__ = [
    "AuditorSettings",
    "JournalSettings",
    "LimitSettings",
    "RubricSettings",
    "SandboxSettings",
    "Settings",
    "TrustSettings",
    "load_settings",
]

_MIB = 1 << 20
_DAY = 86_400.0


def _above_zero(default: float, most: float = math.inf) -> Any:
    """A number above 0, and at most `most`."""
    return field(default=default, metadata={"above": 0, "most": most})


def _between(default: float, least: float, most: float) -> Any:
    return field(default=default, metadata={"least": least, "most": most})


def _seconds(default: float) -> Any:
    return _above_zero(default, _DAY)


def _check(value: Any, bounds: Field) -> None:
    """Raises TypedError for a text of another form, for a number outside of its bounds, and for none (NaN)."""
    known = bounds.metadata
    if "form" in known and not re.fullmatch(known["form"], str(value)):
        raise TypedError(f"a text of the form {known['form']} is wanted", (bounds.name,))
    if "above" in known and not value > known["above"]:
        raise TypedError(f"more than {known['above']} is wanted", (bounds.name,))
    if "least" in known and not value >= known["least"]:
        raise TypedError(f"at least {known['least']} is wanted", (bounds.name,))
    if "most" in known and not value <= known["most"]:
        raise TypedError(f"at most {known['most']} is wanted", (bounds.name,))


class _Section(Value):
    """Raises TypedError for a value outside of its bounds."""

    def __post_init__(self) -> None:
        for each in fields(type(self)):
            if each.metadata:
                _check(getattr(self, each.name), each)


class TrustSettings(_Section):
    """Whose repositories are tier 2: ``host/owner`` or, for github.com, just ``owner``."""

    owners: tuple[str, ...] = (
        "anthropics",
        "aws",
        "awslabs",
        "google",
        "googleapis",
        "google-gemini",
        "microsoft",
        "azure",
        "modelcontextprotocol",
        "openai",
        "github",
    )
    mirrors: dict[str, str] = field(default_factory=dict)


class LimitSettings(_Section):
    """Bounds of what may be fetched and held; bytes and seconds."""

    artifact_files: int = _above_zero(512)
    artifact_bytes: int = _above_zero(16 * _MIB)
    source_files: int = _above_zero(20_000)
    source_bytes: int = _above_zero(256 * _MIB)
    file_bytes: int = _above_zero(16 * _MIB)
    depth: int = _above_zero(32)
    fetch_seconds: float = _seconds(300.0)
    unpack_seconds: float = _seconds(60.0)


class SandboxSettings(_Section):
    """Defaults of a run; see `SandboxPolicy`."""

    backend: str = "auto"
    landlock: bool = False
    cpus: float = _above_zero(1.0, 1024)
    memory_bytes: int = _above_zero(512 * _MIB)
    processes: int = _above_zero(100)
    wall_seconds: float = _seconds(60.0)
    output_bytes: int = _above_zero(1_000_000)
    tmp_bytes: int = _above_zero(64 * _MIB)
    dry_run_bytes: int = _above_zero(256 * _MIB)
    docker_image: str = ""
    docker_runtime: str = ""
    lima_instance: str = field(default="default", metadata={"form": r"[A-Za-z0-9][A-Za-z0-9._-]*"})
    docker_warm_seconds: float = _between(0.0, 0, _DAY)


class AuditorSettings(_Section):
    """Which second opinions run beside our own engines, and how long an audit may take in seconds.

    `advisories` is the path of an offline file of OSV records about packages; empty means none. With less than half a
    GiB of `memory_bytes` the reader of an ordinary tree would be killed, which counts against the tool.
    """

    bandit: bool = True
    semgrep: bool = True
    advisories: str = ""
    seconds: float = _seconds(120.0)
    memory_bytes: int = _between(2048 * _MIB, 512 * _MIB, math.inf)


class RubricSettings(_Section):
    """A language model as a second pair of eyes: a server that speaks OpenAI's protocol, or a program.

    `api_key_env` names the environment variable that holds the key; empty sends none. `command` is a program's
    argument list and stands instead of `base_url` and `model`.
    """

    enabled: bool = False
    base_url: str = ""
    model: str = ""
    api_key_env: str = field(default="", metadata={"form": r"([A-Za-z_][A-Za-z0-9_]*)?"})
    command: tuple[str, ...] = ()
    seconds: float = _seconds(120.0)
    tokens: int = _between(60_000, 4_000, 2_000_000)
    consensus: int = _between(1, 1, 9)

    @property
    def usable(self) -> bool:
        """True when there is somebody to ask."""
        return bool(self.command or (self.base_url and self.model))

    def __post_init__(self) -> None:
        super().__post_init__()
        if problem := _problem_of_url(self.base_url):
            raise TypedError(problem, ("base_url",))
        if self.enabled and not self.usable:
            raise TypedError("enabled needs base_url and model, or command")
        if self.command and (self.base_url or self.model or self.api_key_env):
            raise TypedError("command stands instead of base_url, model and api_key_env")
        if self.command and not self.command[0]:
            raise TypedError("command begins with the program to run")
        if self.api_key_env and self.base_url.startswith("http:") and not _is_local(self.base_url):
            raise TypedError("a key is sent over https or to this machine only")


def _is_local(url: str) -> bool:
    from urllib.parse import urlsplit  # few settings hold a URL

    return urlsplit(url).hostname in {"localhost", "127.0.0.1", "::1"}


def _problem_of_url(url: str) -> str:
    """Why it is no http or https URL of a host and a path, empty when it is: what else it can carry would be sent."""
    if not url:
        return ""
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return "a URL of printable ASCII is wanted"
    from urllib.parse import urlsplit  # few settings hold a URL

    try:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
            return "a URL such as https://host/v1 is wanted"
    except ValueError as error:
        return str(error)
    return (
        "the URL must not hold credentials, a query or a fragment"
        if "@" in parts.netloc or "?" in url or "#" in url
        else ""
    )


class JournalSettings(_Section):
    """When a journal file is closed and the next one begun."""

    rotate_bytes: int = _above_zero(16 * _MIB)


class Settings(_Section):
    """All of ``config.toml``."""

    trust: TrustSettings = TrustSettings()
    limits: LimitSettings = LimitSettings()
    sandbox: SandboxSettings = SandboxSettings()
    auditor: AuditorSettings = AuditorSettings()
    rubric: RubricSettings = RubricSettings()
    journal: JournalSettings = JournalSettings()


def load_settings(home: Home, path: Path | None = None) -> Settings:
    """Read `path` or the home's ``config.toml``; the home's file may be missing, a named one may not.

    Raises `SkillkeepError` (`bad_config`) with the key that is wrong.
    """
    chosen = path or home.config
    try:
        text = chosen.read_text(encoding="utf-8")
        import tomllib  # most homes have no file

        return typed(Settings, tomllib.loads(text))
    except FileNotFoundError as error:
        if path is None:
            return Settings()
        raise _bad("the configuration file does not exist", str(chosen)) from error
    except TypedError as error:
        raise _bad(str(error), str(chosen)) from error
    except OSError as error:
        raise _bad(f"it cannot be read: {error.strerror}", str(chosen)) from error
    except (ValueError, RecursionError) as error:
        raise _bad(f"it cannot be read as TOML: {error}", str(chosen)) from error


def _bad(what: str, path: str) -> SkillkeepError:
    return SkillkeepError(
        "bad_config",
        f"the configuration is not usable: {what}",
        "See docs/configuration.md for the keys; remove the line to get the default.",
        path=path,
    )
