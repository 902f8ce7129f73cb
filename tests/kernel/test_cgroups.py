"""Control groups on both versions: where a group goes, what it is told, and that nothing else is touched."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from support import slots

from skillkeep.kernel import cgroup_v1, cgroup_v2
from skillkeep.kernel.cgroup_choice import make_group, sweep_groups
from skillkeep.kernel.cgroups import GroupLimits, Place, group_name, places, sweep
from skillkeep.kernel.errors import KernelError

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import endurance

LIMITS = GroupLimits(memory_bytes=64 << 20, processes=11, cpus=0.5)
V1 = """
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
39 31 0:36 /elsewhere /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/with\\040space rw - cgroup2 cgroup2 rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
""".strip()


def test_the_own_place_is_found_in_each_mounted_hierarchy() -> None:
    membership = "4:memory:/docker/abc/own\n1:cpu,cpuacct:/\n8:pids:/outside\n0::/user.slice/x\n9:name=systemd:/"
    assert list(places(V1, membership)) == [
        Place("/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct", ("cpu", "cpuacct")),
        Place("/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/own", ("memory",)),
        Place("/sys/fs/cgroup/with space", "/sys/fs/cgroup/with space/user.slice/x", ()),
    ]


def _folder(path: Path, **files: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (path / name.replace("__", ".")).write_text(text)
    return path


def _fake_v2(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """A folder made below `root` gets the control files that the kernel would put there."""
    make, remove = os.mkdir, os.rmdir

    def mkdir(path: str, mode: int = 0o777) -> None:
        make(path, mode)
        if str(path).startswith(str(root)):
            knobs = ("memory__max", "pids__max", "cpu__max", "memory__limit_in_bytes", "cgroup__procs", "tasks")
            _folder(Path(path), memory__swap__max="", **dict.fromkeys(knobs, ""))

    def rmdir(path: str) -> None:
        if str(path).startswith(str(root)):
            for file in Path(path).iterdir():
                file.unlink()
        remove(path)

    monkeypatch.setattr(os, "mkdir", mkdir)
    monkeypatch.setattr(os, "rmdir", rmdir)


def test_v2_uses_the_nearest_ancestor_that_passes_controllers_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _folder(tmp_path / "unified", cgroup__subtree_control="cpu memory pids", cgroup__procs="")
    slice_ = _folder(root / "app.slice", cgroup__subtree_control="memory pids", cgroup__procs="")
    own = _folder(slice_ / "own.scope", cgroup__subtree_control="", cgroup__procs="1\n")
    _fake_v2(monkeypatch, root)
    part = cgroup_v2.make_part(Place(str(root), str(own), ()), ("memory", "pids", "cpu"), LIMITS, "run1")
    assert part is not None
    assert (Path(part.path).parent, part.enforces) == (slice_, ("memory", "pids"))
    told = {name: (Path(part.path) / name).read_text() for name in ("memory.max", "memory.swap.max", "pids.max")}
    assert told == {"memory.max": str(64 << 20), "memory.swap.max": "0", "pids.max": "11"}
    _folder(Path(part.path), memory__peak="123\n", memory__events="low 0\noom 2\noom_kill 1\n", pids__peak="5\n")
    assert part.facts() == {"peak_memory": 123, "oom_kills": 1, "peak_processes": 5}
    part.release()
    assert part.remove()
    assert sorted(path.name for path in slice_.iterdir()) == ["cgroup.procs", "cgroup.subtree_control", "own.scope"]
    assert (slice_ / "cgroup.subtree_control").read_text() == "memory pids"


def test_v2_without_a_delegated_ancestor_is_left_alone(tmp_path: Path) -> None:
    root = _folder(tmp_path / "unified", cgroup__subtree_control="", cgroup__procs="")
    assert cgroup_v2.make_part(Place(str(root), str(root), ()), ("memory",), LIMITS, "run1") is None
    assert len(list(root.iterdir())) == 2


def test_half_a_limit_is_an_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = _folder(tmp_path / "memory")
    _fake_v2(monkeypatch, own)
    monkeypatch.setattr(cgroup_v1, "_knobs", lambda *_: [("memory.limit_in_bytes", "1"), ("no/such", "1")])
    with pytest.raises(KernelError) as caught:
        cgroup_v1.make_part(Place(str(own), str(own), ("memory",)), "memory", LIMITS, "run1")
    assert caught.value.layer == "cgroup"
    assert list(own.iterdir()) == []


def test_a_place_that_is_missing_or_closed_gives_no_group(tmp_path: Path) -> None:
    assert cgroup_v1.make_part(Place("/x", str(tmp_path / "gone"), ("pids",)), "pids", LIMITS, "run1") is None


def test_the_sweep_removes_what_dead_makers_left_and_nothing_else(tmp_path: Path) -> None:
    namespace, mine = os.stat("/proc/self/ns/pid").st_ino, group_name("live")
    dead = f"skillkeep-{namespace}-{2**22 + 1}-5-run"
    reused = f"skillkeep-{namespace}-{os.getpid()}-1-run"
    foreign = f"skillkeep-{namespace + 1}-{2**22 + 1}-5-run"
    for name in (dead, reused, foreign, mine, "docker", "skillkeep-notours"):
        (tmp_path / name).mkdir()
    sweep(str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {foreign, mine, "docker", "skillkeep-notours"}


def _dead() -> str:
    return f"skillkeep-{os.stat('/proc/self/ns/pid').st_ino}-{2**22 + 1}-5-run"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder away")
def test_the_sweep_leaves_what_another_user_owns(tmp_path: Path) -> None:
    (tmp_path / _dead()).mkdir()
    os.chown(tmp_path / _dead(), 65534, 65534)
    assert sweep(str(tmp_path)) == 0
    assert (tmp_path / _dead()).exists()


def _own_place(tmp_path: Path, own: str) -> Path:
    """A v1 hierarchy in which this process is in the group `own`."""
    root = _folder(tmp_path / "memory")
    mounts = f"35 31 0:32 / {root} rw - cgroup cgroup rw,memory\n"
    _folder(tmp_path / "proc" / "self", mountinfo=mounts, cgroup=f"4:memory:{own}\n0::/\n")
    return root


def test_what_a_maker_left_that_was_killed_with_its_session_is_swept_from_another_one(tmp_path: Path) -> None:
    root, live, dead = _own_place(tmp_path, "/sessions/own"), group_name("live"), _dead()
    foreign = dead.replace("skillkeep-", "skillkeep-9")
    gone = (f"sessions/own/{dead}", f"sessions/other/{dead}")
    kept = [f"sessions/other/{name}" for name in (live, foreign, "skillkeep-notours", "docker", f"docker/{dead}")]
    kept += [f"elsewhere/{dead}", dead, f"sessions/{dead}", f"sessions/third/{dead}/busy"]
    for name in (*gone, *kept):
        _folder(root / name)
    assert sweep_groups(str(tmp_path)) == 1  # the one that holds another
    assert not any((root / name).exists() for name in gone)
    assert all((root / name).is_dir() for name in kept)


def test_at_the_root_of_a_hierarchy_nothing_lies_beside_the_own_place(tmp_path: Path) -> None:
    root = _own_place(tmp_path, "/")
    beside = _folder(tmp_path / "other" / _dead())
    _folder(root / _dead())
    assert sweep_groups(str(tmp_path)) == 0
    assert beside.is_dir()
    assert not (root / _dead()).exists()


def test_no_hierarchy_at_all_gives_a_group_that_enforces_nothing(tmp_path: Path) -> None:
    proc = _folder(tmp_path / "proc" / "self", mountinfo="", cgroup="0::/\n")
    group = make_group(LIMITS, "run1", root=str(tmp_path))
    assert proc.is_dir()
    assert (group.enforces, group.facts(), group.into_fd) == ((), {}, None)
    group.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make control groups here")
def test_a_real_group_is_made_and_removed() -> None:
    group = make_group(LIMITS, "realone")
    if not group.parts:
        pytest.skip("no control group may be made on this machine")
    paths = [Path(part.path) for part in group.parts]
    assert all(path.is_dir() for path in paths)
    group.close()
    assert not any(path.exists() for path in paths)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may make control groups here")
def test_tests_and_benchmarks_tell_a_maker_from_the_next_process_of_its_pid() -> None:
    group, (pid, started) = make_group(LIMITS, "whose"), slots.life(os.getpid())
    paths = {part.path for part in group.parts}
    try:
        for found in (slots.groups((pid, started)), endurance.groups({(pid, started)})):
            assert {path for path in found if path.endswith("-whose")} == paths
        assert slots.groups((pid, started - 1)) == endurance.groups({(pid, started - 1)}) == []
    finally:
        group.close()
