"""What commands of an environment see of each other and of the host."""

from __future__ import annotations

import os

import pytest
from support.environments import Stage


def test_commands_share_one_view_and_a_home_that_stays(stage: Stage) -> None:
    first = stage.play("""
with environments.open(project) as e:
    said(one=out(e, "pwd; whoami; echo kept >~/kept; echo here >/tmp/here; readlink /proc/self/ns/mnt"))
""")
    second = stage.play("""
with environments.open(project) as e:
    said(two=out(e, "pwd; whoami; cat ~/kept /tmp/here; readlink /proc/self/ns/mnt"), name=e.record.name)
""")
    one, two = first["one"].split(), second["two"].split()
    assert one[:2] == [str(stage.project), second["name"]]
    assert two == [*one[:2], "kept", "here", one[2]]


def test_a_fresh_command_has_processes_and_a_tmp_of_its_own_and_the_same_home_and_project(stage: Stage) -> None:
    seen = stage.play("""
with environments.open(project) as e:
    sh(e, "echo kept >~/kept; echo here >/tmp/here; echo text >file; sleep 300 >/dev/null 2>&1 &")
    said(fresh=out(e, "ls /tmp/here; cat ~/kept file; touch /tmp/mine /dev/shm/mine; ps ax", fresh=True))
    said(after=out(e, "ls /tmp/mine /dev/shm/mine; cat /tmp/here"))
""")
    assert "kept\ntext\n" in seen["fresh"]
    assert "cannot access '/tmp/here'" in seen["fresh"]
    assert "sleep" not in seen["fresh"]
    assert "here" in seen["after"].splitlines()
    assert "'/tmp/mine'" in seen["after"]
    assert "'/dev/shm/mine'" in seen["after"]


def test_nothing_of_the_host_is_in_sight_but_the_project_at_its_own_path(stage: Stage) -> None:
    secret = stage.bench.home / "secret"
    secret.write_text("canary")
    beside = stage.project.parent / "other"
    beside.mkdir()
    seen = stage.play("""
with environments.open(project) as e:
    said(listed=out(e, f"ls -A {project.parent}"), read=out(e, f"cat {sys.argv[2]}/../secret; ls {sys.argv[2]}"))
    said(homes=out(e, "ls /home /root"), variables=out(e, "env | cut -d= -f1 | sort"), name=e.record.name)
""")
    assert seen["listed"] == "web"
    assert "canary" not in seen["read"]
    assert "environment.json" not in seen["read"]
    assert seen["homes"].splitlines()[-1] == seen["name"] or seen["name"] in seen["homes"]
    assert set(seen["variables"].split()) <= {
        "HOME", "LANG", "LOGNAME", "PATH", "PWD", "SKILLKEEP_POLICY", "TMPDIR", "USER", "OLDPWD", "SHLVL", "_",
    }  # fmt: skip


def test_the_project_is_written_by_its_owner_and_not_at_all_when_shown_read_only(stage: Stage) -> None:
    stage.play('with environments.open(project) as e:\n    sh(e, "echo text >written")')
    written = stage.project / "written"
    assert written.read_text() == "text\n"
    assert os.stat(written).st_uid != 0
    seen = stage.play("""
environments.stop(environments.find(str(project)))
with environments.open(project, read_only=True) as e:
    said(shown=out(e, "cat written; echo more >written"))
""")
    assert seen["shown"].startswith("text")
    assert "Read-only file system" in seen["shown"]
    assert written.read_text() == "text\n"


def test_the_accounts_and_the_home_are_used_inside_whatever_the_callers_umask_is(stage: Stage) -> None:
    seen = stage.play("""
os.umask(0o077)
with environments.open(project) as e:
    said(text=out(e, "grep -c . /etc/passwd; echo kept >~/kept; cat ~/kept"))
""")
    assert seen["text"] == "3\nkept"


def test_every_command_is_measured_and_holds_what_a_one_shot_run_holds(stage: Stage) -> None:
    seen = stage.play("""
with environments.open(project) as e:
    for fresh in (False, True):
        result = sh(e, "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; ls /proc/self/fd | wc -l", fresh=fresh)
        layers = [layer["name"] for layer in result.assurance.to_json()["layers"] if layer["in_force"]]
        uid = result.assurance.payload_host_uid
        said(**{str(fresh): [result.stdout.decode().split(), layers, uid, int(result.assurance.level)]})
""")
    for words, layers, uid, level in seen.values():
        assert words[1::2][:7] == ["0000000000000000"] * 5 + ["1", "2"]
        assert words[-1] == "4"  # three streams, and the folder that ls reads
        wanted = {"identity", "namespaces", "root", "capabilities", "no_new_privs", "seccomp", "rlimits", "network"}
        assert wanted <= set(layers)
        assert uid
        assert level >= 2


@pytest.mark.parametrize("name", [b"two\nlines", b"not \xff utf-8", b"-rf", b"a 'quoted' \"one\"; $(id)"])
def test_a_folder_with_a_hostile_name_is_a_project_like_any_other(stage: Stage, name: bytes) -> None:
    folder = os.fsencode(stage.project) + b"/" + name
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    seen = stage.play(
        """
with environments.open(project) as e:
    result = sh(e, "echo here >mark; pwd")
    said(pwd=os.fsencode(project).hex(), got=result.stdout.hex(), name=e.record.name, err=result.stderr.decode())
""",
        folder,
    )
    assert bytes.fromhex(seen["got"]) == folder + b"\n"
    assert os.path.exists(folder + b"/mark")


def test_a_link_to_a_project_leads_to_the_same_environment(stage: Stage) -> None:
    link = stage.project.parent / "link"
    link.symlink_to(stage.project)
    scene = "with environments.open(project) as e:\n    said(name=e.record.name, holder=e.standing.holder)"
    assert stage.play(scene) == stage.play(scene, str(link))


def test_no_pipe_or_socket_is_left_in_a_project_below_tmp(stage: Stage) -> None:
    if not stage.project.is_relative_to("/tmp"):
        pytest.skip("folders of tests do not lie below /tmp here")
    seen = stage.play("""
made = 'import os, socket; [os.mkfifo("/dev/shm/p"), os.mkfifo("p")]'
with environments.open(project) as e:
    said(shared=out(e, f"python3 -c '{made}'"), fresh=out(e, f"python3 -c '{made}'", fresh=True))
    sh(e, "mv /tmp/home /tmp/old; ln -s $PWD /tmp/home; rmdir /tmp/old")
    said(later=out(e, "mkfifo p"))
""")
    assert [text.splitlines()[-1].split("]")[0] for text in seen.values()] == [
        "PermissionError: [Errno 13",
        "PermissionError: [Errno 13",
        "mkfifo: cannot create fifo 'p': Permission denied",
    ]
    assert list(stage.project.iterdir()) == []
