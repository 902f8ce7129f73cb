"""The container backend against a real engine: what the seed limits, what hardening adds, and what is left behind.

Each attack is shown to work outside first, where that can be done without harm.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.commands import run_command
from support.docker import NEEDS_ENGINE, engine_client, imported_image
from support.vaults import make_tool

from skillkeep.home import Home
from skillkeep.runner.containers.docker import DockerBackend
from skillkeep.runner.containers.owner import OWNER_LABEL, RUN_LABEL
from skillkeep.runner.interface import AssuranceLevel, Bind, Cause, RunRequest, RunResult, SandboxPolicy
from skillkeep.runner.native.plan import POLICY_FILE, policy_text
from skillkeep.vault.interface import Tier, VaultedTool

pytestmark = NEEDS_ENGINE

SLEEPS = (
    "import sys\nfrom skillkeep.runner.containers.docker import DockerBackend\n"
    "from skillkeep.runner.interface import RunRequest\n"
    "DockerBackend(sys.argv[1]).run(RunRequest(('sleep', '600')))"
)
FILES = {"run.py": "import sys\nprint('hello', *sys.argv[1:])\n", "data.txt": "data\n"}


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    yield from imported_image()


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    engine = engine_client()
    yield engine
    engine.close()


@pytest.fixture
def tool(home: Home) -> VaultedTool:
    return make_tool(home, "tool", FILES)


@pytest.fixture
def backend(image: str) -> DockerBackend:
    return DockerBackend(image)


def run(
    backend: DockerBackend, *argv: str, tool: VaultedTool | None = None, stdin: bytes | int | None = None, **policy: Any
) -> RunResult:
    return backend.run(RunRequest(argv, SandboxPolicy(**{"tool_mount": "/work", **policy}), tool, stdin))


def python(backend: DockerBackend, code: str, **how: Any) -> RunResult:
    return run(backend, "python3", "-c", code, **how)


def containers(client: Any) -> list[str]:
    return [each["Id"] for each in client.containers(all=True, filters={"label": RUN_LABEL})]


def test_a_vaulted_tool_runs_from_a_home_that_only_its_owner_may_enter(
    backend: DockerBackend, home: Home, tool: VaultedTool
) -> None:
    """The engine opens the path for the container; user 65534 then reads files of mode 0444 below the mount."""
    assert home.root.stat().st_mode & 0o777 == 0o700
    result = run(backend, "python3", "./run.py", "a b", tool=tool)
    assert (result.stdout, result.stderr, result.exit_code, result.cause) == (b"hello a b\n", b"", 0, Cause.EXIT)
    assert (result.backend, result.tool_digest) == ("docker", tool.digest)


def test_the_payload_is_nobody_without_any_right(backend: DockerBackend) -> None:
    status = dict(
        line.split(":\t", 1)
        for line in run(backend, "cat", "/proc/self/status").stdout.decode().splitlines()
        if ":\t" in line
    )
    assert status["Uid"].split() == status["Gid"].split() == ["65534"] * 4
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_the_result_names_each_layer_and_the_exact_image(backend: DockerBackend, client: Any, image: str) -> None:
    assurance = run(backend, "true").assurance
    assert assurance.level is AssuranceLevel.BOUNDED
    assert [layer.name for layer in assurance.layers if not layer.in_force] == []
    pinned = assurance.layer("image")
    assert pinned is not None
    assert pinned.facts["id"] == client.inspect_image(image)["Id"]
    assert assurance.losses


def test_a_named_runtime_gets_a_pipe_for_its_input_and_never_the_hosts_null_device(image: str) -> None:
    """gVisor's runsc of 2022, started by root, gives the host's /dev/null to the container's user."""
    before = os.stat("/dev/null")
    result = run(DockerBackend(image, "runc"), "sh", "-c", "cat; ls -l /proc/self/fd/0")
    assert result.ok
    assert b"/dev/null" not in result.stdout
    assert os.stat("/dev/null").st_uid == before.st_uid


def test_no_network_is_reached_not_even_the_hosts_loopback(backend: DockerBackend) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = (
            "import socket\n"
            f"try:\n    socket.create_connection(('127.0.0.1', {port}), 3); print('reached')\n"
            "except OSError as e:\n    print('refused')\n"
            "print(sorted(line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line))"
        )
        outside = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert outside.startswith("reached")
        inside = python(backend, code).stdout.decode()
    assert inside == "refused\n['lo']\n"


def test_nothing_can_be_written_but_tmp(backend: DockerBackend, tool: VaultedTool) -> None:
    code = (
        "import os\n"
        "for place in ('run.py', 'new', '/work/new', '/etc/new', '/new', '/proc/sys/kernel/core_pattern'):\n"
        "    try:\n        open(place, 'w').write('x'); print('wrote', place)\n"
        "    except OSError as e: pass\n"
        "open('/tmp/new', 'w').write('x'); print('tmp')"
    )
    assert python(backend, code, tool=tool).stdout == b"tmp\n"
    assert (tool.path / "run.py").read_text() == FILES["run.py"]


def test_nothing_in_tmp_can_be_executed_or_grow_without_end(backend: DockerBackend) -> None:
    script = "head -c 200000000 /dev/zero > /tmp/big; ls -l /tmp/big; cat /bin/true > /tmp/t; rm /tmp/big"
    seen = run(backend, "sh", "-c", script, tmp_bytes=4 << 20).stdout.decode()
    assert int(seen.split()[4]) <= 4 << 20
    mounts = run(backend, "cat", "/proc/mounts").stdout.decode()
    line = next(line for line in mounts.splitlines() if " /tmp " in line)
    assert {"noexec", "nosuid", "nodev"} <= set(line.split()[3].split(","))


def test_neither_the_home_nor_the_environment_nor_a_host_process_is_seen(
    backend: DockerBackend, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "canary")
    (home.root / "secret").write_text("canary")
    script = f"cat {home.root}/secret; cat /proc/*/environ /proc/*/cmdline; ls /proc"
    result = run(backend, "sh", "-c", script)
    assert b"canary" not in result.stdout
    pids = [int(word) for word in result.stdout.decode(errors="replace").split() if word.isdigit()]
    assert os.getpid() not in pids


def test_granted_variables_and_folders_arrive(backend: DockerBackend, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    folder.chmod(0o777)
    shared = Bind(str(folder), str(folder), writable=True)
    result = run(backend, "sh", "-c", f'echo "$GIVEN" > {folder}/f', env=(("GIVEN", "x y"),), binds=(shared,))
    assert result.ok
    assert (folder / "f").read_text() == "x y\n"


def test_memory_is_bounded_and_the_result_says_that_it_was(backend: DockerBackend) -> None:
    code = "x = bytearray(150 * 2**20); print(len(x))"
    assert python(backend, code).ok
    result = python(backend, code, memory_bytes=64 << 20)
    if any("memory limit" in loss for loss in result.assurance.losses):  # Podman on control groups of version 1
        assert (result.cause, result.exit_code) == (Cause.EXIT, 137)
        return
    assert (result.cause, result.signal) == (Cause.OOM, 9)
    assert [denial.hint for denial in result.denials] == ["memory_bytes"]


def test_processes_are_bounded(backend: DockerBackend) -> None:
    code = (
        "import os, time\nn = 0\n"
        "try:\n    while n < 60:\n        if os.fork() == 0: time.sleep(60); os._exit(0)\n        n += 1\n"
        "except OSError as e: print('refused')\nprint(n, flush=True); os._exit(0)"
    )
    assert python(backend, code).stdout == b"60\n"
    refused, number = python(backend, code, processes=20).stdout.decode().split()
    assert refused == "refused"
    assert int(number) < 20


def test_a_double_forked_process_does_not_outlive_the_time_limit(backend: DockerBackend, client: Any) -> None:
    """It leaves its session, closes its streams and ignores every signal it can."""
    code = (
        "import os, signal, time\n"
        "for s in range(1, 65):\n"
        "    try: signal.signal(s, signal.SIG_IGN)\n"
        "    except (OSError, ValueError): pass\n"
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(600)\n    os._exit(0)\n"
        "print('early', flush=True)\nos.closerange(0, 3)\ntime.sleep(600)"
    )
    result = python(backend, code, wall_seconds=5.0)
    assert (result.cause, result.signal, result.stdout) == (Cause.TIMEOUT, 9, b"early\n")
    assert result.wall_seconds < 60  # it would go on for 600
    assert containers(client) == []


def test_what_the_main_process_leaves_running_ends_with_it(backend: DockerBackend, client: Any) -> None:
    result = run(backend, "sh", "-c", "sleep 600 & echo done", wall_seconds=60)
    assert (result.stdout, result.cause) == (b"done\n", Cause.EXIT)
    assert result.wall_seconds < 50  # it would go on for 600
    assert containers(client) == []


def test_a_flood_is_cut_and_ends_the_run(backend: DockerBackend, client: Any) -> None:
    for stream in ("stdout", "stderr"):
        redirect = "" if stream == "stdout" else " >&2"
        result = run(backend, "sh", "-c", f"cat /dev/zero{redirect}", output_bytes=5000)
        assert (result.cause, result.signal) == (Cause.OUTPUT_CAP, 9)
        assert len(getattr(result, stream)) == 5000
        assert getattr(result, f"{stream}_truncated")
    assert containers(client) == []


def test_input_goes_in_and_comes_out_whole(backend: DockerBackend, tmp_path: Path) -> None:
    data = os.urandom(700_000)
    assert run(backend, "cat", stdin=data).stdout == data
    assert run(backend, "cat", stdin=b"").stdout == b""
    assert run(backend, "cat").stdout == b""
    (tmp_path / "in").write_bytes(b"from a file")
    with (tmp_path / "in").open("rb") as stream:
        assert run(backend, "cat", stdin=stream.fileno()).stdout == b"from a file"


def test_exit_codes_come_through(backend: DockerBackend) -> None:
    assert run(backend, "sh", "-c", "exit 41").exit_code == 41
    assert run(backend, "sh", "-c", "kill -KILL $$").exit_code == 137
    assert run(backend, "no-such-program").exit_code == 127


def test_several_runs_at_once_do_not_meet(backend: DockerBackend, client: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda n: run(backend, "sh", "-c", f"echo {n} > /tmp/f; cat /tmp/f").stdout, range(4)))
    assert said == [f"{n}\n".encode() for n in range(4)]
    assert containers(client) == []


def test_a_container_of_a_killed_caller_is_removed_by_the_next_start_and_no_other(
    backend: DockerBackend, client: Any, image: str
) -> None:
    foreign = client.create_container(image, ["sleep", "600"], labels={"com.example": "keep"})["Id"]
    started = client.events(filters={"event": "start", "label": OWNER_LABEL}, decode=True)
    child = subprocess.Popen([sys.executable, "-c", SLEEPS, image])
    try:
        orphan = next(started)["id"]
        run(backend, "true")
        assert orphan in containers(client), "a living caller keeps its container"
        child.send_signal(signal.SIGKILL)
        child.wait(120)
        assert orphan in containers(client)
        run(backend, "true")
        assert containers(client) == []
        assert foreign in [each["Id"] for each in client.containers(all=True)]
    finally:
        started.close()
        child.kill()
        child.wait()
        client.remove_container(foreign, force=True)


def test_the_payload_finds_its_policy_as_in_the_native_sandbox(backend: DockerBackend) -> None:
    policy = SandboxPolicy(env=(("API_TOKEN", "hunter2"),), processes=33)
    result = backend.run(RunRequest(("sh", "-c", 'cat "$SKILLKEEP_POLICY"; echo; echo $SKILLKEEP_POLICY'), policy))
    assert result.stdout.decode() == f"{policy_text(policy)}\n{POLICY_FILE}\n"
    assert b"hunter2" not in result.stdout
    attempts = f"for f in {POLICY_FILE} /run/sandbox/new; do (echo x > $f) && echo wrote; rm $f && echo gone; done"
    again = run(backend, "sh", "-c", f"{attempts}; ls /run/sandbox", tool_mount="/tool")
    assert again.stdout == b"policy.json\n"


def test_nothing_of_the_policy_is_left_outside_not_even_by_a_killed_caller(
    backend: DockerBackend, client: Any, image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    run(backend, "true")
    assert os.listdir(tmp_path) == []
    started = client.events(filters={"event": "start", "label": OWNER_LABEL}, decode=True)
    child = subprocess.Popen([sys.executable, "-c", SLEEPS, image])
    try:
        next(started)
        assert len(os.listdir(tmp_path)) == 1
        child.send_signal(signal.SIGKILL)
        child.wait(120)
        assert len(os.listdir(tmp_path)) == 1
        run(backend, "true")
        assert os.listdir(tmp_path) == []
        assert containers(client) == []
    finally:
        started.close()
        child.kill()
        child.wait()


def test_an_interrupt_removes_the_container(backend: DockerBackend, client: Any, image: str) -> None:
    started = client.events(filters={"event": "start", "label": OWNER_LABEL}, decode=True)
    child = subprocess.Popen([sys.executable, "-c", SLEEPS, image], stderr=subprocess.DEVNULL)
    try:
        next(started)
        child.send_signal(signal.SIGINT)
        child.wait(120)
        assert containers(client) == []
    finally:
        started.close()
        child.kill()
        child.wait()


def test_an_image_that_is_not_there_is_never_pulled(image: str) -> None:
    state = DockerBackend("registry.example.invalid/none:1").probe()
    assert not state.available
    assert "docker pull" in state.mend


def test_an_image_with_volumes_is_refused(client: Any, image: str) -> None:
    container = client.create_container(image, ["true"])["Id"]
    made = client.commit(container, changes="VOLUME /data")["Id"]
    try:
        state = DockerBackend(made).probe()
    finally:
        client.remove_container(container)
        client.remove_image(made, force=True)
    assert not state.available
    assert "volumes" in state.reason


def test_a_runtime_that_the_engine_does_not_have_is_named(image: str) -> None:
    state = DockerBackend(image, runtime="runsc-none").probe()
    assert not state.available
    assert "runsc-none" in state.reason


def test_a_missing_bind_is_an_error_and_not_a_new_folder(backend: DockerBackend, tmp_path: Path, client: Any) -> None:
    from skillkeep.runner.errors import RunnerError

    with pytest.raises(RunnerError) as caught:
        run(backend, "true", binds=(Bind(str(tmp_path / "missing"), "/data"),))
    assert caught.value.code == "bad_policy"
    assert not (tmp_path / "missing").exists()
    assert containers(client) == []


def configured(home: Home, image: str) -> None:
    home.config.write_text(f'[sandbox]\ndocker_image = "{image}"\n')


def test_skill_run_uses_the_container_when_asked_and_says_all_of_it_in_json(home: Home, image: str) -> None:
    make_tool(home, "tool", FILES, Tier.UNKNOWN)
    configured(home, image)
    done = run_command("skill", "run", "--json", "--backend", "docker", "tool", "run", "--json", home=home.root)
    assert done.code == 0
    assert (done.json["ok"], done.json["schema"], done.json["backend"]) == (True, "skillkeep/run-v1", "docker")
    assert done.json["stdout"] == "hello --json\n"
    assert done.json["assurance"]["level"] == "bounded"
    assert json.loads((home.runs / done.json["run_id"] / "run.json").read_text())["result"]["backend"] == "docker"


def test_skill_run_gives_the_tools_own_streams_and_code(home: Home, image: str) -> None:
    make_tool(home, "tool", {"run.sh": "cat; echo oops >&2; exit 7\n"}, Tier.UNKNOWN)
    configured(home, image)
    done = run_command("skill", "run", "--backend", "docker", "tool", "run", home=home.root, stdin=b"in")
    assert (done.code, done.out, done.err) == (7, "in", "oops\n")
    late = run_command(
        "skill", "run", "--backend=docker", "--timeout", "1", "tool", "--", "sleep", "60", home=home.root
    )
    assert late.code == 124
    assert "time limit" in late.err


def test_doctor_finds_the_engine(home: Home, image: str) -> None:
    configured(home, image)
    done = run_command("runner", "doctor", "--json", home=home.root)
    found = {each["backend"]: each for each in done.json["backends"]}
    assert found["docker"]["available"]
    with contextlib.suppress(KeyError):
        assert "run as root" not in found["docker"]["mend"]
