"""Where a file lies: a write-ahead log needs memory that all who open the database share: a local disk's."""

from __future__ import annotations

import contextlib
import os
import re

# Names that statfs(2) has for file systems of this host alone. One that is not known may be shared: it counts as so.
LOCAL = frozenset(
    ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "rootfs", "tmpfs", "xfs", "zfs")
)


def on_network(path: str, mounts: str = "/proc/self/mounts") -> bool:
    """Return whether the folder of *path* may lie on a network file system.

    The longest mount point above it says; of two on one point the later, which lies on top.
    """
    folder = os.path.realpath(os.path.dirname(path) or ".")
    best, kind = "", ""
    with contextlib.suppress(OSError), open(mounts, encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            words = line.split()
            point = _unescaped(words[1]) if len(words) > 2 else ""
            if point and (folder + "/").startswith(point.rstrip("/") + "/") and len(point) >= len(best):
                best, kind = point, words[2]
    return kind not in LOCAL


def _unescaped(point: str) -> str:
    """Blanks and backslashes stand as three octal digits in the table of mounts."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point)
