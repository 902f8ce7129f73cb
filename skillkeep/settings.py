"""Settings from ``config.toml`` of the home (or ``--config``); never from anything that is being scanned.

Unknown keys are refused: a misspelt limit must not silently mean the default. No key lifts a FAIL (law 2).
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from skillkeep.errors import SkillkeepError
from skillkeep.home import Home

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
_Positive = Annotated[int, Field(gt=0)]
_Seconds = Annotated[float, Field(gt=0, le=86_400)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


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
    mirrors: dict[str, str] = {}


class LimitSettings(_Section):
    """Bounds of what may be fetched and held; bytes and seconds."""

    artifact_files: _Positive = 512
    artifact_bytes: _Positive = 16 * _MIB
    source_files: _Positive = 20_000
    source_bytes: _Positive = 256 * _MIB
    file_bytes: _Positive = 16 * _MIB
    depth: _Positive = 32
    fetch_seconds: _Seconds = 300.0
    unpack_seconds: _Seconds = 60.0


class SandboxSettings(_Section):
    """Defaults of a run; see `SandboxPolicy`."""

    backend: str = "auto"
    landlock: bool = False
    cpus: Annotated[float, Field(gt=0, le=1024)] = 1.0
    memory_bytes: _Positive = 512 * _MIB
    processes: _Positive = 100
    wall_seconds: _Seconds = 60.0
    output_bytes: _Positive = 1_000_000
    tmp_bytes: _Positive = 64 * _MIB
    dry_run_bytes: _Positive = 256 * _MIB
    docker_image: str = ""
    docker_runtime: str = ""
    lima_instance: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = "default"
    docker_warm_seconds: Annotated[float, Field(ge=0, le=86_400)] = 0.0


class AuditorSettings(_Section):
    """Which second opinions run beside our own engines, and how long an audit may take in seconds.

    `advisories` is the path of an offline file of OSV records about packages; empty means none.
    """

    bandit: bool = True
    semgrep: bool = True
    advisories: str = ""
    seconds: _Seconds = 120.0
    memory_bytes: _Positive = 2048 * _MIB


class RubricSettings(_Section):
    """A language model as a second pair of eyes: a server that speaks OpenAI's protocol, or a program.

    `api_key_env` names the environment variable that holds the key; empty sends none. `command` is a program's
    argument list and stands instead of `base_url` and `model`.
    """

    enabled: bool = False
    base_url: str = ""
    model: str = ""
    api_key_env: Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")] = ""
    command: tuple[str, ...] = ()
    seconds: _Seconds = 120.0
    tokens: Annotated[int, Field(ge=4_000, le=2_000_000)] = 60_000
    consensus: Annotated[int, Field(ge=1, le=9)] = 1

    @property
    def usable(self) -> bool:
        """True when there is somebody to ask."""
        return bool(self.command or (self.base_url and self.model))

    @field_validator("base_url")
    @classmethod
    def _plain_url(cls, url: str) -> str:
        """An http or https URL of a host and a path; what else a URL can carry would be sent along."""
        if not url:
            return url
        if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
            raise ValueError("a URL of printable ASCII is wanted")
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
            raise ValueError("a URL such as https://host/v1 is wanted")
        if "@" in parts.netloc or "?" in url or "#" in url:
            raise ValueError("the URL must not hold credentials, a query or a fragment")
        return url

    @model_validator(mode="after")
    def _together(self) -> RubricSettings:
        if self.enabled and not self.usable:
            raise ValueError("enabled needs base_url and model, or command")
        if self.command and (self.base_url or self.model or self.api_key_env):
            raise ValueError("command stands instead of base_url, model and api_key_env")
        if self.command and not self.command[0]:
            raise ValueError("command begins with the program to run")
        host = urlsplit(self.base_url).hostname
        if self.api_key_env and self.base_url.startswith("http:") and host not in {"localhost", "127.0.0.1", "::1"}:
            raise ValueError("a key is sent over https or to this machine only")
        return self


class JournalSettings(_Section):
    """When a journal file is closed and the next one begun."""

    rotate_bytes: _Positive = 16 * _MIB


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
        raw = tomllib.loads(chosen.read_text(encoding="utf-8"))
        # strict mode wants tuples as arrays of the JSON kind, which TOML arrays are not
        return Settings.model_validate(raw, strict=False)
    except FileNotFoundError as error:
        if path is None:
            return Settings()
        raise _bad("the configuration file does not exist", str(chosen)) from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        what = "there is no such key" if first["type"] == "extra_forbidden" else first["msg"]
        raise _bad(f"{key}: {what}", str(chosen)) from error
    except OSError as error:
        raise _bad(f"it cannot be read: {error.strerror}", str(chosen)) from error
    except ValueError as error:
        raise _bad(f"it cannot be read as TOML: {error}", str(chosen)) from error


def _bad(what: str, path: str) -> SkillkeepError:
    return SkillkeepError(
        "bad_config",
        f"the configuration is not usable: {what}",
        "See docs/configuration.md for the keys; remove the line to get the default.",
        path=path,
    )
