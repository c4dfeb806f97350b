"""From patterns to files that are there: regular ones, changed while the job ran, and never more than can be read."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .name_patterns import Path, components, expression, is_known

MOST_ENTRIES = 50_000  # names in folders that are looked at, for one job
MOST_FOUND = 4_000
SLACK = 120.0  # seconds: clocks of nodes and file servers differ, and last lines are written late


class Window(NamedTuple):
    """When the job ran, as far as it is known. *owner*: only files that this user may read count; None: all."""

    start: float | None = None
    end: float | None = None
    owner: int | None = None

    def fits(self, facts: os.stat_result) -> bool:
        """Return whether a file was last changed while the job ran, and may be shown to its owner."""
        return not self.too_old(facts) and not self.too_new(facts) and self.allows(facts)

    def too_old(self, facts: os.stat_result) -> bool:
        """Return whether the file was finished before the job began."""
        return self.start is not None and facts.st_mtime < self.start - SLACK

    def too_new(self, facts: os.stat_result) -> bool:
        """Return whether somebody wrote to the file after the job."""
        return self.end is not None and facts.st_mtime > self.end + SLACK

    def allows(self, facts: os.stat_result) -> bool:
        """Return whether the job's owner may read the file: root must not be led to another's by a link."""
        return self.owner is None or facts.st_uid == self.owner or bool(facts.st_mode & 0o004)


class Found(NamedTuple):
    """A regular file, with what its name tells."""

    path: str
    facts: os.stat_result
    values: Mapping[str, str]


@dataclass
class Walk:
    """Looks into folders; *left* is how many names it may still look at."""

    left: int = MOST_ENTRIES
    unreadable: list[str] = field(default_factory=list)

    def files(self, path: Path) -> Iterator[Found]:
        """Yield the regular files that *path* may mean, whenever they were changed. Links to such files count."""
        if is_known(path):
            found = regular("".join(str(piece) for piece in path))
            if found is not None:
                yield Found("".join(str(piece) for piece in path), found, {})
            return
        names = list(components(path))
        count = 0
        for name, values in self._below("/" if names[0] == () else ".", names[names[0] == () :], {}):
            facts = regular(name)
            if facts is not None:
                yield Found(name, facts, values)
                count += 1
            if count >= MOST_FOUND:
                return

    def _below(self, folder: str, names: list[Path], values: Mapping[str, str]) -> Iterator[tuple[str, dict[str, str]]]:
        first, *rest = names
        if is_known(first):
            here = os.path.join(folder, *(str(piece) for piece in first)) if first else folder
            found = [(here, dict(values))]
        else:
            found = self._matching(folder, first, values)
        for path, told in found:
            if rest:
                yield from self._below(path, rest, told)
            else:
                yield path, told

    def _matching(self, folder: str, name: Path, values: Mapping[str, str]) -> list[tuple[str, dict[str, str]]]:
        """Return what lies in *folder* under such a name, sorted. Hidden files are not meant by an open beginning."""
        wanted = expression(name)
        hidden = isinstance(name[0], str)
        out = []
        for entry in self._names(folder):
            match = wanted.fullmatch(entry) if hidden or not entry.startswith(".") else None
            if match:
                told = {key: value for key, value in match.groupdict().items() if value}
                out.append((os.path.join(folder, entry), {**values, **told}))
        return sorted(out)

    def _names(self, folder: str) -> list[str]:
        out: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if self.left <= 0:
                        break
                    self.left -= 1
                    out.append(entry.name)
        except OSError as error:
            if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
                self.unreadable.append("%s: %s" % (folder, (error.strerror or "cannot be read").lower()))
        return out


def regular(path: str) -> os.stat_result | None:
    """Return the facts of a regular file, None for anything else or nothing."""
    with contextlib.suppress(OSError, ValueError):
        facts = os.stat(path)
        return facts if stat.S_ISREG(facts.st_mode) else None
    return None
