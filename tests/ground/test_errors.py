"""Errors are typed, carry a hint and survive the trip between processes."""

from __future__ import annotations

import pickle

import pytest

from skillkeep.errors import Exit, SkillkeepError, UsageError, all_codes


def test_an_error_without_a_hint_cannot_be_raised() -> None:
    with pytest.raises(ValueError, match="without a hint"):
        SkillkeepError("io_error", "something", "")


def test_a_code_that_is_not_declared_cannot_be_raised() -> None:
    with pytest.raises(ValueError, match="does not declare"):
        UsageError("io_error", "something", "do something")


def test_an_error_as_json_has_the_documented_fields() -> None:
    error = UsageError("usage", "too few", "give more", given=1)
    assert error.to_json() == {
        "ok": False,
        "error_code": "usage",
        "error_message": "too few",
        "hint": "give more",
        "context": {"given": 1},
    }
    assert error.exit_code is Exit.USAGE


def test_an_error_can_be_pickled_with_its_context() -> None:
    error = pickle.loads(pickle.dumps(UsageError("usage", "too few", "give more", given=1)))
    assert (type(error), error.code, error.hint, error.context) == (UsageError, "usage", "give more", {"given": 1})


def test_codes_are_declared_once() -> None:
    assert "usage" in all_codes()

    class TwinError(SkillkeepError):
        codes = UsageError.codes

    with pytest.raises(ValueError, match="declared by"):
        all_codes()
    TwinError.codes = {}
