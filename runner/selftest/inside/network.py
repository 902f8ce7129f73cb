"""Attacks by sockets: families with faults of their own, the host's services, other sandboxes."""

from __future__ import annotations

import contextlib
import os
import socket
import struct

from skillkeep.runner.selftest.inside.harness import ABSENT, OPEN, Answer, attack, closed, facts, opened, register

AREA = "network"
_OWN_NETWORK = {"docker": "the container has a network of its own, with a loopback and nothing else"}
_LOOPBACK_ONLY = frozenset({"inet", "inet6"})
_FAMILIES = {
    "inet": (2, "anyone"),
    "inet6": (10, "anyone"),
    "netlink": (16, "anyone"),
    "packet": (17, "root"),
    "ax25": (3, "none"),
    "ipx": (4, "none"),
    "appletalk": (5, "none"),
    "x25": (9, "none"),
    "rds": (21, "none"),
    "pppox": (24, "none"),
    "llc": (26, "none"),
    "can": (29, "none"),
    "tipc": (30, "none"),
    "bluetooth": (31, "none"),
    "rxrpc": (33, "none"),
    "phonet": (35, "none"),
    "ieee802154": (36, "none"),
    "caif": (37, "none"),
    "alg": (38, "none"),
    "nfc": (39, "none"),
    "vsock": (40, "none"),
    "kcm": (41, "none"),
    "qipcrtr": (42, "none"),
    "smc": (43, "none"),
    "xdp": (44, "none"),
    "mctp": (45, "none"),
}


def _family(number: int) -> Answer:
    seen = set()
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(number, kind).close()
        except OSError as error:
            seen.add(error.strerror)
        else:
            return opened(f"type {kind}")
    return closed(", ".join(sorted(map(str, seen))))


for _name, (_number, _control) in _FAMILIES.items():
    register(
        "family_" + _name,
        AREA,
        "a socket of the family " + _name,
        lambda number=_number: _family(number),  # type: ignore[misc]
        _control,
        _OWN_NETWORK if _name in _LOOPBACK_ONLY else None,
    )


@attack(AREA, "raw sockets", control="root")
def raw_socket() -> Answer:
    """ICMP by hand."""
    return _kinds(socket.AF_INET, socket.SOCK_RAW, 1)


# name: type and number; each has had faults that gave root, and the kernel loads a missing one for whoever asks.
_PROTOCOLS = {
    "MPTCP": (socket.SOCK_STREAM, 262),
    "SCTP": (socket.SOCK_STREAM, 132),
    "SMC": (socket.SOCK_STREAM, 256),
    "UDP-Lite": (socket.SOCK_DGRAM, 136),
    "L2TP": (socket.SOCK_DGRAM, 115),
}


@attack(AREA, "internet protocols besides TCP and UDP (MPTCP, SCTP, SMC, UDP-Lite, L2TP)")
def other_protocols() -> Answer:
    """One socket of each."""
    found = [
        name
        for name, (kind, number) in _PROTOCOLS.items()
        for family in (socket.AF_INET, socket.AF_INET6)
        if _kinds(family, kind, number)[0] == OPEN
    ]
    return opened(found) if found else closed("none can be made")


def _kinds(family: int, kind: int, protocol: int) -> Answer:
    try:
        socket.socket(family, kind, protocol).close()
    except OSError as error:
        return closed(error.strerror)
    return opened("made")


def _reach(family: int, kind: int, address: object) -> Answer:
    try:
        with contextlib.closing(socket.socket(family, kind)) as end:
            end.settimeout(2)
            end.connect(address)  # type: ignore[arg-type]
            end.send(b"selftest")
            if kind == socket.SOCK_DGRAM:
                return opened("sent") if end.recv(8) else closed("no answer")
            return opened("connected")
    except OSError as error:
        return closed(error.strerror or error)


@attack(AREA, "reach a TCP service on the host's loopback")
def host_loopback_tcp() -> Answer:
    """The selftest listens there."""
    return _reach(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", facts["tcp_port"]))


@attack(AREA, "reach a UDP service on the host's loopback")
def host_loopback_udp() -> Answer:
    """The selftest listens there and answers."""
    return _reach(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", facts["udp_port"]))


@attack(AREA, "reach an abstract UNIX socket of the host")
def host_abstract() -> Answer:
    """The selftest listens there."""
    return _reach(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + facts["abstract"])


@attack(AREA, "reach a UNIX socket of the host by its path")
def host_socket_path() -> Answer:
    """The selftest listens there, in a folder that everybody may enter."""
    return _reach(socket.AF_UNIX, socket.SOCK_STREAM, facts["socket_path"])


@attack(
    AREA,
    "reach a program of the host that listens at a socket in a granted folder",
    intended={
        "*": "a granted folder is given whole: no layer tells a socket in it from one that the sandbox made there"
    },
)
def granted_socket() -> Answer:
    """The selftest listens there."""
    if not facts.get("writable"):
        return ABSENT, "no granted folder in this run"
    return _reach(socket.AF_UNIX, socket.SOCK_STREAM, facts["writable"] + "/socket")


@attack(
    AREA,
    "find the container engine's, D-Bus's or X's socket",
    control="none",
    intended={"landlock": "paths can be asked for without namespaces; there is no socket to reach them by"},
)
def well_known_sockets() -> Answer:
    """Paths under which they lie on most machines."""
    found = [
        path
        for path in (
            "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
            "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/user", "/run/udev/control",
            "/tmp/.X11-unix",  # noqa: S108
            "/run/snapd.socket", "/run/skillkeep",
        )
        if os.path.exists(path)
    ]  # fmt: skip
    return opened(found) if found else closed("none is there")


@attack(AREA, "reach the cloud's metadata service", control="none")
def metadata_service() -> Answer:
    """169.254.169.254."""
    return _reach(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80))


@attack(AREA, "send data out in names that are looked up (DNS)", control="none")
def dns() -> Answer:
    """A question to a resolver by hand, to the documentation's network."""
    question = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\x07invalid\x00" + struct.pack(">HH", 1, 1)
    try:
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as end:
            end.settimeout(1)
            end.sendto(question, ("192.0.2.53", 53))
    except OSError as error:
        return closed(error.strerror)
    return opened("sent")


@attack(AREA, "use a network interface other than the loopback")
def interfaces() -> Answer:
    """Names of all interfaces, from /proc (no socket is needed to read it)."""
    with open("/proc/net/dev", encoding="utf-8") as file:
        names = {line.split(":")[0].strip() for line in file if ":" in line}
    return opened(sorted(names)) if names - {"lo"} else closed(sorted(names))


@attack(AREA, "watch the host's connections (/proc/net/tcp)")
def host_connections() -> Answer:
    """The selftest's own listening port would be in the table."""
    with open("/proc/net/tcp", encoding="utf-8") as file:
        table = file.read()
    return opened("the table") if ":{:04X} ".format(facts["tcp_port"]) in table else closed("not its table")


@attack(AREA, "hand a descriptor to another sandbox or the host by SCM_RIGHTS", control="none")
def no_peer() -> Answer:
    """Every socket that the payload was started with."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            goal = os.readlink("/proc/self/fd/" + name)
            if goal.startswith("socket:"):
                found.append(name)
    return opened(found) if found else closed("no socket came along")


@attack(
    AREA,
    "bind and listen inside, for others to connect to",
    intended={
        "*": "a UNIX socket inside the sandbox is seen by the sandbox alone; multiprocessing and asyncio need it"
    },
)
def unix_socket_inside() -> Answer:
    """socketpair, bind, listen."""
    if not hasattr(socket, "AF_UNIX"):
        return ABSENT, "no AF_UNIX"
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as end:
        end.bind(f"\0selftest-inside-{os.getpid()}")
        end.listen()
    return opened("listening")
