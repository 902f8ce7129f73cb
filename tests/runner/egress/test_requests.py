"""What the proxy takes for a request, and that nothing else is one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.runner.egress.allow import Refused
from skillkeep.runner.egress.requests import Asked, Incomplete, parse_greeting, parse_http, parse_socks


def test_a_tunnel_is_asked_for_by_connect() -> None:
    data = b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\nrest"
    assert parse_http(data) == Asked("api.example.com", 443, len(data) - 4)
    assert parse_http(b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\n\r\n").host == "2001:db8::1"


def test_a_plain_request_is_sent_on_for_the_host_that_was_checked() -> None:
    data = (
        b"GET http://api.example.com:8080/a?b=1 HTTP/1.1\r\nHost: evil.example\r\nProxy-Connection: x\r\nA: 1\r\n\r\n"
    )
    asked = parse_http(data)
    assert (asked.host, asked.port, asked.tunnel) == ("api.example.com", 8080, False)
    assert asked.first == b"GET /a?b=1 HTTP/1.1\r\nHost: api.example.com:8080\r\nA: 1\r\nConnection: close\r\n\r\n"
    assert parse_http(b"GET http://a.example HTTP/1.0\r\n\r\n").first.startswith(
        b"GET / HTTP/1.1\r\nHost: a.example\r\n"
    )


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1", b"GET https://a.example/ HTTP/1.1", b"GET ftp://a.example/ HTTP/1.1",
        b"GET http://user@a.example/ HTTP/1.1", b"GET http://a.example:99999/ HTTP/1.1", b"GET http:///x HTTP/1.1",
        b"GET http://a.example\\@b.example/ HTTP/1.1", b"GET http://a.example%2eb/ HTTP/1.1",
        b"GET http://a.example#b/ HTTP/1.1", b"GET http://a.example?b/ HTTP/1.1",
        b"CONNECT a.example HTTP/1.1", b"CONNECT a.example:443/x HTTP/1.1", b"CONNECT a.example:443 HTTP/2",
        b"CONNECT http://a.example:443 HTTP/1.1", b"connect a.example:443 HTTP/1.1", b"CONNECT  a.example:443 HTTP/1.1",
        b"GET http://a.example/ HTTP/1.1\r\nBad Header: x", b"GET http://a.example/ HTTP/1.1\r\nA: 1\r\n folded: x",
        b"GET http://a.example/ HTTP/1.1\r\nA: 1\nHost: b.example", b"GET http://a.example/ HTTP/1.1\r\nA: \0",
    ],
)  # fmt: skip
def test_what_is_not_exactly_a_proxy_request_is_refused(head: bytes) -> None:
    with pytest.raises(Refused):
        parse_http(head + b"\r\n\r\n")


def test_a_head_that_never_ends_is_refused_and_a_short_one_waited_for() -> None:
    with pytest.raises(Incomplete):
        parse_http(b"GET http://a.example/ HTTP/1.1\r\nA: 1\r\n")
    with pytest.raises(Refused):
        parse_http(b"GET http://a.example/ HTTP/1.1\r\nA: " + b"x" * 20_000)


def test_socks_takes_a_name_or_an_address() -> None:
    assert parse_greeting(b"\x05\x02\x01\x00more") == 4
    assert parse_socks(b"\x05\x01\x00\x03\x09a.example\x01\xbbx") == Asked("a.example", 443, 16)
    assert parse_socks(b"\x05\x01\x00\x01\xc0\x00\x02\x01\x00\x50") == Asked("192.0.2.1", 80, 10)
    assert parse_socks(b"\x05\x01\x00\x04" + bytes(15) + b"\x01\x00\x50").host == "::1"
    assert parse_socks(b"\x05\x01\x00\x03\x0ba\x00b.example\x01\xbb").host == "a\x00b.example"[:11]


@pytest.mark.parametrize(
    "data",
    [b"\x04\x01\x00\x01\x00\x00\x00\x00\x00\x00", b"\x05\x02\x00\x01" + bytes(6), b"\x05\x01\x00\x09" + bytes(9)],
)
def test_other_commands_and_versions_are_refused(data: bytes) -> None:
    with pytest.raises(Refused):
        parse_socks(data)
    with pytest.raises(Refused):
        parse_greeting(b"\x05\x01\x02")


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused_or_incomplete(data: bytes) -> None:
    for parse in (parse_http, parse_greeting, parse_socks):
        for each in (data, b"CONNECT " + data + b" HTTP/1.1\r\n\r\n", b"\x05\x01\x00\x03" + data):
            try:
                parse(each)
            except (Incomplete, Refused):
                continue
