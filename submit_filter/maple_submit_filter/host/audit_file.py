"""Where audit lines and counts are kept: the site's spool, lines in the user's own file too; as front/audit.c."""

from __future__ import annotations

import os
import stat
import time
from typing import Iterator, Mapping

from . import own_folders
from .files_in_time import Files

NAMES = 8


def keep(
    audit: bytes, started: float, environment: Mapping[bytes, bytes], conf: Mapping[str, str], files: Files
) -> None:
    """Keep an audit line, if it is one, with the time since the start."""
    if audit[:1] != b"{" or audit[-1:] != b"}":
        return
    line = b'%s,"ms":%d}\n' % (audit[:-1], (time.monotonic() - started) * 1000)
    files.in_time(lambda: _append(line, environment, os.fsencode(conf.get("audit", ""))))


def count_untouched(conf: Mapping[str, str], files: Files) -> None:
    """Count a submission of which nothing is to be said: one byte in the day's file, whose size is their number."""
    spool = os.fsencode(conf.get("audit", ""))
    if spool:
        suffix = time.strftime("%Y-%m-%d.count", time.gmtime()).encode()
        files.in_time(lambda: _append_to_spool(spool, suffix, b"."))


def _append_to_spool(spool: bytes, suffix: bytes, line: bytes) -> bytes:
    if os.path.isdir(spool):
        any(_append_line(os.path.join(spool, name), line) for name in _names(suffix))
    return b"y"


def _append(line: bytes, environment: Mapping[bytes, bytes], spool: bytes) -> bytes:
    if spool:  # first the site's: it lies on this host
        _append_to_spool(spool, b"jsonl", line)
    own = own_folders.made(own_folders.STATE, own_folders.on_submit(own_folders.STATE, environment))
    if own is not None:
        _append_line(os.path.join(own, b"audit.jsonl"), line)
    return b"y"


def _names(suffix: bytes) -> Iterator[bytes]:
    """Names for the spool: anybody may take some of them, and nobody all."""
    uid = b"%d" % os.geteuid()
    yield b"%s.%s" % (uid, suffix)
    for number in range(1, NAMES + 1):
        yield b"%s.%d.%s" % (uid, number, suffix)
    yield b"%s.%s.%s" % (uid, os.urandom(8).hex().encode(), suffix)


def _append_line(path: bytes, line: bytes) -> bool:
    """Write a line to the end of a file; return False where it is none of the user's own."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, flags, 0o600)
    except OSError:
        return False
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_nlink != 1:
            return False
        os.write(fd, line)
        return True
    finally:
        os.close(fd)
