"""Settings come from the home only, and a mistake is an error, not a default."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from skillkeep.errors import SkillkeepError
from skillkeep.home import Home
from skillkeep.settings import Settings, load_settings


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    settings = load_settings(Home(tmp_path))
    assert settings == Settings()
    assert settings.limits.artifact_files == 512
    assert settings.limits.artifact_bytes == 16 << 20
    assert settings.sandbox.memory_bytes == 512 << 20


def test_values_of_the_file_win(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[trust]\nowners = ["me"]\n[sandbox]\nwall_seconds = 5\n')
    settings = load_settings(Home(tmp_path))
    assert settings.trust.owners == ("me",)
    assert settings.sandbox.wall_seconds == 5.0


@pytest.mark.parametrize(
    "text",
    ["[limit]\n", "[limits]\nartifact_file = 1\n", "[limits]\nartifact_files = 0\n", "[auditor]\nseconds = -1\n",
     "nonsense", "[sandbox]\nmemory_bytes = 'much'\n", "\xff\xfe".encode("latin-1").decode("latin-1") * 3],
)  # fmt: skip
def test_an_unknown_key_or_a_bad_value_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(SkillkeepError) as caught:
        load_settings(Home(tmp_path))
    assert caught.value.code == "bad_config"


def test_a_named_file_has_to_exist(tmp_path: Path) -> None:
    with pytest.raises(SkillkeepError) as caught:
        load_settings(Home(tmp_path), tmp_path / "other.toml")
    assert caught.value.code == "bad_config"


def test_a_file_that_cannot_be_read_is_not_called_bad_toml(tmp_path: Path) -> None:
    with pytest.raises(SkillkeepError, match="it cannot be read: Is a directory"):
        load_settings(Home(tmp_path), tmp_path)


def test_an_unknown_key_is_told_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("[limits]\nartifact_file = 1\n")
    with pytest.raises(SkillkeepError, match=r"limits\.artifact_file: there is no such key"):
        load_settings(Home(tmp_path))


def test_the_page_names_every_key_with_its_default() -> None:
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    for section, values in asdict(Settings()).items():
        for key, value in values.items():
            (row,) = [line for line in page.splitlines() if line.startswith(f"| `{section}.{key}` |")]
            shown = row.split("|")[2].strip().strip("`")
            if isinstance(value, bool):
                assert shown == str(value).lower()
            elif isinstance(value, int | float):
                assert float(shown) == value
            elif key == "owners":
                assert all(f"`{owner}`" in page for owner in value)
            else:
                assert shown == (str(value) if value else "empty" if value == "" else "[]" if value == () else "{}")
