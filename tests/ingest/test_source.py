from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.errors import SkillkeepError
from skillkeep.ingest.giturl import check_ref
from skillkeep.ingest.source import SourceKind, parse_source

REFUSED = {
    "--upload-pack=touch /tmp/x": "option_like",
    "-oProxyCommand=x": "option_like",
    "": "bad_source",
    "https://example.invalid/a/b\n": "bad_source",
    "https://example.invalid/a\x1b[2J/b": "bad_source",
    "https://example.invalid/a/\u202eb": "bad_source",
    "x" * 5000: "bad_source",
    "ext::sh -c touch% /tmp/x": "unsupported_scheme",
    "fd::17": "unsupported_scheme",
    "EXT::sh": "unsupported_scheme",
    "transport::https://example.invalid/a/b": "unsupported_scheme",
    "git://example.invalid/a/b": "unsupported_scheme",
    "ftp://example.invalid/a/b": "unsupported_scheme",
    "javascript://example.invalid/a/b": "unsupported_scheme",
    "npm:left-pad": "unsupported_scheme",
    "pypi:requests": "unsupported_scheme",
    "http://example.invalid/a/b": "unsupported_scheme",
    "http://127.0.0.1.example.invalid/a/b": "unsupported_scheme",
    "https://user:hunter2@example.invalid/a/b": "credentials_in_url",
    "https://token@example.invalid/a/b": "credentials_in_url",
    "ssh://git:hunter2@example.invalid/a/b": "credentials_in_url",
    "https://example.invalid/a/b?token=hunter2": "credentials_in_url",
    "ssh://-oProxyCommand=x/a/b": "bad_source",
    "ssh://git@-oProxyCommand=x/a/b": "bad_source",
    "git@-oProxyCommand=x:a/b": "bad_source",
    "-x@example.invalid:a/b": "option_like",
    "ssh://-x@example.invalid/a/b": "bad_source",
    "https://exa mple.invalid/a/b": "bad_source",
    "https://exämple.invalid/a/b": "bad_source",
    "https://github.com/anthropics/../stranger/x": "bad_source",
    "https://github.com/anthropics/%2e%2e/stranger/x": "bad_source",
    "https://github.com/anthropics%2f..%2fstranger/x": "bad_source",
    "https://github.com/anthropics\\..\\stranger/x": "bad_source",
    "https://github.com//anthropics/x": "bad_source",
    "https://github.com/": "bad_source",
    "https://example.invalid:99999/a/b": "bad_source",
    "https://example.invalid/--upload-pack=x/b": "option_like",
    "file://relative/path": "bad_source",
    "file:///no/such/place": "source_not_found",
    "/no/such/place": "source_not_found",
    "file:///no/such/place?x=1": "bad_source",
    "https://example.invalid/a/b#--upload-pack=x": "option_like",
    "https://example.invalid/a/b#": "bad_ref",
    "https://example.invalid/a/b#a..b": "bad_ref",
}


@pytest.mark.parametrize("text", REFUSED)
def test_a_source_that_is_not_plainly_allowed_is_refused_with_its_own_code(text: str) -> None:
    with pytest.raises(SkillkeepError) as caught:
        parse_source(text)
    assert caught.value.code == REFUSED[text]
    assert "hunter2" not in str(caught.value.to_json())


def test_a_misspelt_url_with_a_password_is_not_repeated_in_the_error() -> None:
    with pytest.raises(SkillkeepError) as caught:
        parse_source("user:hunter2@example.invalid:a/b")
    assert "hunter2" not in str(caught.value.to_json())


@pytest.mark.parametrize(
    ("text", "key", "owner"),
    [
        ("https://github.com/Anthropics/Skills.git", "github.com/anthropics/skills", "anthropics"),
        ("https://github.com/anthropics/skills/", "github.com/anthropics/skills", "anthropics"),
        ("https://GitHub.com:443/anthropics/skills", "github.com/anthropics/skills", "anthropics"),
        ("git@github.com:anthropics/skills.git", "github.com/anthropics/skills", "anthropics"),
        ("ssh://git@github.com/anthropics/skills", "github.com/anthropics/skills", "anthropics"),
        ("https://github.com:8443/anthropics/skills", "github.com:8443/anthropics/skills", "anthropics"),
        ("https://example.invalid/Team/Repo", "example.invalid/Team/Repo", "team"),
        ("http://127.0.0.1:8080/x.git", "127.0.0.1:8080/x", ""),
        ("http://[::1]:8080/a/x.git", "[::1]:8080/a/x", "a"),
    ],
)
def test_the_same_repository_has_one_identity_however_it_is_spelt(text: str, key: str, owner: str) -> None:
    source = parse_source(text)
    assert (source.kind, source.key, source.owner) == (SourceKind.GIT, key, owner)


def test_a_ref_comes_after_the_hash_or_by_option_and_is_no_part_of_the_identity() -> None:
    by_hash = parse_source("https://example.invalid/a/b#v1.2")
    by_option = parse_source("https://example.invalid/a/b", ref="v1.2")
    assert by_hash.ref == by_option.ref == "v1.2"
    assert by_hash == by_option
    assert by_hash.key == parse_source("https://example.invalid/a/b").key
    with pytest.raises(SkillkeepError) as caught:
        parse_source("https://example.invalid/a/b#v1", ref="v2")
    assert caught.value.code == "bad_ref"


def test_the_address_of_a_folder_on_a_forge_names_ref_and_path() -> None:
    source = parse_source("https://github.com/anthropics/skills/tree/main/skills/pdf")
    assert (source.url, source.ref, source.path) == ("https://github.com/anthropics/skills", "main", "skills/pdf")
    source = parse_source("https://gitlab.com/group/sub/repo/-/tree/v1/a/b")
    assert (source.key, source.ref, source.path) == ("gitlab.com/group/sub/repo", "v1", "a/b")


@pytest.mark.parametrize("path", ["../x", "/etc", "a/../../b", "a\\b", "a\x00b", "a\nb"])
def test_a_path_that_leaves_the_source_is_refused(path: str) -> None:
    with pytest.raises(SkillkeepError) as caught:
        parse_source("https://example.invalid/a/b", path=path)
    assert caught.value.code == "bad_selection"


def test_an_option_like_path_is_refused() -> None:
    with pytest.raises(SkillkeepError) as caught:
        parse_source("https://example.invalid/a/b", path="--output=x")
    assert caught.value.code == "option_like"


def test_a_local_path_is_a_folder_or_an_archive_by_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "tool.zip").mkdir()
    (tmp_path / "real.ZIP").write_bytes(b"")
    (tmp_path / "script.py").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "real.ZIP")
    assert parse_source(str(tmp_path / "tool.zip")).kind is SourceKind.FOLDER
    assert parse_source(str(tmp_path / "real.ZIP")).kind is SourceKind.ARCHIVE
    assert parse_source(str(tmp_path / "script.py")).kind is SourceKind.FOLDER
    assert parse_source(str(tmp_path / "link")).local == (tmp_path / "real.ZIP").resolve()


def test_a_repository_spelt_as_owner_and_name_gets_a_hint() -> None:
    with pytest.raises(SkillkeepError) as caught:
        parse_source("anthropics/skills")
    assert "https://github.com/anthropics/skills" in caught.value.hint


@given(st.text(max_size=60))
def test_no_text_is_taken_as_a_remote_source_unless_it_stays_itself(text: str) -> None:
    """Whatever is parsed as remote gives a URL without secrets that cannot climb."""
    try:
        source = parse_source(text)
    except SkillkeepError:
        return
    if source.kind is SourceKind.GIT and not source.local:
        assert source.url.startswith(("https://", "ssh://", "http://"))
        assert not source.host.startswith("-")
        assert not {"..", "."} & set(source.url.split("/"))


@given(st.text(max_size=40))
def test_a_ref_that_is_accepted_cannot_be_an_option_or_a_refspec(ref: str) -> None:
    try:
        check_ref(ref)
    except SkillkeepError:
        return
    assert not ref.startswith(("-", "+", "^", "/"))
    assert not set(ref) & set(" :~^?*[\\\n\0")
    assert ".." not in ref


def test_the_short_ssh_form_reaches_git_as_it_was_written() -> None:
    for text in ("git@example.invalid:repo.git", "git@example.invalid:/srv/repo.git"):
        assert parse_source(text).url == text
    assert parse_source("git@example.invalid:/srv/repo.git").key == "example.invalid/srv/repo"


def test_a_local_repository_with_a_strange_path_is_named_so_that_it_can_be_named_again(tmp_path: Path) -> None:
    odd = tmp_path / "a #b%41 c"
    odd.mkdir()
    source = parse_source(f"file://{quote(str(odd))}")
    assert source.local == odd
    assert parse_source(source.text) == source


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("github:anthropics/skills", "Did you mean https://github.com/anthropics/skills ?"),
        ("anthropics/skills", "There is no such path here. Did you mean https://github.com/anthropics/skills ?"),
        ("npm:left-pad", "Give the URL of its git repository, or an archive of it that you have downloaded."),
        ("file:///no/such?x=1", "Check the URL, for example https://host/owner/repo."),
    ],
)
def test_a_form_that_is_not_taken_is_answered_with_the_one_that_is(text: str, hint: str) -> None:
    with pytest.raises(SkillkeepError) as caught:
        parse_source(text)
    assert caught.value.hint == hint
