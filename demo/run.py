"""The main job on real input: three skills in a git repository go in, two come out and run in the sandbox.

Run it by `make demo`. With a git URL in the environment variable SOURCE it does the same for that repository.
Uses a temporary Skillkeep home unless SKILLKEEP_HOME is set. Exits 0 only when everything went as it should.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from git_http import make_repository, serve

from skillkeep.files import remove_tree

HERE = Path(__file__).resolve().parent
COMMANDS = Path(sys.executable).parent
CONNECT = (
    'import socket, sys; sys.tracebacklimit = 0; socket.create_connection(("127.0.0.1", {port}), 2); print("connected")'
)


@dataclass(frozen=True)
class Stage:
    """Runs commands the way a person at this terminal would, with the demo's home."""

    env: dict[str, str]

    def show(self, *argv: str, stdin: Path | None = None, expect: tuple[int, ...] = (0,)) -> None:
        """Print a command, run it, and stop the demo when its exit code is not an expected one."""
        shown = shlex.join(argv) + (f" < {os.path.relpath(stdin, HERE.parent)}" if stdin else "")
        print(f"\n$ {shown}", flush=True)
        with open(stdin or os.devnull, "rb") as source:
            code = subprocess.run(argv, env=self.env, stdin=source, check=False).returncode
        if code not in expect:
            sys.exit(f"demo: exit code {code}, expected {' or '.join(map(str, expect))}")
        if code:
            print(f"(exit code {code})", flush=True)


@contextmanager
def stage(keep: bool) -> Iterator[Stage]:
    """Give a stage whose home is SKILLKEEP_HOME, or a temporary one that goes away unless it is to be kept."""
    given = os.environ.get("SKILLKEEP_HOME")
    home = Path(given) if given else Path(tempfile.mkdtemp(prefix="skillkeep-demo-"))
    path = f"{COMMANDS}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        yield Stage({**os.environ, "PATH": path, "SKILLKEEP_HOME": str(home)})
    finally:
        if keep:
            print(
                f"\nThe home of this demo is {home}; to go on with it: export SKILLKEEP_HOME={shlex.quote(str(home))}"
            )
        elif not given:
            remove_tree(home)


def say(*lines: str) -> None:
    """Print lines of explanation."""
    print("", *(f"# {line}" for line in lines), sep="\n", flush=True)


def tell_the_story(on: Stage, url: str) -> None:
    """Ingest, list, run, try to escape, verify."""
    port = url.rsplit(":", 1)[1].split("/")[0]
    connect = CONNECT.format(port=port)
    say(
        "A stranger's repository with three skills, served over HTTP by git's own http-backend.",
        "Two are clean and are vaulted; settings-sync reads SSH keys and is refused, whatever one asks for.",
    )
    on.show("skill", "ingest", url, "--all", "--confirm", expect=(20,))
    on.show("vault", "list")

    say("A vaulted skill runs on real input in the native sandbox, after its digest has been checked.")
    on.show("skill", "run", "word-count", "word_count.py", "--top", "5", stdin=HERE.parent / "LICENSE")
    on.show("skill", "run", "csv-summary", "csv_summary.py", stdin=HERE / "data" / "planets.csv")

    say("This program reaches the demo's web server from the host; in the sandbox there is no network at all.")
    on.show("python3", "-c", connect)
    on.show("skill", "run", "word-count", "--", "python3", "-c", connect, expect=(1,))

    say("What was refused is not in the vault, so it cannot run.")
    on.show("skill", "run", "settings-sync", "sync.py", expect=(126, 127))

    say("Every byte in the vault is what was approved, and the journal of all this is unbroken.")
    on.show("vault", "verify")
    on.show("skill", "journal", "verify")


def demo_of_ours() -> None:
    """The demo on its own repository."""
    with stage(keep=False) as on, tempfile.TemporaryDirectory(prefix="skillkeep-demo-git-") as folder:
        make_repository(HERE / "skills", Path(folder) / "demo.git")
        with serve(Path(folder)) as url:
            tell_the_story(on, f"{url}/demo.git")
    print("\nThat was the whole pipeline: fetched, quarantined, audited without being run, vaulted, sandboxed.")


def demo_of_yours(source: str) -> None:
    """Ingest a repository that the user named and say how to run what got in."""
    with stage(keep=True) as on:
        on.show("skill", "ingest", source, "--all", "--confirm", expect=(0, 10, 20))
        on.show("vault", "list")
        on.show("skill", "status")
        say("To run a vaulted tool: skill run NAME ENTRY [ARGS...], or skill run NAME -- COMMAND [ARGS...]")


if __name__ == "__main__":
    chosen = os.environ.get("SOURCE", "")
    if chosen:
        demo_of_yours(chosen)
    else:
        demo_of_ours()
