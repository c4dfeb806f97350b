"""The two tools of the agent, a file tree and a file reader, inside the job's own folder and nowhere else.

They read as the user, few and small regular files. No link leads out of the folder, hidden files are not shown, and
secrets are masked line by line, so that a line has its number still.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ...base.secrets.masking import masked_lines
from ..user_files import content

MOST_FILES, MOST_BYTES = 20, 256 * 1024  # that are read for one job, in all
MOST_NAMES, DEEPEST = 200, 4  # of the tree
TEXTS = (".py", ".sh", ".yaml", ".yml", ".json", ".toml", ".cfg", ".ini", ".conf", ".gin", ".sbatch", ".slurm", ".pbs")


class Folder:
    """The folder of a job. *seen*: the lines of each file that was read, by its path below the folder."""

    def __init__(self, top: str) -> None:
        self._top = os.path.realpath(top)
        self._left = MOST_BYTES
        self.seen: dict[str, tuple[str, ...]] = {}

    def tree(self) -> str:
        """Return the paths of files that may be read, one a line."""
        return "\n".join(sorted(self._names(self._top, "", 0))[:MOST_NAMES])

    def read(self, path: str) -> str | None:
        """Return a file with its lines numbered from 1; None where it may not be read, or it would be too much."""
        name = os.path.normpath(path)
        if name not in self.seen:
            lines = self._lines(name)
            if lines is None:
                return None
            self.seen[name] = lines
        return "\n".join("%d: %s" % pair for pair in enumerate(self.seen[name], start=1))

    def _lines(self, name: str) -> tuple[str, ...] | None:
        if os.path.isabs(name) or not _is_shown(name) or len(self.seen) >= MOST_FILES:
            return None
        whole = os.path.realpath(os.path.join(self._top, name))
        if not whole.startswith(self._top.rstrip("/") + "/"):
            return None
        data = content(whole)
        if data is None or len(data) > self._left or b"\0" in data:
            return None
        self._left -= len(data)
        return tuple(masked_lines(data.decode("utf-8", "replace")).split("\n"))

    def _names(self, folder: str, below: str, depth: int) -> Iterator[str]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)[:MOST_NAMES]
        except OSError:
            return
        for entry in entries:
            name = below + entry.name
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self._names(entry.path, name + "/", depth + 1) if depth < DEEPEST else ()
            elif entry.is_file(follow_symlinks=False) and _is_shown(name):
                yield name


def _is_shown(name: str) -> bool:
    parts = name.split("/")
    return name.lower().endswith(TEXTS) and not any(part.startswith(".") for part in parts)
