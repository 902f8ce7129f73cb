"""Which tier an artifact has, and whether its source pretends to be somebody else."""

from __future__ import annotations

from collections.abc import Sequence

from skillkeep.auditor.interface import Observation
from skillkeep.home import Home
from skillkeep.ingest import observations as seen
from skillkeep.ingest.fetching import Fetched
from skillkeep.ingest.source import SourceKind, SourceRef
from skillkeep.settings import TrustSettings
from skillkeep.vault.interface import SourcePlace, Tier
from skillkeep.vault.lookalike import lookalike
from skillkeep.vault.tiers import classify, lowered

__all__ = ["pretending", "tier_of"]

_DEFAULT_HOST = "github.com"


def tier_of(
    fetched: Fetched, observations: Sequence[Observation], origin: str | None, trust: TrustSettings, home: Home
) -> tuple[Tier, str]:
    """The tier of an artifact, and why in a few words.

    Decided from what fetching proved. `origin` only lowers it, but for a mirror that the user configured. A commit
    that no branch or tag vouches for, and a local folder with a link out of it, are unknown.
    """
    source = fetched.source
    place = _place(source)
    mirrored = _mirrored(place, origin, trust)
    tier = classify(mirrored or place, trust.owners, home)
    if mirrored:
        why = f"mirror of {mirrored.host}/{mirrored.owner}, as configured"
    else:
        why = _why(tier, source)
        if origin:
            claimed = lowered(tier, origin, trust.owners)
            tier, why = (claimed, "lowered by --origin") if claimed > tier else (tier, why)
    if tier < Tier.UNKNOWN and not fetched.proven:
        return Tier.UNKNOWN, "no branch or tag of the repository points at this commit"
    if tier is Tier.LOCAL and any(item.rule in seen.LEAVING for item in observations):
        return Tier.UNKNOWN, "something in the folder leads out of it"
    return tier, why


def pretending(source: SourceRef, trust: TrustSettings) -> Observation | None:
    """An observation when the owner or the host of `source` imitates a trusted one."""
    if source.kind is not SourceKind.GIT or source.local is not None:
        return None
    hosts = {_DEFAULT_HOST, *(entry.split("/")[0].lower() for entry in trust.owners if "/" in entry)}
    if imitated := lookalike(source.owner, trust.owners):
        return Observation(seen.LOOKALIKE_OWNER, "", f"{source.owner} looks like {imitated}")
    if imitated := lookalike(source.host, hosts):
        return Observation(seen.LOOKALIKE_OWNER, "", f"{source.host} looks like {imitated}")
    return None


def _place(source: SourceRef) -> SourcePlace:
    return SourcePlace(source.kind, source.host, source.owner, source.local)


def _mirrored(place: SourcePlace, origin: str | None, trust: TrustSettings) -> SourcePlace | None:
    """The original of a configured mirror when `origin` names it."""
    original = trust.mirrors.get(f"{place.host}/{place.owner}")
    if not original or not origin or place.kind != SourceKind.GIT or place.path is not None:
        return None
    host, _, owner = _with_host(original).partition("/")
    return SourcePlace(place.kind, host, owner) if _with_host(origin) == f"{host}/{owner}" else None


def _with_host(owner: str) -> str:
    owner = owner.strip().lower()
    return owner if "/" in owner else f"{_DEFAULT_HOST}/{owner}"


def _why(tier: Tier, source: SourceRef) -> str:
    if tier is Tier.LOCAL:
        return "your own folder in the Skillkeep home"
    if tier is Tier.TRUSTED:
        return f"{source.owner} on {source.host} is in your list of trusted owners"
    if source.owner:
        return f"{source.owner} on {source.host} is not in your list of trusted owners"
    return "nobody vouches for where it comes from"
