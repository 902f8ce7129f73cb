"""Hypothesis strategies for hostile input, in one place."""

from __future__ import annotations

import os

from hypothesis import strategies as st

_NAME_BYTES = st.binary(min_size=1, max_size=12).filter(lambda name: b"/" not in name and b"\0" not in name)
names = _NAME_BYTES.filter(lambda name: name not in {b".", b".."}).map(os.fsdecode)
"""One path component: any bytes a Linux folder can hold, as `surrogateescape` text."""

paths = st.lists(names, min_size=1, max_size=4).map("/".join)
"""A POSIX path below a root."""

hex_digests = st.binary(min_size=32, max_size=32).map(bytes.hex)
