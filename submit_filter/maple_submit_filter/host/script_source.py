"""The script, found and read just as the real command will; `front/source.c` does the same and says why."""

from __future__ import annotations

import os
import resource
import stat
from typing import Mapping, NamedTuple, Optional, Sequence

from ..request.slurm.command_line import Words
from .frames import MAX_SCRIPT

_FOLDERS = (b"/dev/fd/", b"/proc/self/fd/")


class Source(NamedTuple):
    """The bytes and how they came: "file", "stdin", "wrap" or "fd". *target*: the descriptor they are read from.

    *end*: where reading a file on fd 0 would stop, -1 otherwise.
    """

    script: bytes
    came: str
    path: bytes = b""
    target: int = -1
    end: int = -1


def read(words: Words, argv: Sequence[bytes], environment: Mapping[bytes, bytes]) -> Optional[Source]:
    """Return the script, None where it is better left unread. May raise `OSError`: then it was not read either."""
    if words.came == "wrap":
        return Source(argv[words.word][words.offset :], "wrap")
    if words.came == "stdin":
        return _stdin()
    path = argv[words.word]
    target = _descriptor(path)
    if target >= 0:
        piped = stat.S_ISFIFO(os.fstat(target).st_mode)
        if piped and words.as_named:
            return None  # qsub refuses it, and given back from memory it would be a regular file
        script = _drain(target) if piped else _regular(path)
        return None if script is None else Source(script, "fd", path, target)
    found = path if words.as_named else _find(path, words.chdir, environment)
    script = _regular(found) if found else None
    return None if script is None else Source(script, "file", path)


def give(target: int, script: bytes) -> bool:
    """Put *script* where the real command reads it: behind descriptor *target*."""
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
        return False
    memory = os.memfd_create("maple")
    _write(memory, script)
    os.lseek(memory, 0, os.SEEK_SET)
    os.dup2(memory, target)
    os.close(memory)
    return True


def _drain(target: int) -> Optional[bytes]:
    """Read a pipe to its end and give it back; whatever fails, what was read is handed on."""
    if not hasattr(os, "memfd_create") or not give_possible():
        return None
    memory = os.memfd_create("maple")  # before a byte is read: there is a place for them
    parts = []
    while True:
        part = os.read(target, 65536)
        if not part:
            break
        parts.append(part)
    script = b"".join(parts)
    try:
        _write(memory, script)
    except OSError:
        _pump(script, target)
        return None
    os.lseek(memory, 0, os.SEEK_SET)
    os.dup2(memory, target)
    os.close(memory)
    return script if len(script) <= MAX_SCRIPT else None


def _write(fd: int, script: bytes) -> None:
    view = memoryview(script)
    while view:
        view = view[os.write(fd, view) :]


def _pump(script: bytes, target: int) -> None:
    """There was no memory to keep the script in: a child hands it on, so nothing is lost."""
    out, into = os.pipe()
    if os.fork() == 0:
        os.close(out)
        try:
            _write(into, script)
        finally:
            os._exit(0)
    os.close(into)
    os.dup2(out, target)
    os.close(out)


def give_possible() -> bool:
    """Return whether no limit on file sizes would end us while memory is written."""
    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def _stdin() -> Optional[Source]:
    kind = os.fstat(0)
    if stat.S_ISFIFO(kind.st_mode) or stat.S_ISSOCK(kind.st_mode):
        script = _drain(0)
        return None if script is None else Source(script, "stdin", b"", 0)
    if not stat.S_ISREG(kind.st_mode) or kind.st_size > MAX_SCRIPT:
        return None
    at = os.lseek(0, 0, os.SEEK_CUR)
    script = os.pread(0, MAX_SCRIPT + 1, at)
    return Source(script, "stdin", b"", 0, at + len(script)) if len(script) <= MAX_SCRIPT else None


def _descriptor(path: bytes) -> int:
    if path == b"/dev/stdin":
        return 0
    for folder in _FOLDERS:
        digits = path[len(folder) :]
        if path.startswith(folder) and digits.isdigit() and len(digits) < 7:
            return int(digits)
    return -1


def _regular(path: bytes) -> Optional[bytes]:
    kind = os.stat(path)
    if not stat.S_ISREG(kind.st_mode) or kind.st_size > MAX_SCRIPT:
        return None
    fd = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        script = os.pread(fd, MAX_SCRIPT + 1, 0)
    finally:
        os.close(fd)
    return script if len(script) <= MAX_SCRIPT else None


def _look(path: bytes) -> int:
    """Return 1 for a regular file, 0 for nothing, -1 for anything else."""
    try:
        return 1 if stat.S_ISREG(os.stat(path).st_mode) else -1
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _find(name: bytes, chdir: Optional[bytes], environment: Mapping[bytes, bytes]) -> Optional[bytes]:
    """Return the file sbatch would open: looked up in -D (else here), then PATH, then here; "." and "/" stand as is."""
    if name[:1] in (b".", b"/"):
        return name
    first = os.path.join(chdir if chdir is not None else b".", name)
    there, here = _look(first), os.path.join(b".", name)
    if there:
        agreed = chdir is None or _look(here) != 1 or os.path.samefile(first, here)
        return first if there == 1 and agreed else None
    for folder in environment.get(b"PATH", b"").split(b":"):
        there = _look(os.path.join(folder, name)) if folder else 0
        if there:
            return os.path.join(folder, name) if there == 1 else None
    return here if _look(here) == 1 else None
