"""The stat signature: cheap evidence that a tree verified once has not been touched since.

It is the SHA-256 over device, inode, type and mode, link count, owner, size, mtime and ctime (nanoseconds) of the
object's folder and of every entry below it, with their paths, so also over the set of names. It is taken before and
after a full hash and stored in the registry only if both agree, and only when the newest change is at least
`RACY_NS` old: a change in the same clock tick as the signature would not show (the "racy git" problem).

What it proves against whom:

- A sandboxed tool cannot reach the folder at all; neither can another user (0700 above it).
- Somebody running as the vault's owner can write the files (``chmod`` first), and can set mtime, size and mode
  back as they were (``utimensat``). They cannot set **ctime**: the kernel stamps it at every change of contents,
  mode, owner, times or links. So editing, replacing, adding, removing and renaming all show. To forge it they
  need to set the machine's clock (CAP_SYS_TIME), write the block device below the file system, or keep a writable
  shared mapping of a file open from before the last full hash: stores through a page that is already dirty may
  update no time stamp. The first two are root's; the third is theirs.
- Simpler for that person: they also own the registry, so they can store a signature, or an approval, of their
  own. The signature is therefore no boundary against the vault's owner. ``paranoid`` (``--paranoid``) re-hashes every
  byte against the digest, which defeats all of the above except changing the approval itself, and except writing
  after the check. That last gap is the kernel's to close (fs-verity, a vault owned by another user).
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from skillkeep.value import Value

__all__ = ["RACY_NS", "Signature", "sign_folder"]

RACY_NS = 2_000_000_000  # file systems with one-second stamps exist (ext4 with 128-byte inodes)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Signature(Value):
    """`digest`: 64 hex digits over all entries. `newest_ns`: the latest ctime or mtime among them, Unix ns."""

    digest: str
    newest_ns: int

    def settled_at(self, now_ns: int) -> bool:
        """True when a change from `now_ns` on is sure to get another time stamp than any recorded here."""
        return self.newest_ns < now_ns - RACY_NS


def sign_folder(top: Path) -> Signature:
    """Sign `top` and all below it (one ``stat`` an entry, no file is opened, no link followed). Raises `OSError`."""
    lines: list[bytes] = []
    newest = 0
    root = os.open(top, _FOLDER)
    waiting = [(root, b"")]
    try:
        lines.append(_line(b"", os.fstat(root)))
        while waiting:
            folder, prefix = waiting.pop()
            try:
                for name in os.listdir(folder):
                    info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    path = prefix + os.fsencode(name)
                    lines.append(_line(path, info))
                    newest = max(newest, info.st_ctime_ns, info.st_mtime_ns)
                    if stat.S_ISDIR(info.st_mode):
                        waiting.append((os.open(name, _FOLDER, dir_fd=folder), path + b"/"))
                newest = max(newest, os.fstat(folder).st_ctime_ns)
            finally:
                os.close(folder)
    except BaseException:
        for folder, _ in waiting:
            os.close(folder)
        raise
    lines.sort()
    return Signature(hashlib.sha256(b"".join(lines)).hexdigest(), newest)


def _line(path: bytes, info: os.stat_result) -> bytes:
    facts = (
        info.st_dev,
        info.st_ino,
        info.st_mode,
        info.st_nlink,
        info.st_uid,
        info.st_size,
        info.st_mtime_ns,
        info.st_ctime_ns,
    )
    return b"%s\0%s\n" % (path, " ".join(map(str, facts)).encode("ascii"))
