"""Names of environments: from any path to a valid user name, the same one each time."""

from __future__ import annotations

import os
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.runner.environments.names import NAME, candidates, sanitised


@pytest.mark.parametrize(
    ("base", "stem"),
    [
        ("My Project", "my-project"),
        ("web_app.v2", "web-app-v2"),
        ("42-things", "things"),
        ("...", "project"),
        ("été", "t"),
        ("a\nb\x1b[31m", "a-b-31m"),
        ("x" * 80, "x" * 27),
        ("-rf", "rf"),
    ],
)
def test_a_base_name_becomes_letters_digits_and_dashes(base: str, stem: str) -> None:
    assert sanitised(base) == stem


@given(st.binary(min_size=1, max_size=300).filter(lambda name: b"\0" not in name and b"/" not in name))
def test_whatever_the_folder_is_called_its_environment_has_a_valid_user_name(name: bytes) -> None:
    for found in candidates("/srv/" + os.fsdecode(name)):
        assert NAME.match(found)
        assert len(found) <= 32


def test_the_same_path_has_the_same_name_and_another_path_another_one() -> None:
    first, again, other = (next(candidates(path)) for path in ("/a/web", "/a/web", "/b/web"))
    assert first == again != other
    assert first.startswith("web-")


def test_there_are_other_names_for_when_one_is_taken() -> None:
    assert len(set(islice(candidates("/a/web"), 8))) == 8
