"""Every attack of the selftest: it works outside, or says that it cannot be shown there, and inside it is closed."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from support.docker import NEEDS_ENGINE, imported_image
from support.sandbox import NOBODY, attackers, python_for, staged_packages

from skillkeep.runner.selftest.bait import laid_out
from skillkeep.runner.selftest.catalogue import attacks, command, input_text, read_answers
from skillkeep.runner.selftest.inside.harness import OPEN
from skillkeep.runner.selftest.measured import MEASURED
from skillkeep.runner.selftest.row import Verdict
from skillkeep.runner.selftest.suite import BY_EGRESS, known_names

NAMES = [each.name for each in attacks()]
ABSENT_HERE = {
    # What this kernel or machine may lack, so that the attack cannot be shown outside either.
    *("init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "iopl", "ioperm", "modify_ldt"),
    *("userfaultfd", "bpf", "perf_event_open", "keyctl", "add_key", "request_key", "kcmp", "quotactl_fd"),
    *(
        "process_vm_readv",
        "process_vm_writev",
        "io_uring_setup",
        "io_uring_enter",
        "io_uring_register",
        "fanotify_init",
    ),
    *("statmount", "listmount", "open_tree_attr", "lsm_set_self_attr", "sysfs", "ustat", "remap_file_pages"),
    *("prctl_mm", "prctl_io_flusher", "prctl_ptracer", "prctl_sched_core", "prctl_user_dispatch", "prctl_tsc"),
    *("unshare_time", "syslog", "process_madvise", "process_mrelease", "migrate_pages", "set_mempolicy", "mbind"),
    *("family_inet6", "family_packet", "raw_socket", "large_pipes", "oom_score", "raise_open_files", "lock_memory"),
    *("file_capability", "setuid_mounts", "swapon", "swapoff", "acct", "posix_shared_memory", "move_pages", "login_id"),
    *("cgroup_path", "cgroup_write", "interfaces", "raise_core", "raise_file_size", "new_privileges", "watch_host"),
    *("other_protocols", "disk_identity", "memory_file"),
    *(name for name in NAMES if name.startswith(("read_", "write_"))),
}
AT_LEAST = {
    "anyone": {"unshare_user", "clone_new_user", "ptrace", "setns", "personality_no_randomize", "environment"},
    "root": {
        "mount",
        "write_in_etc",
        "setuid_root",
        "block_device",
        "negative_nice",
        "host_root",
        "write_core_pattern",
    },
}
"""What has to be shown outside on any machine, or the suite proves nothing."""


@functools.cache
def _outside(uid: int | None) -> dict[str, tuple[str, str]]:
    """The answers without a sandbox, of those attacks that may be tried there."""
    names = [each.name for each in attacks() if each.control != "none"]
    with laid_out(uid) as bait:
        if uid is not None:
            os.chown(bait.grant, uid, uid)
        done = subprocess.run(
            command(python_for(uid)),
            input=input_text(bait.facts, names),
            capture_output=True,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
            cwd="/",
            timeout=120,
        )
    return read_answers(done.stdout)


@functools.cache
def _inside(uid: int | None, backend: str, image: str = "") -> dict[str, dict[str, Any]]:
    """The selftest's rows by attack, from the staged packages, as that user."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from skillkeep.runner.selftest.bait import laid_out\n"
        "from skillkeep.runner.selftest.suite import attack_all, attack_with_network\n"
        "if sys.argv[2] == 'docker':\n"
        "    from skillkeep.runner.containers.docker import DockerBackend\n    backend = DockerBackend(sys.argv[3])\n"
        "else:\n    from skillkeep.runner.native import NativeBackend\n    backend = NativeBackend()\n"
        "with laid_out() as bait:\n    rows = attack_all(backend, bait)\n"
        "    rows += attack_with_network(backend, bait) if sys.argv[2] == 'native' else []\n"
        "print(json.dumps([row.to_json() for row in rows]))"
    )
    import sys

    python = python_for(uid) if backend == "native" else sys.executable
    environment = {"HOME": "/nonexistent", "PATH": os.environ["PATH"], "DOCKER_HOST": os.environ.get("DOCKER_HOST", "")}
    done = subprocess.run(
        [python, "-I", "-c", code, str(staged_packages()), backend, image],
        capture_output=True,
        user=uid,
        group=uid,
        extra_groups=None if uid is None else [],
        cwd="/",
        env=environment,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return {row["attack"]: row for row in json.loads(done.stdout)}


@pytest.fixture(name="uid", params=[who.uid for who in attackers()], ids=[who.name for who in attackers()])
def _uid(request: pytest.FixtureRequest) -> int | None:
    uid: int | None = request.param
    return uid


@pytest.mark.parametrize("name", [each.name for each in attacks() if each.control == "anyone"])
def test_an_attack_works_without_a_sandbox_for_anyone(name: str, uid: int | None) -> None:
    verdict, seen = _outside(uid)[name]
    if verdict != OPEN and name in ABSENT_HERE - AT_LEAST["anyone"]:
        pytest.skip(f"this machine closes it by itself: {seen}")
    assert verdict == OPEN, seen


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can show what only root can do")
@pytest.mark.parametrize("name", [each.name for each in attacks() if each.control == "root"])
def test_an_attack_works_without_a_sandbox_for_root(name: str) -> None:
    verdict, seen = _outside(None)[name]
    if verdict != OPEN and name in ABSENT_HERE - AT_LEAST["root"]:
        pytest.skip(f"this machine closes it by itself: {seen}")
    assert verdict == OPEN, seen


@pytest.mark.parametrize("name", [*sorted(known_names()), *(f"{name}_with_grant" for name in BY_EGRESS)])
def test_an_attack_is_closed_in_the_native_sandbox_or_meant_to_work(name: str, uid: int | None) -> None:
    row = _inside(uid, "native")[name]
    assert row["verdict"] in (Verdict.CLOSED, Verdict.INTENDED), (row["verdict"], row["seen"], row["reason"])
    assert bool(row["reason"]) is (row["verdict"] == Verdict.INTENDED)


@pytest.fixture(name="image", scope="module")
def _image() -> Iterator[str]:
    yield from imported_image()


@pytest.mark.parametrize("name", [pytest.param(name, marks=NEEDS_ENGINE) for name in sorted(known_names())])
def test_an_attack_is_closed_in_a_container_or_meant_to_work(name: str, image: str) -> None:
    row = _inside(None, "docker", image)[name]
    if name == "kill_init":
        assert row["verdict"] == Verdict.UNTESTED
        return
    assert row["verdict"] in (Verdict.CLOSED, Verdict.INTENDED), (row["verdict"], row["seen"], row["reason"])


def test_what_is_meant_to_work_is_little_and_says_why() -> None:
    always = {each.name for each in [*attacks(), *MEASURED] if "*" in each.intended or "native" in each.intended}
    assert len(always) <= 15  # two of them where there is no Landlock
    assert all(len(reason) > 30 for each in attacks() for reason in each.intended.values())


def test_nothing_is_left_behind() -> None:
    with laid_out() as bait:
        folder, host_pid, segment = bait.folder, bait.facts["host_pid"], bait.facts["ipc_key"]
        assert folder.exists()
    assert not folder.exists()
    assert not os.path.exists(f"/proc/{host_pid}")
    assert f"{segment:#010x}" not in subprocess.run(["ipcs", "-m"], capture_output=True, text=True).stdout
    assert "SELFTEST_CANARY" not in os.environ
    assert NOBODY != 0
