"""Names that imitate a trusted owner are found; unrelated ones and the owner itself are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.settings import TrustSettings
from skillkeep.vault.lookalike import lookalike, skeleton

OWNERS = TrustSettings().owners


@pytest.mark.parametrize(
    ("owner", "imitated"),
    [
        ("anthr0pics", "anthropics"),
        ("antrhopics", "anthropics"),
        ("anthropic", "anthropics"),
        ("anthropicss", "anthropics"),
        ("anthroplcs", "anthropics"),
        ("anthr-opics", "anthropics"),
        ("аnthropics", "anthropics"),  # Cyrillic a
        ("anthrοpics", "anthropics"),  # Greek omicron
        ("ａｎｔｈｒｏｐｉｃｓ", "anthropics"),  # full width
        ("anthropics\u200b", "anthropics"),
        ("anthröpics", "anthropics"),
        ("rnicrosoft", "microsoft"),
        ("micros0ft", "microsoft"),
        ("micorsoft", "microsoft"),
        ("g00gle", "google"),
        ("goog1e", "google"),
        ("gooogle", "google"),
        ("avvs", "aws"),
        ("awś", "aws"),
        ("openal", "openai"),
        ("0penai", "openai"),
        ("model-context-protocol", "modelcontextprotocol"),
        ("gïthub", "github"),
    ],
)
def test_an_imitation_is_found(owner: str, imitated: str) -> None:
    assert lookalike(owner, OWNERS) == imitated


@pytest.mark.parametrize(
    "owner",
    [
        *OWNERS,
        "Anthropics",
        "GOOGLE",
        "torvalds",
        "psf",
        "was",
        "axs",
        "gitlab",
        "mozilla",
        "apple",
        "googler-tools",
        "openssl",
        "",
        "x",
        "日本語",
    ],
)
def test_owners_themselves_and_unrelated_names_are_not(owner: str) -> None:
    assert lookalike(owner, OWNERS) is None


def test_the_entry_is_returned_as_it_is_configured() -> None:
    assert lookalike("tearn", ["gitlab.example.invalid/team"]) == "gitlab.example.invalid/team"


@given(st.text(max_size=40))
def test_any_text_is_judged_without_failing(owner: str) -> None:
    found = lookalike(owner, OWNERS)
    assert found is None or (found in OWNERS and owner.strip().lower() not in OWNERS)


@given(st.sampled_from([owner for owner in OWNERS if len(owner) >= 5]), st.data())
def test_every_swap_of_neighbouring_letters_is_found(owner: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(owner) - 2))
    swapped = owner[:place] + owner[place + 1] + owner[place] + owner[place + 2 :]
    assert swapped in OWNERS or lookalike(swapped, OWNERS) is not None


def test_a_skeleton_drops_what_a_reader_overlooks() -> None:
    assert skeleton("Mıcro_Sоft") == skeleton("microsoft")
