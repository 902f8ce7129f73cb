"""What an address names, and which hosts lie in one's own network."""

from __future__ import annotations

import pytest

from skillkeep.auditor.engines.network import host_of, is_near


@pytest.mark.parametrize(
    "name",
    [
        *("10.1.2.3", "172.31.0.9", "192.168.1.50", "169.254.1.1", "100.100.1.1", "239.1.1.1", "255.255.255.255"),
        *("::1", "[fd00::1]", "printer.local", "nas.lan", "localhost", "host.docker.internal", "*", "127.1"),
        "198.51.100.7.7860",  # five numbers: nobody's
    ],
)
def test_is_in_ones_own_network(name: str) -> None:
    assert is_near(name)


@pytest.mark.parametrize(
    "name",
    [
        *("10.example.invalid", "192.168.example.invalid", "172.32.0.1", "100.128.0.1", "8.8.8.8", "2001:db8::1"),
        *("local.example.invalid", "*.example.invalid", "lan", "mylocal", "0x08080808", "010.1.1.1"),
        *("198.51.100.7.example.invalid", "198.51.100.7", "1.2.3.4.5.x", "x.1.2.3.4.5"),
    ],
)
def test_is_elsewhere(name: str) -> None:
    assert not is_near(name)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("http://127.1/", "127.0.0.1"),
        ("http://0177.0.0.1/", "127.0.0.1"),
        ("http://134744072/", "8.8.8.8"),
        ("http://0x08.8.0x808/", "8.8.8.8"),
    ],
)
def test_addresses_in_other_numbers(text: str, address: str) -> None:
    host = host_of(text)
    assert (host.name, host.bare) == (address, True)


@pytest.mark.parametrize("text", ["//1 comment", "http://999.1.1.1/", "http://08.1.1.1/", "http://1.2.3.4.5/"])
def test_numbers_that_are_no_address(text: str) -> None:
    assert not host_of(text).bare


def test_names_of_documentation() -> None:
    assert host_of("https://api.example.com/x").shown
    assert not host_of("https://example.com.invalid/x").shown
