"""What a dry run finds: everything the tool changed, and nothing that leads elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.dryruns import Project, picture, project_for

from skillkeep.home import Home
from skillkeep.runner.dryrun.change import Kind, Type
from skillkeep.runner.dryrun.collect import Limits, collect
from skillkeep.runner.dryrun.since import Since
from skillkeep.runner.dryrun.store import DryRuns
from skillkeep.runner.errors import RunnerError

FILES = {"a": "one\n", "b": "two\n", "d/x": "x\n", "d/sub/y": "y\n", "e/f": "f\n", "bin": b"\0\1"}


def test_the_project_stays_as_it_was_whatever_the_tool_does(home: Home) -> None:
    project = project_for(home, FILES)
    before = picture(project.root)
    result, run = project.run("rm -rf a d; echo new > b; chmod 600 e/f; ln -s a l; mkdir n; mv e e2; find . | wc -l")
    assert result.ok
    assert not run.empty
    assert picture(project.root) == before


def test_every_kind_of_change_is_found(home: Home) -> None:
    project = project_for(home, FILES)
    found = project.changes(
        "rm a; echo three >> b; chmod 755 bin; mkdir new; echo n > new/n; ln -s ../b new/l; mv e e2"
    )
    assert {path: change.kind for path, change in found.items()} == {
        "a": Kind.DELETED,
        "b": Kind.CHANGED,
        "bin": Kind.MODE,
        "e": Kind.DELETED,
        "e/f": Kind.DELETED,
        "e2": Kind.ADDED,
        "e2/f": Kind.ADDED,
        "new": Kind.ADDED,
        "new/n": Kind.ADDED,
        "new/l": Kind.ADDED,
    }
    link = found["new/l"].after
    assert link is not None
    assert (link.type, link.target) == (Type.LINK, "../b")


def test_what_was_only_opened_or_written_back_is_no_change(home: Home) -> None:
    project = project_for(home, FILES)
    assert (
        project.changes("touch a; cat b > b2; cat b2 > b; rm b2; chmod 600 bin; chmod 644 bin; mkdir t; rmdir t") == {}
    )
    assert DryRuns(home).waiting() == ()


def test_a_folder_that_was_made_anew_hides_all_that_was_in_it(home: Home) -> None:
    project = project_for(home, FILES)
    found = project.changes("rm -r d; mkdir -p d/sub; echo new > d/sub/z; echo x > d/x")
    assert {path: change.kind for path, change in found.items()} == {
        "d/sub/y": Kind.DELETED,
        "d/sub/z": Kind.ADDED,
    }


def test_a_file_in_the_place_of_a_folder_and_the_other_way_round(home: Home) -> None:
    project = project_for(home, FILES)
    _, run = project.run("rm -r d a; echo file > d; mkdir a; echo in > a/in")
    kinds = sorted((change.path, change.kind) for change in run.folders[0].changes)
    assert kinds == [
        ("a", Kind.ADDED), ("a", Kind.DELETED), ("a/in", Kind.ADDED), ("d", Kind.ADDED), ("d", Kind.DELETED),
        ("d/sub", Kind.DELETED), ("d/sub/y", Kind.DELETED), ("d/x", Kind.DELETED),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("import os; os.symlink('/etc/shadow', 'odd')", "odd"),
        ("import os; os.symlink('../outside', 'odd')", "odd"),
        ("import os; os.symlink('../../outside', 'd/odd')", "d/odd"),
        ("import os; os.symlink('d/../../outside', 'odd')", "odd"),
    ],
)
def test_what_could_reach_out_of_the_folder_is_refused(home: Home, code: str, path: str) -> None:
    project = project_for(home, FILES)
    result, run = project.run(code, runner="python")
    assert result.ok, result.stderr
    assert [(remark.path, remark.refused) for remark in run.folders[0].remarks] == [(path, True)]
    assert run.empty


def test_a_tool_leaves_no_pipe_and_no_socket_and_cannot_have_one_of_the_users_changed(home: Home) -> None:
    project = project_for(home, FILES)
    os.mkfifo(project.root / "odd", 0o644)
    code = """
import os, socket
os.chmod("odd", 0o600)
for make in (os.mkfifo, lambda path: socket.socket(socket.AF_UNIX).bind(path)):
    try:
        make("new")
    except PermissionError:
        print("refused")
"""
    result, run = project.run(code, runner="python")
    assert (result.ok, result.stdout) == (True, b"refused\n" * 2), result.stderr
    assert [(remark.path, remark.refused) for remark in run.folders[0].remarks] == [("odd", True)]
    assert run.empty


def test_a_link_that_stays_inside_is_a_change(home: Home) -> None:
    project = project_for(home, FILES)
    assert set(project.changes("ln -s ../a d/up; ln -s sub/y d/down; ln -s . here")) == {"d/up", "d/down", "here"}


PASSED = {"a": "one\n", "d/x": "x\n", "d/sub/y": "y\n"}


def with_links(home: Home) -> Project:
    """A project whose user has links of his own that lead out, around and on."""
    outside = home.root.parent / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret\n")
    project = project_for(home, PASSED)
    links = {
        "vendor": "../outside",
        "abs": str(outside),
        "on": "d/../vendor",
        "d/up": "../..",
        "in": "d/sub",
        "loop": "loop",
    }
    for name, target in links.items():
        (project.root / name).symlink_to(target)
    return project


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("ln -s vendor/secret odd", "odd"),
        ("ln -s vendor odd", "odd"),
        ("ln -s abs/secret odd", "odd"),
        ("ln -s on/secret odd", "odd"),
        ("ln -s d/up/outside/secret odd", "odd"),
        ("ln -s ../vendor/secret d/odd", "d/odd"),
        ("rm vendor; mkdir vendor; echo x > vendor/secret; ln -s vendor/secret odd", "odd"),
    ],
)
def test_a_link_that_leads_out_through_one_of_the_project_is_refused(home: Home, code: str, path: str) -> None:
    project = with_links(home)
    result, run = project.run(f"{code}; echo more >> a")
    assert result.ok, result.stderr
    assert [(remark.path, remark.refused) for remark in run.folders[0].remarks] == [(path, True)]
    assert path not in {change.path for change in run.folders[0].changes}
    project.commit(run)
    assert not (project.root / path).is_symlink()


def test_a_link_that_leads_out_through_another_one_that_is_added_is_refused(home: Home) -> None:
    project = with_links(home)
    result, run = project.run("ln -s vendor/secret one; ln -s one two; ln -s ../two d/three; ln -s nowhere free")
    assert result.ok, result.stderr
    assert {remark.path for remark in run.folders[0].remarks if remark.refused} == {"one", "two", "d/three"}
    assert [change.path for change in run.folders[0].changes] == ["free"]


def test_links_through_links_that_stay_inside_are_changes(home: Home) -> None:
    project = with_links(home)
    found = project.changes(
        "ln -s in/y one; ln -s one two; ln -s ../two d/three; ln -s . here; ln -s here/in/y four; ln -s loop/x five"
    )
    assert set(found) == {"one", "two", "d/three", "here", "four", "five"}


def test_a_link_of_the_user_that_leads_out_is_no_change_when_it_is_only_touched(home: Home) -> None:
    project = with_links(home)
    result, run = project.run("import os; os.utime('vendor', (1, 1), follow_symlinks=False)", runner="python")
    assert result.ok, result.stderr
    assert (run.empty, run.folders[0].remarks) == (True, ())


def test_more_steps_than_anybody_follows_are_refused(home: Home) -> None:
    project = with_links(home)
    code = "import os\nos.symlink('d/' * 900, 'many')\nfor n in range(300): os.symlink(f'l{n + 1}/x', f'l{n}')"
    result, run = project.run(code, runner="python")
    assert result.ok, result.stderr
    refused = {remark.path for remark in run.folders[0].remarks if remark.refused}
    assert {"many", "l0"} <= refused
    assert "l299" not in refused


def test_names_and_attributes_are_left_out_with_a_word(home: Home) -> None:
    project = project_for(home, FILES)
    code = (
        "import os\nos.link('a', 'a2')\nopen('b', 'a').write('more')\n"
        "try: os.setxattr('b', 'user.note', b'x')\n"
        "except OSError: print('none')\n"  # a memory file system has user attributes from Linux 6.6 on
    )
    result, run = project.run(code, runner="python")
    assert result.ok, result.stderr
    words = {(remark.path, remark.text.split(" ")[0]) for remark in run.folders[0].remarks if not remark.refused}
    attributes = set() if b"none" in result.stdout else {("b", "extended")}
    assert words == {("a2", "one")} | attributes


def test_special_bits_are_left_out_should_one_ever_get_there(tmp_path: Path) -> None:
    upper, project, blobs = (tmp_path / name for name in ("upper", "project", "blobs"))
    for folder in (upper, project, blobs):
        folder.mkdir()
    (upper / "bin").write_bytes(b"x")
    (upper / "bin").chmod(0o6755)
    fd = os.open(upper, os.O_RDONLY)
    try:
        found = collect(fd, str(project), blobs, Since(1 << 63), Limits(1000))
    finally:
        os.close(fd)
    assert [change.after.mode for change in found.changes if change.after] == [0o755]
    assert ["setuid" in remark.text for remark in found.remarks] == [True]


def test_marks_of_overlayfs_that_a_tool_sets_itself_mean_nothing(home: Home) -> None:
    project = project_for(home, FILES)
    code = (
        "import os\nos.mkdir('d/made')\n"
        "for name in ('user.overlay.opaque', 'trusted.overlay.opaque', 'user.overlay.skillkeep'):\n"
        "  for path in ('d', '.'):\n"
        "    try: os.setxattr(path, name, b'y')\n"
        "    except OSError: pass\n"
    )
    assert set(project.changes(code, runner="python")) == {"d/made"}


def test_names_are_bytes(home: Home) -> None:
    project = project_for(home, FILES)
    code = "import os; [open(name, 'w').close() for name in (b'new\\nline', b'\\xff\\xfe', b'\\x1b[31m', b'-rf', b' ')]"
    assert set(project.changes(code, runner="python")) == {"new\nline", "\udcff\udcfe", "\x1b[31m", "-rf", " "}


def test_the_changes_fit_into_their_limit_or_the_tool_is_told_that_the_disk_is_full(home: Home) -> None:
    project = project_for(home, FILES)
    result, run = project.run("head -c 3000000 /dev/zero > big; echo $?", most_bytes=1 << 20)
    assert b"No space left" in result.stderr
    assert run.folders[0].changes[0].after is not None
    assert run.folders[0].changes[0].after.size <= 1 << 20
    many = "n=0\nfor i in range(100000):\n  try: open(f'f{i}', 'x').close(); n += 1\n  except OSError: break\nprint(n)"
    result, run = project.run(many, runner="python", most_bytes=1 << 20)
    assert int(result.stdout) < 1100


def test_a_sparse_giant_is_refused_and_not_copied(home: Home) -> None:
    project = project_for(home, FILES)
    result, run = project.run("truncate -s 100M giant; echo small > small", most_bytes=1 << 20)
    assert result.ok
    assert [change.path for change in run.folders[0].changes] == ["small"]
    assert [remark.path for remark in run.folders[0].remarks] == ["giant"]


def test_a_path_that_is_too_long_is_refused_and_the_rest_is_found(home: Home) -> None:
    project = project_for(home, FILES)
    code = "import os\nopen('small','w').close()\nfor i in range(60): os.mkdir('n' * 100); os.chdir('n' * 100)"
    result, run = project.run(code, runner="python")
    assert result.ok, result.stderr
    assert any(change.path == "small" for change in run.folders[0].changes)
    assert [remark.refused for remark in run.folders[0].remarks] == [True]


def test_what_the_tool_locked_is_read_all_the_same(home: Home) -> None:
    project = project_for(home, FILES)
    found = project.changes("mkdir l; echo in > l/in; chmod 0 l/in l; chmod 0 .")
    assert {path: change.after.mode for path, change in found.items() if change.after} == {"l": 0, "l/in": 0}


def test_a_file_of_the_project_that_cannot_be_read_is_a_change_all_the_same(home: Home) -> None:
    project = project_for(home, FILES)
    (project.root / "a").chmod(0)
    found = project.changes("chmod 600 a; echo new > a")
    assert found["a"].kind is Kind.CHANGED


def test_the_projects_own_folder_mode_is_left_as_it_is(home: Home) -> None:
    project = project_for(home, FILES)
    _, run = project.run("chmod 700 .; echo x > new")
    assert [remark.path for remark in run.folders[0].remarks] == [""]
    assert [change.path for change in run.folders[0].changes] == ["new"]


def test_what_changes_in_the_project_during_the_run_is_marked(home: Home) -> None:
    project = project_for(home, FILES)
    meddled = project.meddled(lambda: (project.root / "a").write_text("by somebody else\n"))
    found = meddled.changes("echo tool > a; echo tool > b")
    assert (found["a"].conflict, found["b"].conflict) == (True, False)


def test_a_root_that_has_become_a_link_is_not_run_over(home: Home) -> None:
    project = project_for(home, FILES)

    def swap() -> None:
        project.root.rename(project.root.with_name("moved"))
        project.root.symlink_to("moved")

    with pytest.raises(RunnerError, match="Too many levels of symbolic links") as refused:
        project.meddled(swap).run("echo out; echo x > new")
    assert "A link stands in its path" in refused.value.hint
    assert DryRuns(home).waiting() == ()
    assert sorted(os.listdir(home.root / "dry_runs")) == [".lock"]


def test_what_cannot_be_swept_stops_no_dry_run(home: Home) -> None:
    """As when what another process drops is gone between the look at the folder and the look at its lock."""
    store = DryRuns(home)
    with store.collecting("1"):
        pass
    left = home.root / "dry_runs" / "2.tmp"
    left.symlink_to("gone")
    with store.collecting("3") as folder:
        assert folder.is_dir()
    assert left.is_symlink()
