"""Which names, ports and addresses a grant covers; everything that looks like another host and is not."""

from __future__ import annotations

import errno
import socket

import pytest

from skillkeep.hosts import normal_host, parse_place, place_text
from skillkeep.runner.egress.allow import AllowList, Refused, check_address, refuse_own

LIST = AllowList.of(["api.example.com:443", "*.cdn.example.com:443", "192.0.2.7:8080", "[2001:db8::1]:443"])


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("api.example.com", 443), ("API.Example.COM", 443), ("api.example.com.", 443), ("a.cdn.example.com", 443),
        ("a.b.cdn.example.com", 443), ("192.0.2.7", 8080), ("2001:db8::1", 443), ("2001:0db8:0:0:0:0:0:1", 443),
        ("::ffff:192.0.2.7", 8080),
    ],
)  # fmt: skip
def test_what_was_granted_is_let_through_in_every_spelling(host: str, port: int) -> None:
    assert LIST.check(host, port)


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("api.example.com", 80), ("example.com", 443), ("cdn.example.com", 443), ("api.example.com.evil.example", 443),
        ("evilapi.example.com", 443), ("api.example.com..", 443), ("api.example.com\0.evil.example", 443),
        ("evil.example\0api.example.com", 443), ("user@api.example.com", 443), ("api.example.com@evil.example", 443),
        ("api.example.com:443", 443), ("api.example.com/", 443), ("api.example.com#", 443), ("api.example.com%2f", 443),
        (" api.example.com", 443), ("api.example.com\r\nHost: x", 443), ("аpi.example.com", 443), ("", 443),
        (".", 443), ("-api.example.com", 443), ("192.0.2.7.", 443), ("3221225991", 8080), ("0xc0.0.2.7", 8080),
        ("0300.0.2.7", 8080), ("192.0.519", 8080), ("192.0.2.7.example", 8080), ("fe80::1%eth0", 443), ("[::1]", 443),
        ("api。example。com", 443), ("ＡＰＩ.example.com", 443), ("127.1", 443), ("localhost", 443), ("*", 443),
        ("*.cdn.example.com", 443), ("a" * 254, 443),
    ],
)  # fmt: skip
def test_what_only_looks_like_it_is_refused(host: str, port: int) -> None:
    with pytest.raises(Refused):
        LIST.check(host, port)


@pytest.mark.parametrize(
    "text",
    [
        "api.example.com", "api.example.com:", "api.example.com:0", "api.example.com:65536", "api.example.com:https",
        ":443", "a b:443", "*.example:443", "*:443", "*.*.example.com:443", "http://a.example:80", "2130706433:80",
        "::1:80", "127.1:80", "0:8123", "::ffff:127.0.0.1:80", "a\0b.example:80",
        "api.example.com:４４３",
    ],
)  # fmt: skip
def test_an_entry_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_place(text)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.255.0.3", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "224.0.0.1", "255.255.255.255", "240.0.0.1", "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1",
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "not an address", "fe80::1%1",
        "168.63.129.16", "192.0.0.192", "fec0::1", "64:ff9b:1::a00:1", "::ffff:168.63.129.16",
    ],
)  # fmt: skip
def test_a_granted_name_that_leads_to_a_private_address_is_refused(address: str) -> None:
    with pytest.raises(Refused):
        check_address("api.example.com", address)


def test_a_public_address_is_dialled_as_it_was_found() -> None:
    assert check_address("api.example.com", "93.184.216.34") == "93.184.216.34"
    assert check_address("api.example.com", "2606:2800:220:1::1") == "2606:2800:220:1::1"


def test_an_address_of_this_machine_is_not_dialled_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a host with a public one: what listens there may trust whoever comes from the machine itself."""

    def getsockname(self: socket.socket) -> tuple[str, int]:
        return "93.184.216.34", 40_000

    def bind(self: socket.socket, address: tuple[str, int]) -> None:
        if address[0] != "93.184.216.36":  # a second address
            raise OSError(errno.EADDRNOTAVAIL, "")

    monkeypatch.setattr(socket.socket, "connect", lambda *_: None)
    monkeypatch.setattr(socket.socket, "getsockname", getsockname)
    monkeypatch.setattr(socket.socket, "bind", bind)
    with pytest.raises(Refused, match="which is this machine"):
        refuse_own("api.example.com", "93.184.216.36")
    with pytest.raises(Refused, match="which is this machine"):
        refuse_own("api.example.com", "93.184.216.34")
    refuse_own("api.example.com", "93.184.216.35")
    refuse_own("93.184.216.34", "93.184.216.34")


def test_a_private_address_is_dialled_when_the_grant_names_it() -> None:
    assert check_address("127.0.0.1", "127.0.0.1") == "127.0.0.1"
    assert check_address("localhost", "::1") == "::1"
    assert check_address("10.0.0.9", "::ffff:10.0.0.9") == "10.0.0.9"
    for name, address in (("127.0.0.1", "127.0.0.2"), ("localhost", "10.0.0.1")):
        with pytest.raises(Refused):
            check_address(name, address)


def test_a_normal_host_is_its_own_normal_host() -> None:
    for host in ("api.example.com", "192.0.2.7", "2001:db8::1", "xn--bcher-kva.example", "a_b.example"):
        assert normal_host(host) == host


@pytest.mark.parametrize(
    ("host", "port", "text"),
    [
        ("API.example.com.", 443, "api.example.com:443"),
        ("::1", 80, "[::1]:80"), ("::ffff:10.0.0.9", 80, "10.0.0.9:80"),
        ("2130706433", 80, ""), ("127.1", 80, ""), ("*", 80, ""), ("a\0b.example", 80, ""), ("", 80, ""),
        ("a.example", 0, ""),
    ],
)  # fmt: skip
def test_a_place_that_is_told_can_be_granted(host: str, port: int, text: str) -> None:
    assert place_text(host, port) == text
    if text:
        assert place_text(*parse_place(text)) == text
