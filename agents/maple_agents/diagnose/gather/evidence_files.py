"""All files of a job that may hold evidence: its output, what its script and launchers write, core files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Optional

from ..values import LogFile
from . import name_patterns
from .launch_files import Role, Sought
from .name_patterns import FoundFile, Walk, Window, regular

MOST = 200  # files that are read for one job
MOST_MISSED = 10  # lines on files that the script names and that are not there
_FIRST = ("error-file", "stderr", "both", "rank", "stdout", "trace", "scheduler")
_SAME_FILE = ("stdout", "stderr")


@dataclass
class Gathered:
    """Files in the order in which they are worth reading; lines for people."""

    window: Window
    nodes: tuple[str, ...] = ()
    walk: Walk = field(default_factory=Walk)
    logs: list[LogFile] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seen: dict[tuple[int, int], int] = field(default_factory=dict)

    def given(self, logs: Iterable[LogFile]) -> None:
        """Add files that the user named, as they are."""
        for log_file in logs:
            facts = regular(log_file.path)
            if facts is not None:
                self.seen[facts.st_dev, facts.st_ino] = len(self.logs)
                self.logs.append(log_file)

    def output(self, path: name_patterns.Path, role: Role, about: str) -> bool:
        """Add a job's own output, whatever its age: a line says what is odd about it. Return whether it is there."""
        name = name_patterns.text(path)
        files = sorted(self.walk.files(path), key=lambda file: file.facts.st_mtime)
        if not files:
            self.missing.append(absent(name, about))
            return False
        newest = files[-1]
        if not self.window.allows(newest.facts):
            self.missing.append("%s (%s): it is another user's" % (newest.path, about))
            return False
        if self.window.too_old(newest.facts):
            self.missing.append("%s (%s): last written at %s, before the job started" % (
                newest.path, about, _clock(newest.facts)))  # fmt: skip
            return False
        if self.window.too_new(newest.facts):
            self.notes.append("%s was written at %s, after the job's end: another job may have written it" % (
                newest.path, _clock(newest.facts)))  # fmt: skip
        self._add(newest, role, about)
        return True

    def never_began(self) -> None:
        """Say that the script never began; what was opened before that failed is empty and tells nothing."""
        self.logs = [
            log_file
            for log_file in self.logs
            if not (log_file.about.endswith(" of the job") and _is_empty(log_file.path))
        ]
        says = "Slurm could not start the script (exit 0:53): mostly a file for its output or errors cannot be opened"
        self.missing.insert(0, says)

    def sought(self, wanted: Iterable[Sought]) -> None:
        """Add what was changed while the job ran of the files that the script and its launchers write."""
        asked = list(wanted)
        self._sought([wanted_file for wanted_file in asked if not wanted_file.shared])
        if not self.logs:
            self._sought([wanted_file for wanted_file in asked if wanted_file.shared])

    def _sought(self, wanted: Iterable[Sought]) -> None:
        taken: list[tuple[FoundFile, Sought]] = []
        before = len(self.missing)
        for sought in wanted:
            if not sought.path:
                self.missing.append("%s: it is not known where that is" % sought.about)
                continue
            files = [file for file in self.walk.files(sought.path) if self._of_a_node(file)]
            fitting = [(file, sought) for file in files if self.window.fits(file.facts)]
            if sought.alone and len(fitting) > 1:
                says = "%s (%s): which of %d files is this job's is not known; name it: --log FILE"
                self.missing.append(says % (name_patterns.text(sought.path), sought.about, len(fitting)))
                continue
            taken += fitting
            if sought.named and not fitting:
                self._not_found(sought, files)
        more = len(self.missing) - before - MOST_MISSED
        if more > 0:
            self.missing[before + MOST_MISSED :] = ["%d further files that the script names are not there" % more]
        taken.sort(key=lambda pair: _order(pair[0], pair[1]))
        room = MOST - len(self.logs)
        kept = 0
        for file, sought in taken:
            kept += kept < room and self._add(file, sought.role, sought.about)
        if len(taken) > room:
            self.notes.append("%d further log files are not read" % (len(taken) - room))

    def _of_a_node(self, file: FoundFile) -> bool:
        """Return whether a file whose name tells a node tells one of the job's."""
        node = file.values.get("node")
        return not node or not self.nodes or node.partition(".")[0] in _short(self.nodes)

    def _not_found(self, sought: Sought, files: Sequence[FoundFile]) -> None:
        name = name_patterns.text(sought.path)
        if not files:
            self.missing.append(absent(name, sought.about))
        elif not self.window.allows(files[0].facts):
            self.missing.append("%s (%s): it is another user's" % (name, sought.about))
        else:
            when = "before the job began" if self.window.too_old(files[0].facts) else "after the job's end"
            self.missing.append("%s (%s): it was last written at %s, %s" % (
                files[0].path, sought.about, _clock(files[0].facts), when))  # fmt: skip

    def _add(self, file: FoundFile, role: Role, about: str) -> bool:
        """Add a file once; one that both streams go to is of both."""
        if len(self.logs) >= MOST:
            return False
        key = (file.facts.st_dev, file.facts.st_ino)
        if key in self.seen:
            before = self.logs[self.seen[key]]
            if {before.role, role} == set(_SAME_FILE):
                self.logs[self.seen[key]] = LogFile(before.path, "both", before.rank, before.node, before.about)
            return False
        self.seen[key] = len(self.logs)
        attempt = ", ".join("%s %s" % (name, file.values[name]) for name in ("attempt", "local") if name in file.values)
        about = about + (" (%s)" % attempt.replace("local", "local rank") if attempt else "")
        rank = self._rank(file)
        own: Role = "rank" if role == "both" and rank is not None else role
        self.logs.append(LogFile(file.path, own, rank, self._node(file), about))
        return True

    def _rank(self, file: FoundFile) -> Optional[int]:
        """Return the rank that the name tells; on one node the local rank is the rank."""
        rank = file.values.get("rank") or (file.values.get("local") if len(self.nodes) == 1 else None)
        return int(rank) if rank and rank.isdigit() and len(rank) < 9 else None

    def _node(self, file: FoundFile) -> str:
        node = file.values.get("node", "")
        if node or file.values.get("any") in _short(self.nodes):
            return node or file.values["any"]
        place = file.values.get("place", "")
        return self.nodes[int(place)] if place.isdigit() and int(place) < len(self.nodes) else ""

    def cores(self, folders: Iterable[str]) -> None:
        """Name core files: they are evidence, and are not read."""
        for folder in dict.fromkeys(folders):
            for path in (("%s/core" % folder,), ("%s/core." % folder, name_patterns.ANY)):
                for file in self.walk.files(path):
                    if self.window.fits(file.facts) and file.facts.st_size > 0:
                        self.notes.append("a process left a core file: %s (%d MiB, %s)" % (
                            file.path, file.facts.st_size >> 20, _clock(file.facts)))  # fmt: skip


def _is_empty(path: str) -> bool:
    facts = regular(path)
    return facts is None or facts.st_size == 0


def _short(nodes: Iterable[str]) -> set[str]:
    return {name.partition(".")[0] for name in nodes}


def _order(file: FoundFile, sought: Sought) -> tuple[object, ...]:
    """Error files first; then by kind; of equal ones rank 0, and those that fell silent first."""
    rank = file.values.get("rank") or file.values.get("local") or ""
    empty = file.facts.st_size == 0
    return (_FIRST.index(sought.role), empty, rank not in ("", "0"), file.facts.st_mtime, len(rank), rank, file.path)


def absent(path: str, about: str) -> str:
    """Return a line on why nothing can be read at *path*."""
    folder = os.path.dirname(path) or "."
    if path.startswith("/dev/"):
        return "%s (%s): it is kept nowhere" % (path, about)
    if "*" not in path and os.path.isdir(path):
        return "%s (%s): is a folder" % (path, about)
    if "*" not in path and os.path.lexists(path) and regular(path) is None:
        return "%s (%s): is no regular file" % (path, about)
    if "*" not in folder and not os.path.isdir(folder):
        if _is_closed(folder):
            return "%s (%s): permission denied" % (path, about)
        return "%s (%s): there is no folder %s here; it may lie on a node, or is deleted" % (path, about, folder)
    return "%s (%s): there is no such file; it may be deleted, never written, or lie on a node's own disk" % (
        path,
        about,
    )


def _is_closed(folder: str) -> bool:
    """Return whether it is not ours to see if there is such a folder."""
    try:
        os.stat(folder)
    except PermissionError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _clock(facts: os.stat_result) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(facts.st_mtime))
