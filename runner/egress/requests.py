"""What a client of the proxy asks for, in HTTP (CONNECT, or a whole address) or SOCKS5; the bytes are hostile.

One parser takes the first bytes of a connection and says where it wants to go, what is to be sent there first, and
how to answer. Nothing is guessed: what is not exactly a request is refused.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from skillkeep.runner.egress.allow import Refused

__all__ = ["Asked", "Incomplete", "parse_greeting", "parse_http", "parse_socks"]

LONGEST_HEAD = 16_384
_LINE = re.compile(rb"([A-Z]{3,16}) (\S{1,8192}) HTTP/1\.[01]")
_AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]{2,45}\]|[^:@/\[\]\s\\%?#]{1,255})(?::([0-9]{1,5}))?")
_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*")
_DROPPED = (b"host", b"proxy-connection", b"proxy-authorization", b"connection", b"keep-alive", b"upgrade", b"te")
_SOCKS_CONNECT, _SOCKS_V4, _SOCKS_NAME, _SOCKS_V6 = 1, 1, 3, 4


class Incomplete(Exception):  # noqa: N818 -- more bytes are needed
    """The request has not arrived whole."""


@dataclass(frozen=True)
class Asked:
    """Where to go, how many bytes were the request, and what the server there gets to read first."""

    host: str
    port: int
    used: int
    first: bytes = b""
    tunnel: bool = True


def parse_http(data: bytes) -> Asked:
    """The request at the start of `data`. Raises Incomplete, and Refused for anything but a plain proxy request."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        if len(data) > LONGEST_HEAD:
            raise Refused("the request's head is too long")
        raise Incomplete
    lines = data[:end].split(b"\r\n")
    line = _LINE.fullmatch(lines[0])
    if line is None or not all(_HEADER.fullmatch(each) for each in lines[1:]):
        raise Refused("that is not an HTTP request")
    method, target = line[1], line[2].decode("latin-1")
    if method == b"CONNECT":
        host, port = _authority(target, None)
        return Asked(host, port, end + 4)
    scheme, separator, rest = target.partition("://")
    if scheme.lower() != "http" or not separator:
        raise Refused("only http:// addresses and CONNECT are proxied")
    place, slash, path = rest.partition("/")
    host, port = _authority(place, 80)
    kept = [each for each in lines[1:] if each.partition(b":")[0].strip().lower() not in _DROPPED]
    name = f"[{host}]" if ":" in host else host
    head = [
        method + b" " + (slash + path or "/").encode("latin-1") + b" HTTP/1.1",
        f"Host: {name}:{port}".encode("latin-1") if port != 80 else f"Host: {name}".encode("latin-1"),
        *kept,
        b"Connection: close",
    ]
    return Asked(host, port, end + 4, b"\r\n".join(head) + b"\r\n\r\n", tunnel=False)


def parse_greeting(data: bytes) -> int:
    """The length of a SOCKS5 greeting that offers no authentication. Raises Incomplete, Refused."""
    if len(data) < 2 or len(data) < 2 + data[1]:
        raise Incomplete
    if data[0] != 5 or 0 not in data[2 : 2 + data[1]]:
        raise Refused("SOCKS5 without authentication is what is spoken here")
    return 2 + data[1]


def parse_socks(data: bytes) -> Asked:
    """The SOCKS5 request at the start of `data`. Raises Incomplete, Refused."""
    if len(data) < 5:
        raise Incomplete
    version, command, _, kind = data[:4]
    if version != 5 or command != _SOCKS_CONNECT:
        raise Refused("only SOCKS5 CONNECT is proxied")
    sizes = {_SOCKS_V4: 4, _SOCKS_V6: 16, _SOCKS_NAME: 1 + data[4]}
    if kind not in sizes:
        raise Refused("an unknown kind of address")
    end = 4 + sizes[kind]
    if len(data) < end + 2:
        raise Incomplete
    body = data[4:end]
    host = body[1:].decode("latin-1") if kind == _SOCKS_NAME else str(ipaddress.ip_address(body))
    return Asked(host, int.from_bytes(data[end : end + 2], "big"), end + 2)


def _authority(text: str, usual: int | None) -> tuple[str, int]:
    found = _AUTHORITY.fullmatch(text)
    if found is None or (found[2] is None and usual is None):
        raise Refused("that is not HOST:PORT")
    port = usual if found[2] is None else int(found[2])
    if port is None or not 0 < port < 65_536:
        raise Refused("that is not a port")
    return found[1].strip("[]"), port
