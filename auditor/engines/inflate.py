"""Decompression of hostile bytes: each inflater stops at `MAX_INFLATED` bytes of output."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import Final

__all__ = ["INFLATERS", "MAX_INFLATED"]

MAX_INFLATED: Final = 1 << 20
_LZMA_MEMORY: Final = 64 << 20


def _zlib(data: bytes) -> bytes:
    return _inflate(data, zlib.MAX_WBITS)


def _raw(data: bytes) -> bytes:
    return _inflate(data, -zlib.MAX_WBITS)


def _gzip(data: bytes) -> bytes:
    return _inflate(data, zlib.MAX_WBITS | 16)


def _inflate(data: bytes, window: int) -> bytes:
    try:
        return zlib.decompressobj(window).decompress(data, MAX_INFLATED)
    except zlib.error as error:
        raise ValueError(str(error)) from error


def _bz2(data: bytes) -> bytes:
    try:
        return bz2.BZ2Decompressor().decompress(data, MAX_INFLATED)
    except OSError as error:
        raise ValueError(str(error)) from error


def _lzma(data: bytes) -> bytes:
    try:
        return lzma.LZMADecompressor(memlimit=_LZMA_MEMORY).decompress(data, MAX_INFLATED)
    except lzma.LZMAError as error:
        raise ValueError(str(error)) from error


# Name of the layer -> bytes to at most `MAX_INFLATED` bytes; each raises `ValueError` on anything malformed.
INFLATERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "zlib": _zlib,
    "deflate": _raw,
    "gzip": _gzip,
    "bz2": _bz2,
    "lzma": _lzma,
}
