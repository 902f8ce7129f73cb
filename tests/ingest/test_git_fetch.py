"""Git repositories as an attacker builds them, through the door, from a real server."""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from pathlib import Path

import pytest
from support.door import brought_in, digest_of, limited, refused, rules, take
from support.git_server import (
    git_server,
    never_answer,
    raw_server,
    redirecting_server,
    talk_nonsense,
    trickle,
)
from support.hostile import Repository, clean_skill

from skillkeep.ingest.fetchers import git
from skillkeep.ingest.pipeline import ingest
from skillkeep.ingest.request import Floor, IngestRequest


@pytest.fixture
def repository(repositories: Path) -> Repository:
    made = Repository(repositories / "sample.git")
    made.files(clean_skill())
    return made


def test_a_clean_repository_over_http_is_vaulted(floor: Floor, served: str, repository: Repository) -> None:
    outcome = take(floor, f"{served}/sample.git", confirm=True)
    assert outcome.status == "vaulted"
    assert outcome.commit == repository.git("rev-parse", "main")
    tool = floor.vault.open("sample")
    assert (tool.path / "scripts/count.py").read_bytes() == clean_skill()["scripts/count.py"]


def test_a_clean_repository_of_another_user_is_taken_from_its_folder(floor: Floor, repository: Repository) -> None:
    if os.geteuid() == 0:
        for folder, _, files in os.walk(repository.path):
            for name in [folder, *(os.path.join(folder, file) for file in files)]:
                os.chown(name, 12345, 12345)
    assert take(floor, f"file://{repository.path}", confirm=True).status == "vaulted"


@pytest.mark.parametrize("ref", ["v1", "main", "refs/heads/main", "refs/tags/v1"])
def test_branches_and_tags_are_found(floor: Floor, served: str, repository: Repository, ref: str) -> None:
    repository.git("tag", "v1")
    [artifact] = brought_in(floor, f"{served}/sample.git#{ref}")
    assert artifact.name == "sample"


def test_a_commit_is_taken_in_full_only(floor: Floor, served: str, repository: Repository) -> None:
    commit = repository.git("rev-parse", "main")
    repository.files(clean_skill("newer"))
    assert take(floor, f"{served}/sample.git", ref=commit).commit == commit
    assert refused(floor, f"{served}/sample.git", ref=commit[:12]).code == "ref_not_found"


def test_a_missing_ref_is_named(floor: Floor, served: str, repository: Repository) -> None:
    error = refused(floor, f"{served}/sample.git", ref="no-such-branch")
    assert error.code == "ref_not_found"
    assert refused(floor, f"{served}/sample.git", ref="0" * 40).code == "ref_not_found"


def test_a_name_that_is_branch_and_tag_is_asked_about(floor: Floor, served: str, repository: Repository) -> None:
    repository.git("tag", "main")
    error = refused(floor, f"{served}/sample.git", ref="main")
    assert error.code == "ambiguous_ref"
    assert "refs/tags/main" in error.hint


def test_a_commit_no_branch_points_at_is_a_finding(floor: Floor, served: str, repository: Repository) -> None:
    """A forge serves commits of forks and pull requests under the original's address."""
    stray = repository.files(clean_skill("stray"), ref="refs/pull/1/head")
    assert "source-unproven-commit" in rules(take(floor, f"{served}/sample.git", ref=stray))
    assert "source-unproven-commit" in rules(take(floor, f"{served}/sample.git", ref="refs/pull/1/head"))
    assert refused(floor, f"{served}/sample.git", ref="pull/1/head").code == "ref_not_found"


def test_an_empty_repository_and_a_missing_one_are_told_apart(floor: Floor, served: str, repositories: Path) -> None:
    Repository(repositories / "empty.git")
    assert refused(floor, f"{served}/empty.git").code == "empty_source"
    assert refused(floor, f"{served}/missing.git").code == "source_not_found"


def test_a_tag_that_is_no_commit_is_refused(floor: Floor, served: str, repository: Repository) -> None:
    repository.git("update-ref", "refs/tags/odd", repository.blob(b"no commit"))
    assert refused(floor, f"{served}/sample.git", ref="odd").code == "ref_not_found"


def test_hooks_filters_and_attributes_of_the_repository_never_act(
    floor: Floor, served: str, repository: Repository, tmp_path: Path
) -> None:
    proof = tmp_path / "executed"
    attributes = b"* filter=evil text eol=crlf working-tree-encoding=UTF-16 export-subst\n"
    repository.files({**clean_skill(), ".gitattributes": attributes, "notes.txt": b"$Format:%H$\n"})
    for hook in ("post-checkout", "post-merge", "reference-transaction", "pre-auto-gc"):
        script = repository.path / "hooks" / hook
        script.parent.mkdir(exist_ok=True)
        script.write_text(f"#!/bin/sh\ntouch {proof}\n")
        script.chmod(0o755)
    repository.git("config", "filter.evil.smudge", f"touch {proof}")
    repository.git("config", "core.fsmonitor", f"touch {proof}")
    repository.git("config", "uploadpack.packObjectsHook", f"touch {proof}")
    repository.git("config", "core.alternateRefsCommand", f"touch {proof}")
    digests = {digest_of(floor, source) for source in (f"{served}/sample.git", f"file://{repository.path}")}
    assert len(digests) == 1
    assert not proof.exists()


def test_submodules_are_named_and_not_fetched(
    floor: Floor, served: str, repository: Repository, tmp_path: Path
) -> None:
    proof = tmp_path / "executed"
    modules = f'[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% {proof}\n'.encode()
    repository.files({**clean_skill(), ".gitmodules": modules, "x": b"1" * 40}, {"x": "160000"})
    outcome = take(floor, f"{served}/sample.git", confirm=True)
    assert "tree-gitlink" in rules(outcome)
    assert outcome.status in {"awaiting_confirmation", "rejected"}
    assert not proof.exists()


def test_a_submodule_url_like_an_option_is_refused(floor: Floor, served: str, repository: Repository) -> None:
    modules = b'[submodule "x"]\n\tpath = x\n\turl = --upload-pack=touch\n'
    repository.files({**clean_skill(), ".gitmodules": modules, "x": b"1" * 40}, {"x": "160000"})
    assert refused(floor, f"{served}/sample.git").code == "hostile_objects"


def test_an_lfs_pointer_is_a_finding(floor: Floor, served: str, repository: Repository) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"
    repository.files({**clean_skill(), "model.bin": pointer, ".lfsconfig": b"[lfs]\n\turl = https://e.invalid\n"})
    assert "tree-lfs-pointer" in rules(take(floor, f"{served}/sample.git"))


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        (b"/etc/passwd", "tree-link-absolute"),
        (b"../../../../etc/passwd", "tree-link-escaping"),
        (b"nowhere.txt", "tree-link-dangling"),
        (b"link", "tree-link-cycle"),
        (b".", "tree-link-cycle"),
    ],
)
def test_a_link_that_does_not_stay_inside_fails(
    floor: Floor, served: str, repository: Repository, target: bytes, rule: str
) -> None:
    repository.files({**clean_skill(), "link": target}, {"link": "120000"})
    outcome = take(floor, f"{served}/sample.git", confirm=True)
    assert (outcome.status, rule in rules(outcome)) == ("rejected", True)
    assert floor.vault.list() == []


def test_a_link_that_stays_inside_is_vaulted_as_a_copy_and_noted(floor: Floor, served: str, repositories: Path) -> None:
    repository = Repository(repositories / "sample.git")
    skill = {f"skills/a/{path}": data for path, data in clean_skill("a").items()}
    shared = {
        "shared/lib/tool.py": b"print(1)\n",
        "skills/a/lib": b"../../shared/lib",
        "skills/a/again": b"lib/tool.py",
    }
    repository.files({**skill, **shared}, {"skills/a/lib": "120000", "skills/a/again": "120000"})
    outcome = take(floor, f"{served}/sample.git", confirm=True)
    assert "tree-link-copied" in rules(outcome)
    tool = floor.vault.open("a")
    assert (tool.path / "lib/tool.py").read_bytes() == (tool.path / "again").read_bytes() == b"print(1)\n"


def test_links_to_folders_of_links_cannot_grow_without_end(floor: Floor, served: str, repositories: Path) -> None:
    repository = Repository(repositories / "sample.git")
    files, modes = dict(clean_skill()), {}
    for level in range(12):
        for name in "abcdefgh":
            files[f"l{level}/{name}"] = f"../l{level + 1}".encode()
            modes[f"l{level}/{name}"] = "120000"
    files["l12/x"] = b"x"
    repository.files(files, modes)
    error = refused(floor, f"{served}/sample.git")
    assert error.code == "limit_exceeded"


@pytest.mark.parametrize("name", [b"..", b".git", b".GIT", b"a/b"])
def test_trees_that_break_gits_rules_are_refused(
    floor: Floor, served: str, repository: Repository, name: bytes
) -> None:
    inner = repository.tree([("100644", b"evil", repository.blob(b"evil"))])
    skill = repository.blob(clean_skill()["SKILL.md"])
    repository.commit(
        repository.tree(sorted([("40000", name, inner), ("100644", b"SKILL.md", skill)], key=lambda e: e[1]))
    )
    assert refused(floor, f"{served}/sample.git").code == "hostile_objects"


def test_names_that_hide_or_collide_are_findings(floor: Floor, served: str, repository: Repository) -> None:
    odd = {
        "a\x1b[2Jb.txt": b"x", "tail\u202etxt.exe": b"x", "line\nbreak": b"x", "Read.txt": b"1", "READ.txt": b"2",
        "caf\u00e9": b"1", "cafe\u0301": b"2", os.fsdecode(b"latin\xe9"): b"x",
    }  # fmt: skip
    repository.files({**clean_skill(), **odd})
    outcome = take(floor, f"{served}/sample.git", confirm=True)
    assert {"tree-name-control", "tree-name-collision", "tree-name-encoding"} <= rules(outcome)
    assert outcome.status == "rejected"


def test_a_hundred_thousand_files_stop_at_the_limit(floor: Floor, served: str, repositories: Path) -> None:
    repository = Repository(repositories / "many.git")
    lines = [b"blob\nmark :1\ndata 1\nx\ncommit refs/heads/main\ncommitter A <a@b> 0 +0000\ndata 1\nx\n"]
    lines += [b"M 100644 :1 %d/%d\n" % (number % 300, number) for number in range(100_000)]
    repository.git("fast-import", "--quiet", data=b"".join(lines))
    error = refused(floor, f"{served}/many.git")
    assert (error.code, error.context["what"]) == ("limit_exceeded", "entries")


def test_a_pack_above_the_byte_limit_is_stopped(floor: Floor, served: str, repositories: Path) -> None:
    Repository(repositories / "large.git").files({**clean_skill(), "noise": os.urandom(4 << 20)})
    error = refused(limited(floor, source_bytes=1 << 20), f"{served}/large.git")
    assert (error.code, error.context["what"]) == ("limit_exceeded", "bytes")


@pytest.mark.slow
def test_a_blob_of_one_gibibyte_is_not_written(floor: Floor, served: str, repositories: Path) -> None:
    """A mebibyte of zeros, deflated once and repeated 1024 times, is the one object of a hand-made pack."""
    repository = Repository(repositories / "huge.git")
    head, rest, size = bytearray(), 1 << 30, 1 << 30
    head.append(0xB0 | (rest & 0x0F))  # object type 3: a blob; sizes are little-endian in 4 and then 7 bits
    rest >>= 4
    while rest:
        head.append((rest & 0x7F) | (0x80 if rest >> 7 else 0))
        rest >>= 7
    packer = zlib.compressobj(1)
    first = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    raw = zlib.compressobj(1, zlib.DEFLATED, -15)
    again = raw.compress(bytes(1 << 20)) + raw.flush(zlib.Z_FULL_FLUSH)
    check = (1 << 30) % 65521 << 16 | 1  # Adler-32 of zeros
    body = first + again * 1023 + b"\x03\x00" + check.to_bytes(4, "big")
    pack = b"PACK" + (2).to_bytes(4, "big") + (1).to_bytes(4, "big") + bytes(head) + body
    repository.git("index-pack", "--stdin", data=pack + hashlib.sha1(pack).digest())
    oid = hashlib.sha1(b"blob %d\0" % size)
    for _ in range(1024):
        oid.update(bytes(1 << 20))
    skill = repository.blob(clean_skill()["SKILL.md"])
    repository.commit(repository.tree([("100644", b"SKILL.md", skill), ("100644", b"zeros", oid.hexdigest())]))
    error = refused(floor, f"{served}/huge.git")
    assert (error.code, error.context["path"], error.context["reason"]) == (
        "limit_exceeded",
        "zeros",
        "tree-file-too-large",
    )


def test_a_file_above_the_limit_keeps_only_its_own_tool_out(floor: Floor, served: str, repositories: Path) -> None:
    files = {f"a/{path}": data for path, data in clean_skill("a").items()}
    files |= {f"b/{path}": data for path, data in clean_skill("b").items()}
    Repository(repositories / "large.git").files({**files, "b/zeros": bytes(3 << 20), "zeros": bytes(3 << 20)})
    outcomes = ingest(
        IngestRequest(f"{served}/large.git", everything=True, confirm=True), limited(floor, file_bytes=1 << 20)
    )
    assert outcomes[0].status == "vaulted"
    assert outcomes[1].error is not None
    assert (outcomes[1].error.code, outcomes[1].error.context["path"]) == ("limit_exceeded", "zeros")


def test_deep_nesting_is_refused(floor: Floor, served: str, repository: Repository) -> None:
    tree = repository.tree([("100644", b"x", repository.blob(b"x"))])
    raw = [tree]
    for _ in range(300):
        raw.append(repository.tree([("40000", b"d", raw[-1])]))
    skill = repository.blob(clean_skill()["SKILL.md"])
    repository.commit(repository.tree([("100644", b"SKILL.md", skill), ("40000", b"d", raw[-1])]))
    error = refused(floor, f"{served}/sample.git")
    assert (error.code, error.context["reason"]) == ("limit_exceeded", "tree-too-deep")
    assert "depth" in error.hint


@pytest.mark.parametrize("talk", [never_answer, trickle])
def test_a_server_that_does_not_come_to_an_end_is_left(floor: Floor, talk: object) -> None:
    with raw_server(talk) as url:  # type: ignore[arg-type]
        assert refused(limited(floor, fetch_seconds=2.0), f"{url}/x.git").code == "fetch_timeout"


def test_a_server_that_talks_nonsense_is_one_typed_error(floor: Floor) -> None:
    with raw_server(talk_nonsense) as url:
        error = refused(floor, f"{url}/x.git")
    assert error.code in {"fetch_failed", "hostile_objects"}
    assert "\x1b" not in str(error.context)


def test_a_server_that_is_not_there_is_one_typed_error(floor: Floor) -> None:
    with raw_server(never_answer) as url:
        pass
    assert refused(floor, f"{url}/x.git").code == "fetch_failed"


def test_a_redirect_is_not_followed(floor: Floor, repositories: Path, repository: Repository) -> None:
    asked: list[str] = []
    with git_server(repositories, asked) as target, redirecting_server(target) as url:
        assert refused(floor, f"{url}/sample.git").code == "redirected"
    assert asked == []


def test_a_local_repository_that_borrows_objects_is_refused(
    floor: Floor, repository: Repository, tmp_path: Path
) -> None:
    borrower = tmp_path / "borrower.git"
    shutil.copytree(repository.path, borrower)
    alternates = borrower / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    alternates.write_text(f"{repository.path}/objects\n")
    assert refused(floor, f"file://{borrower}").code == "borrowed_objects"


@pytest.mark.parametrize("kind", ["link", "pointer"])
def test_a_local_repository_whose_git_folder_is_elsewhere_is_refused(
    floor: Floor, repository: Repository, tmp_path: Path, kind: str
) -> None:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    if kind == "link":
        (checkout / ".git").symlink_to(repository.path)
    else:
        (checkout / ".git").write_text(f"gitdir: {repository.path}\n")
    assert refused(floor, f"file://{checkout}").code == "borrowed_objects"


def test_a_folder_without_a_repository_is_no_git_source(floor: Floor, tmp_path: Path) -> None:
    assert refused(floor, f"file://{tmp_path}").code == "source_not_found"


def test_a_part_of_a_repository_is_taken_by_path(floor: Floor, served: str, repositories: Path) -> None:
    files = {f"skills/a/{path}": data for path, data in clean_skill("a").items()}
    Repository(repositories / "sample.git").files({**files, "other/SKILL.md": clean_skill("b")["SKILL.md"]})
    outcome = take(floor, f"{served}/sample.git", path="skills/a")
    assert (outcome.name, outcome.path) == ("a", "skills/a")
    [script] = brought_in(floor, f"{served}/sample.git", path="skills/a/scripts/count.py")
    assert script.kind == "script"
    assert refused(floor, f"{served}/sample.git", path="skills/none").code == "source_not_found"


def test_the_users_git_configuration_has_no_say(
    floor: Floor, served: str, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = tmp_path / "executed"
    config = tmp_path / ".gitconfig"
    config.write_text(
        f'[url "ext::sh -c touch% {proof} "]\n\tinsteadOf = http://\n[protocol "ext"]\n\tallow = always\n'
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {proof}")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'protocol.ext.allow=always'")
    assert take(floor, f"{served}/sample.git").status == "awaiting_confirmation"
    assert not proof.exists()


@pytest.mark.skipif(shutil.which("ssh") is None, reason="ssh is not installed")
def test_an_ssh_server_that_says_nothing_is_left(floor: Floor) -> None:
    with raw_server(never_answer) as url:
        port = url.rpartition(":")[2]
        assert refused(limited(floor, fetch_seconds=2.0), f"ssh://git@127.0.0.1:{port}/a/b").code == "fetch_timeout"
    assert refused(floor, f"ssh://git@127.0.0.1:{port}/a/b").code == "fetch_failed"


def test_a_pack_may_get_its_final_name_while_it_is_measured(tmp_path: Path) -> None:
    (tmp_path / "tmp_pack_1").write_bytes(b"12345")
    (tmp_path / "pack-1.idx").write_bytes(b"123")
    with os.scandir(tmp_path) as listed:
        files = list(listed)
    (tmp_path / "tmp_pack_1").rename(tmp_path / "pack-1.pack")
    assert sum(map(git._size_of, files)) == 3
