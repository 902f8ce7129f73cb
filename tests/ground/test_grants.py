"""Grants in their one spelling: what could not be enforced is not given."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import skillkeep
from skillkeep import grants
from skillkeep.grants import (
    check_path,
    grant_of_place,
    holds_program,
    holds_server,
    is_grantable,
    normal_grant,
    widest,
)


@pytest.mark.parametrize(
    ("grant", "normal"),
    [
        ("env:HOME_1", "env:HOME_1"),
        ("net:API.example.com.:443", "net:api.example.com:443"),
        ("net:*.example.com:443", "net:*.example.com:443"),
        ("net:[0:0::1]:80", "net:[::1]:80"),
        ("write:/data/x/", "write:/data/x"),
        ("write://data/./x", "write:/data/x"),
    ],
)
def test_a_grant_has_one_spelling(grant: str, normal: str) -> None:
    assert normal_grant(grant) == normal
    assert is_grantable(grant) == (grant == normal)
    assert is_grantable(normal)


@pytest.mark.parametrize(
    "grant",
    [
        "", "env:", "env:A-B", "env:9", "net:everywhere", "net:*.com:443", "net:*:80", "net:127.1:80", "net:0:80",
        "net:2130706433:80", "net:::1:80", "net:a.example:0", "net:a.example:99999", "net:a.example:8o", "write:x",
        "write:/", "write:/tmp", "write:/etc", "write:/usr/local/x", "write:/proc/", "write:/a/../etc", "write:/a\n",
        "write:/" + "a" * 1024, "read:/x",
    ],
)  # fmt: skip
def test_what_no_run_could_be_given_is_refused(grant: str) -> None:
    assert not is_grantable(grant)
    with pytest.raises(ValueError, match=r"\S"):
        normal_grant(grant)


def test_a_path_in_a_granted_one_is_granted_with_it() -> None:
    asked = ["write:/a/b", "write:/a", "write:/a-b", "write:/a/b/c", "env:A", "write:/c/d", "env:A"]
    assert widest(asked) == ("env:A", "write:/a", "write:/a-b", "write:/c/d")


def test_only_what_is_the_users_to_give_is_shown(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to("data")
    assert check_path(str(tmp_path / "data"), home) == tmp_path / "data"
    for path in (tmp_path / "link", tmp_path / "missing", tmp_path, home, home / "x", Path("/dev/null")):
        with pytest.raises(ValueError, match=r"^it "):
            check_path(str(path), home)


def test_the_fork_servers_own_folder_is_nobodys_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reaches its socket has it run anything with the user's rights, outside of every sandbox."""
    run = tmp_path / "run"
    (run / "skillkeep" / "sub").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(run))
    home = tmp_path / "home"
    for path in (run, run / "skillkeep", run / "skillkeep" / "sub"):
        with pytest.raises(ValueError, match="fork server"):
            check_path(str(path), home)
    assert check_path(str(tmp_path / "project"), home) == tmp_path / "project"
    assert holds_server(Path("/tmp/skillkeep-1000-3"))
    assert holds_server(Path("/tmp/skillkeep-1000-3000000000/native"))
    assert not holds_server(Path("/tmp/skillkeep-1000-30x"))


def test_skillkeeps_own_program_is_nobodys_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes it runs outside of every sandbox, with the next command."""
    for path in (Path(str(skillkeep.__file__)).parent, Path(sys.prefix, "lib"), Path(sys.base_prefix)):
        assert holds_program(path.resolve())
    assert not holds_program(tmp_path)
    installed = tmp_path / "project" / ".venv"
    (installed / "lib").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    monkeypatch.setattr(grants, "_own_program", lambda: (installed,))
    for path in (installed.parent, installed, installed / "lib"):
        with pytest.raises(ValueError, match="own program"):
            check_path(str(path), tmp_path / "home")
    assert check_path(str(tmp_path / "other"), tmp_path / "home") == tmp_path / "other"


def test_a_hint_is_a_grant_that_can_be_given() -> None:
    assert grant_of_place("::1", 80) == "net:[::1]:80"
    assert [grant_of_place(*place) for place in (("", 80), ("127.1", 80), ("a\0b", 80))] == ["", "", ""]
