"""Which folders the nodes see: those on a network file system come first, where there are any.

A folder on a disk of this host may be seen elsewhere as well, exported under the same name; so it is not ruled out.
Types are those of /proc/self/mounts (Linux).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

NETWORK = frozenset(
    [
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "fuse.ceph",
        "fuse.glusterfs",
        "fuse.sshfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "nfs",
        "nfs4",
        "orangefs",
        "panfs",
        "pvfs2",
        "smb3",
        "vastnfs",
        "wekafs",
        "dvs",
    ]
)


def shared_first(folders: Sequence[str], mounts: Iterable[str] | None = None) -> list[str]:
    """Return *folders*, those on a network file system first, else in their order. *mounts*: lines of the table."""
    table = _table(_lines() if mounts is None else mounts)
    return sorted(dict.fromkeys(folders), key=lambda folder: kind(folder, table) not in NETWORK)


def kind(folder: str, table: dict[str, str]) -> str:
    """Return the type of the file system that a folder is on, "" where the table does not have it."""
    path = os.path.realpath(folder)
    while path not in table and path != "/":
        path = os.path.dirname(path)
    return table.get(path, "")


def _table(mounts: Iterable[str]) -> dict[str, str]:
    """Return mount point -> type; the last one mounted at a place counts."""
    rows = [line.split(" ") for line in mounts]
    return {row[1].replace("\\040", " "): row[2] for row in rows if len(row) > 2}


def _lines() -> list[str]:
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
            return file.read().split("\n")
    except OSError:
        return []
