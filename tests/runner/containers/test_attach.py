"""The multiplexed streams of a container, from an engine that may babble, over a socket that splits anywhere."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillkeep.clock import SYSTEM_CLOCK
from skillkeep.runner.containers.attach import FrameReader, Streams, pump
from skillkeep.runner.errors import RunnerError
from skillkeep.runner.interface import Cause


def frame(kind: int, data: bytes) -> bytes:
    return bytes([kind, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, engine = socket.socketpair()
    yield ours, engine
    ours.close()
    engine.close()


def pumped(ours: socket.socket, stdin: bytes | int | None = None, cap: int = 1000, seconds: float = 20.0) -> Streams:
    return pump(ours, stdin, cap, SYSTEM_CLOCK.monotonic() + seconds, SYSTEM_CLOCK.monotonic)


@given(
    frames=st.lists(st.tuples(st.sampled_from([0, 1, 2]), st.binary(max_size=40)), max_size=12),
    cuts=st.lists(st.integers(1, 9), max_size=60),
)
def test_streams_come_apart_the_same_however_the_bytes_are_split(
    frames: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    wire = b"".join(frame(kind, data) for kind, data in frames)
    reader = FrameReader(10_000)
    for cut in cuts:
        reader.feed(wire[:cut])
        wire = wire[cut:]
    reader.feed(wire)
    assert reader.stdout.data == b"".join(data for kind, data in frames if kind == 1)
    assert reader.stderr.data == b"".join(data for kind, data in frames if kind == 2)


@given(st.binary(min_size=8, max_size=200))
def test_bytes_in_no_known_format_are_an_error_or_a_stream_and_never_more(noise: bytes) -> None:
    reader = FrameReader(100)
    with contextlib.suppress(RunnerError):
        reader.feed(noise)
    assert len(reader.stdout.data) + len(reader.stderr.data) <= len(noise) - 8


def test_output_and_end_of_output(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = ends
    engine.sendall(frame(1, b"out") + frame(2, b"err"))
    engine.shutdown(socket.SHUT_WR)
    seen = pumped(ours)
    assert (seen.stdout.data, seen.stderr.data, seen.ended) == (b"out", b"err", Cause.EXIT)


def test_a_flood_is_cut_at_the_cap_and_ends_the_run(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = ends
    engine.sendall(frame(1, b"x" * 5000))
    seen = pumped(ours, cap=1000)
    assert (seen.stdout.data, seen.stdout.truncated, seen.ended) == (b"x" * 1000, True, Cause.OUTPUT_CAP)
    assert not seen.stderr.truncated


def test_exactly_the_cap_is_not_a_flood(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = ends
    engine.sendall(frame(1, b"x" * 1000))
    engine.shutdown(socket.SHUT_WR)
    seen = pumped(ours, cap=1000)
    assert (len(seen.stdout.data), seen.stdout.truncated, seen.ended) == (1000, False, Cause.EXIT)


def test_silence_ends_at_the_deadline(ends: tuple[socket.socket, socket.socket]) -> None:
    assert pumped(ends[0], seconds=0.05).ended is Cause.TIMEOUT


def test_input_larger_than_every_buffer_arrives_whole_and_closed(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = ends
    sent = os.urandom(3_000_000)
    received = bytearray()

    def engine_side() -> None:
        while chunk := engine.recv(65536):
            received.extend(chunk)
        engine.sendall(frame(1, b"done"))
        engine.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=engine_side)
    thread.start()
    seen = pumped(ours, stdin=sent)
    thread.join(20)
    assert bytes(received) == sent
    assert seen.stdout.data == b"done"


def test_input_from_a_descriptor_is_passed_on_until_it_ends(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = ends
    reader, writer = os.pipe()
    os.write(writer, b"typed")
    os.close(writer)
    received = bytearray()

    def engine_side() -> None:
        while chunk := engine.recv(65536):
            received.extend(chunk)
        engine.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=engine_side)
    thread.start()
    pumped(ours, stdin=reader)
    thread.join(20)
    os.close(reader)
    assert bytes(received) == b"typed"


def test_input_that_never_ends_does_not_hold_the_run(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = ends
    reader, writer = os.pipe()
    engine.sendall(frame(1, b"out"))
    engine.shutdown(socket.SHUT_WR)
    assert pumped(ours, stdin=reader).stdout.data == b"out"
    os.close(reader)
    os.close(writer)


def test_a_payload_that_closes_its_input_early_is_no_error(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = ends
    engine.shutdown(socket.SHUT_RD)
    engine.sendall(frame(1, b"out"))
    engine.shutdown(socket.SHUT_WR)
    assert pumped(ours, stdin=b"x" * 1_000_000).stdout.data == b"out"


def test_an_engine_that_babbles_is_a_typed_error(ends: tuple[socket.socket, socket.socket]) -> None:
    ours, engine = ends
    engine.sendall(b"HTTP/1.1 500 Internal Server Error\r\n\r\n")
    with pytest.raises(RunnerError) as caught:
        pumped(ours)
    assert caught.value.code == "backend_failed"
