"""Which addresses count as installers that vendors document, and which commands as nothing but their use."""

from __future__ import annotations

import pytest

from skillkeep.auditor.engines.installers import is_installer, piped_address, saves_installer


@pytest.mark.parametrize(
    "url",
    [
        "https://sh.rustup.rs",
        "https://bun.sh/install.ps1",
        "get.scoop.sh",
        "https://cursor.com/install?win32=true",
        "https://fly.io/install.ps1",  # the twin for Windows of a listed script
        "https://claude.ai/install.cmd",
        "https://packagecloud.io/install/repositories/ookla/speedtest-cli/script.deb.sh",
    ],
)
def test_documented_addresses_are_known(url: str) -> None:
    assert is_installer(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://sh.rustup.rs.example",
        "http://sh.rustup.rs",
        "https://bun.sh/install.ps1.example",
        "https://bun.sh/installer-of-mine",
        "https://fly.io/other.ps1",
        "https://fly.io.example/install.ps1",
        "https://fly.io/install.exe",
        "https://packagecloud.io/install/repositories/somebody/tool/script.deb.sh",
        "https://astral.sh/uv/../x",
        "https://raw.githubusercontent.com/microsoft/a/refs/pull/1/head/install.sh",
        f"https://raw.githubusercontent.com/microsoft/a/{'a' * 40}/install.sh",
    ],
)
def test_what_only_looks_like_one_is_not(url: str) -> None:
    assert not is_installer(url)


def test_a_pipe_counts_only_when_nothing_else_is_in_it() -> None:
    assert piped_address("curl -fsSL https://bun.sh/install | bash") == "https://bun.sh/install"
    assert piped_address("irm https://bun.sh/install.ps1 | iex") == "https://bun.sh/install.ps1"
    assert not piped_address("curl -fsSL https://bun.sh/install https://example.invalid/a | bash")
    assert not piped_address("curl -fsSL $URL https://bun.sh/install | bash")
    assert not piped_address("curl -fsSL https://bun.sh/install | bash; curl https://example.invalid/a | sh")


def test_a_saved_file_counts_when_every_fetch_of_it_does() -> None:
    first = "curl -fsSL https://bun.sh/install \\\n  -o /tmp/a.sh\n"
    assert saves_installer(first + "sh /tmp/a.sh\n", "/tmp/a.sh")
    assert not saves_installer(first + "curl https://example.invalid/a -o /tmp/a.sh\nsh /tmp/a.sh\n", "/tmp/a.sh")
    assert not saves_installer('curl "$URL" -o /tmp/a.sh\nsh /tmp/a.sh\n', "/tmp/a.sh")
