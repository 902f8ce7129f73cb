"""Settings from ``config.toml`` of the home (or ``--config``); never from anything that is being scanned.

Unknown keys are refused: a misspelt limit must not silently mean the default. No key lifts a FAIL (law 2).
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillkeep.errors import SkillkeepError
from skillkeep.home import Home

__all__ = [
    "AuditorSettings",
    "JournalSettings",
    "LimitSettings",
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
    cpus: Annotated[float, Field(gt=0, le=1024)] = 1.0
    memory_bytes: _Positive = 512 * _MIB
    processes: _Positive = 100
    wall_seconds: _Seconds = 60.0
    output_bytes: _Positive = 1_000_000
    tmp_bytes: _Positive = 64 * _MIB
    docker_image: str = ""
    docker_runtime: str = ""


class AuditorSettings(_Section):
    """Which second opinions run beside our own engines, and how long an audit may take in seconds."""

    bandit: bool = True
    semgrep: bool = True
    seconds: _Seconds = 120.0
    memory_bytes: _Positive = 2048 * _MIB


class JournalSettings(_Section):
    """When a journal file is closed and the next one begun."""

    rotate_bytes: _Positive = 16 * _MIB


class Settings(_Section):
    """All of ``config.toml``."""

    trust: TrustSettings = TrustSettings()
    limits: LimitSettings = LimitSettings()
    sandbox: SandboxSettings = SandboxSettings()
    auditor: AuditorSettings = AuditorSettings()
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
        raise _bad(f"{key}: {first['msg']}", str(chosen)) from error
    except (OSError, ValueError) as error:
        raise _bad(f"it cannot be read as TOML: {error}", str(chosen)) from error


def _bad(what: str, path: str) -> SkillkeepError:
    return SkillkeepError(
        "bad_config",
        f"the configuration is not usable: {what}",
        "See docs/configuration.md for the keys; remove the line to get the default.",
        path=path,
    )
