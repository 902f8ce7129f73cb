"""Which sandbox a run gets: native, else a container, else none. Every rung that is passed over says why.

Landlock and seccomp without namespaces is a rung below those, and only where the settings have it.

Law 4: without a sandbox, a tool of tier 2 or 3 does not run. A tier 1 tool then runs on the host, and its result
says so. A backend asked for by name is that one or nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

from skillkeep.clock import SYSTEM_CLOCK, Clock
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import AssuranceLevel, Availability, Backend
from skillkeep.settings import SandboxSettings
from skillkeep.value import Value, replace
from skillkeep.vault.interface import Tier

__all__ = [
    "AUTO",
    "LANDLOCK",
    "LOCAL",
    "NATIVE",
    "RUNGS",
    "Choice",
    "Factories",
    "backend_factories",
    "choose",
    "least_of",
]

AUTO = "auto"
NATIVE = "native"
LOCAL = "local"
LANDLOCK = "landlock"
RUNGS = (NATIVE, "docker", *(("apple", "lima") if sys.platform == "darwin" else ()))
Factories = Mapping[str, Callable[[], Backend]]


class Choice(Value):
    """The backend of a run, and the stronger rungs that were passed over with the reason of each."""

    backend: Backend
    passed_over: tuple[Availability, ...] = ()


def backend_factories(settings: SandboxSettings, clock: Clock = SYSTEM_CLOCK) -> Factories:
    """Every backend by name; nothing is imported or probed before one is made."""

    def native() -> Backend:
        from skillkeep.runner.native import NativeBackend

        return NativeBackend()

    def docker() -> Backend:
        from skillkeep.runner.containers.docker import DockerBackend

        return DockerBackend(
            settings.docker_image, settings.docker_runtime, clock=clock, warm_seconds=settings.docker_warm_seconds
        )

    def apple() -> Backend:
        from skillkeep.runner.containers.apple import AppleBackend
        from skillkeep.runner.containers.docker import DEFAULT_IMAGE

        return AppleBackend(settings.docker_image or DEFAULT_IMAGE, clock=clock)

    def lima() -> Backend:
        from skillkeep.runner.containers.lima import LimaBackend

        return LimaBackend(settings.lima_instance, clock=clock)

    def local() -> Backend:
        from skillkeep.runner.local import LocalBackend

        return LocalBackend(clock)

    def landlock() -> Backend:
        from skillkeep.runner.filtered.backend import FilteredBackend

        return FilteredBackend(clock)

    weaker = {LANDLOCK: landlock} if settings.landlock else {}
    return {NATIVE: native, "docker": docker, "apple": apple, "lima": lima, **weaker, LOCAL: local}


def choose(wanted: str, tier: Tier, least: AssuranceLevel | None, factories: Factories) -> Choice:
    """The backend for a tool of `tier`. `wanted` is a name or ``auto``; `least` None demands no more than a sandbox.

    Raises `RunnerError`: `unknown_backend`, `tier_needs_sandbox`, `sandbox_unavailable`, `assurance_too_low`.
    """
    if wanted not in (AUTO, *factories):
        raise RunnerError(
            "unknown_backend",
            f"there is no backend {wanted!r}",
            f"Choose one of: {', '.join((AUTO, *factories))}.",
        )
    if wanted == LOCAL and tier is not Tier.LOCAL:
        raise RunnerError(
            "tier_needs_sandbox",
            f"a tool of tier {int(tier)} does not run without a sandbox",
            "Leave --backend out; `runner doctor` says what a sandbox needs here.",
            tier=int(tier),
        )
    if wanted != AUTO:
        return Choice(_named(factories[wanted](), least))
    passed: list[Availability] = []
    for name in (*RUNGS, *([LANDLOCK] if LANDLOCK in factories else [])):
        backend = factories[name]()
        state = _fit(backend.probe(), least or least_of(name))
        if state.available:
            return Choice(backend, tuple(passed))
        passed.append(state)
    if tier is Tier.LOCAL and not least:  # `AssuranceLevel.NONE` is falsy and demands nothing either
        return Choice(factories[LOCAL](), tuple(passed))
    raise _nothing(tier, passed)


def least_of(backend: str) -> AssuranceLevel:
    """What a run demands of a backend that was asked for, or configured, when it demands nothing itself."""
    weaker = {LOCAL: AssuranceLevel.NONE, LANDLOCK: AssuranceLevel.FILTERED}
    return weaker.get(backend, AssuranceLevel.ISOLATED)


def _named(backend: Backend, least: AssuranceLevel | None) -> Backend:
    """`backend`, which somebody asked for: that one or nothing."""
    state = backend.probe()
    floor = least or least_of(backend.name)
    if not state.available:
        raise _unavailable(state)
    if state.level < floor:
        raise RunnerError(
            "assurance_too_low",
            f"the {backend.name} backend reaches {state.level.name.lower()}, the run demands {floor.name.lower()}",
            "Choose a stronger backend, or mend what `runner doctor` lists as missing.",
            backend=backend.name,
            losses=list(state.losses),
        )
    return backend


def _fit(state: Availability, least: AssuranceLevel) -> Availability:
    """`state`, made unavailable when it holds less than `least`."""
    if not state.available or state.level >= least:
        return state
    reason = f"it reaches {state.level.name.lower()}, and the run demands {least.name.lower()}"
    return replace(state, available=False, reason=reason, mend="; ".join(state.losses))


def _unavailable(state: Availability) -> RunnerError:
    return RunnerError(
        "sandbox_unavailable",
        f"the {state.backend} sandbox does not work here: {state.reason}",
        state.mend or "Run `runner doctor` to see what each backend needs.",
        rungs=[state.to_json()],
    )


def _nothing(tier: Tier, passed: list[Availability]) -> RunnerError:
    reasons = "; ".join(f"{state.backend}: {state.reason}" for state in passed)
    mends = " ".join(f"For {state.backend}: {state.mend.rstrip('.')}." for state in passed if state.mend)
    return RunnerError(
        "sandbox_unavailable",
        f"no sandbox works here, and a tool of tier {int(tier)} does not run without one ({reasons})",
        mends or "Run `runner doctor` to see what each backend needs.",
        tier=int(tier),
        rungs=[state.to_json() for state in passed],
    )
