"""A log file as blocks of whole lines: opened without ever waiting, read to where it ended when it was opened.

Files may be compressed, in UTF-16, still growing, cut short meanwhile, or no files at all.
"""

from __future__ import annotations

import codecs
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .limits import Limits

GZIP = b"\x1f\x8b"
BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be", codecs.BOM_UTF8: ""}
EMPTY = "is empty"  # what is said of a log that was read, and holds nothing
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KINDS = {stat.S_IFDIR: "is a directory", stat.S_IFIFO: "is a pipe", stat.S_IFSOCK: "is a socket"}


class Block(NamedTuple):
    """Whole lines, the last of a file perhaps without its line feed. *skipped*: line feeds before it, not searched."""

    data: bytes
    skipped: int = 0


@dataclass
class Opened:
    """A file that is read once, through `blocks`. *wrong* and *bytes* are complete when that is at its end."""

    path: str
    wrong: str = ""
    bytes: int = 0
    modified: float = 0.0
    size: int = 0
    _fd: int = field(default=-1, repr=False)

    def blocks(self, limits: Limits) -> Iterator[Block]:
        """Yield the file's blocks. What goes wrong on the way ends it, and stands in *wrong*; nothing is raised."""
        if self._fd < 0:
            return
        try:
            yield from _whole_lines(self._decoded(limits), limits, self._note)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            self._note("not read to its end: %s" % _reason(error))
        finally:
            os.close(self._fd)
            self._fd = -1

    def _note(self, what: str) -> None:
        self.wrong = self.wrong or what

    def _decoded(self, limits: Limits) -> Iterator[Block]:
        start = os.pread(self._fd, 4, 0)
        if start.startswith(GZIP):
            yield from self._unpacked(limits)
            return
        mark = next((bom for bom in BOMS if start.startswith(bom)), b"")
        os.lseek(self._fd, len(mark), os.SEEK_SET)
        self.bytes = len(mark)
        yield from _recoded(self._plain(limits), BOMS.get(mark, ""))

    def _plain(self, limits: Limits) -> Iterator[Block]:
        ends = limits.searched // 2
        unsearched = 0
        while self.bytes < self.size:
            data = os.read(self._fd, min(limits.block, self.size - self.bytes))
            if not data:
                self._note("became shorter while it was read")
                return
            self.bytes += len(data)
            if self.size > limits.searched and ends <= self.bytes < self.size - ends:
                self._note("longer than %d MiB: its middle was not searched" % (limits.searched >> 20))
                unsearched += data.count(b"\n")
                continue
            yield Block(data, unsearched)
            unsearched = 0

    def _unpacked(self, limits: Limits) -> Iterator[Block]:
        """Yield what is unpacked, piece by piece: also of an archive that ends too early, or of several in a row."""
        unpacker = zlib.decompressobj(31)
        while packed := os.read(self._fd, limits.block):
            while packed:
                data = unpacker.decompress(packed, limits.block)
                self.bytes += len(data)
                yield Block(data)
                if self.bytes >= limits.searched:
                    self._note("unpacks to more than %d MiB: the rest was not read" % (limits.searched >> 20))
                    return
                packed = unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail
                if unpacker.eof and packed.startswith(GZIP):
                    unpacker = zlib.decompressobj(31)
                elif unpacker.eof:
                    return  # what follows is padding
        if not unpacker.eof:
            self._note("not read to its end: the archive ends too early")


def opened(path: str) -> Opened:
    """Open *path* without waiting; where it cannot be read, *wrong* says why. Links are followed, as the user would."""
    try:
        fd = _regular(path)
    except (OSError, ValueError) as error:
        return Opened(path, _reason(error))
    known = os.fstat(fd)
    return Opened(path, "" if known.st_size else EMPTY, 0, known.st_mtime, known.st_size, fd)


def _regular(path: str) -> int:
    """Return a descriptor of the file. Looked at before it is opened: opening a device may already do something."""
    _check(os.stat(path).st_mode)
    fd = os.open(path, FLAGS)
    try:
        _check(os.fstat(fd).st_mode)
    except OSError:
        os.close(fd)
        raise
    return fd


def _check(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(_KINDS.get(stat.S_IFMT(mode), "is no plain file"))


def _reason(error: Exception) -> str:
    """Return the error in one line without the path, which stands beside it."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())[:200] or type(error).__name__


def _recoded(blocks: Iterator[Block], encoding: str) -> Iterator[Block]:
    """Yield the blocks in UTF-8."""
    if not encoding:
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    for block in blocks:
        yield Block(decoder.decode(block.data).encode("utf-8", "replace"), block.skipped)
    yield Block(decoder.decode(b"", True).encode("utf-8", "replace"))


def _whole_lines(blocks: Iterator[Block], limits: Limits, tell: Callable[[str], None]) -> Iterator[Block]:
    """Yield blocks cut behind line feeds. A line that is too long is cut out in its middle."""
    begun, skipped = b"", 0
    for block in blocks:
        skipped += block.skipped
        if block.skipped:
            begun = b""
        end = block.data.rfind(b"\n") + 1
        if end:
            yield Block(begun + block.data[:end], skipped)
            begun, skipped = block.data[end:], 0
        else:
            begun += block.data
        if len(begun) > limits.line:
            tell("has a line longer than %d KiB, of which only both ends were read" % (limits.line >> 10))
            begun = begun[: limits.line // 4] + begun[-limits.line // 4 :]
    if begun:
        yield Block(begun, skipped)
