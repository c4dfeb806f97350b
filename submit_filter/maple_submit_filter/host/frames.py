"""Request and reply, length-prefixed: what the front and whoever answers it say to each other.

A frame is a magic of four bytes, the size of the rest, then fields: tag, size, bytes. Numbers have four bytes, big end
first. Fields that are not known are skipped, so either side may be newer. `front/frame.c` has the other half.
"""

from __future__ import annotations

import os
import struct
from typing import Iterator, List, NamedTuple, Optional, Tuple

from ..types.submission import Submission

REQUEST = b"MPQ1"
REPLY = b"MPR1"
LEARNT = b"MPL1"
MAX_REQUEST = 8 << 20
MAX_REPLY = 20 << 20
MAX_SCRIPT = 4 << 20
MAX_WORDS = 65536
MAX_FIELDS = MAX_WORDS + 4096  # reading more of them takes as long as reading megabytes
CAME = ("none", "file", "stdin", "wrap", "fd")

(_NONCE, _HASH, _SCHEDULER, _ARGV, _CWD, _UID, _ENVIRONMENT, _SCRIPT, _CAME, _PATH, _FLAGS, _WORD, _OFFSET) = range(
    1, 14
)
_DEADLINE, _EARLIER = 14, 16
(_VERDICT, _NEW_SCRIPT, _NEW_ARGV, _SAY, _AUDIT, _QUESTION, _OFFER_SCRIPT, _OFFER_ARGV, _OFFER_AUDIT) = range(3, 12)
_CONDITION, _LEARNT = 12, 13
_READ, _READ_UNLESS = 14, 15
_REPLY_EARLIER = 16
_AS_WRITTEN, _CHANGED, _IF_UNCHANGED, _ASK_HELPER = 0, 1, 2, 4  # a verdict; an older front takes none but the first two
_MAY_ASK, _TERMINAL = 1, 2


class FrameError(ValueError):
    """The bytes are not a frame of this kind."""


class Request(NamedTuple):
    """What the front asks. *hash* is the SHA-256 of the script's bytes, *nonce* names this one question.

    *word*, *offset*: which word of argv names the script or holds the `--wrap` command, and where in it that begins.
    *may_ask*: the user can be asked; *terminal*: text would be seen. *earlier*: what the daemon knows of earlier jobs,
    as its reply had it, where the helper is asked in its place.
    """

    nonce: bytes
    hash: bytes
    submission: Submission
    word: int = 0
    offset: int = 0
    may_ask: bool = False
    terminal: bool = False
    deadline: int = 0  # milliseconds that the front waits for the daemon, 0 not said
    earlier: bytes = b""


class FileFacts(NamedTuple):
    """A file that a decision depends on, as it was. *facts*: device, inode, size and times as text, b"" for none."""

    path: bytes
    facts: bytes


class Change(NamedTuple):
    """New bytes for the script and new words for argv; None leaves them. *audit* is the line kept if it is made."""

    script: Optional[bytes] = None
    argv: Optional[Tuple[bytes, ...]] = None
    audit: bytes = b""


class Reply(NamedTuple):
    """What is answered. *change* None: submit as written. *offer* is made instead, if the user says yes to *question*.

    *audit* is the line kept when nothing is changed; *say* is shown on a terminal. The reply holds only while the files
    of *conditions* are as they were. *ask_helper*: the daemon cannot decide, because it opens no file of a user's; the
    helper can, and what it learnt (*learnt*, in the words of `learnt`) is carried back by the front. *read*: the record
    whose files the user's own process should read, unless all of *read_unless* are as they were; the front starts it.
    *earlier*: what the helper has to know of earlier jobs (in the words of `earlier`), where it comes to be asked.
    """

    nonce: bytes
    hash: bytes
    change: Optional[Change] = None
    say: bytes = b""
    audit: bytes = b""
    question: bytes = b""
    offer: Optional[Change] = None
    conditions: Tuple[FileFacts, ...] = ()
    ask_helper: bool = False
    learnt: bytes = b""
    read: str = ""
    read_unless: Tuple[FileFacts, ...] = ()
    earlier: bytes = b""


def receive(fd: int, size: int) -> bytes:
    """Return the next *size* bytes of *fd*; raises `EOFError` where it ends before."""
    parts = []
    while size > 0:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError("the other side hung up")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def send(fd: int, data: bytes) -> None:
    """Write all of *data* to *fd*."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _field(tag: int, value: bytes) -> bytes:
    return struct.pack(">II", tag, len(value)) + value


def _number(tag: int, value: int) -> bytes:
    return _field(tag, struct.pack(">I", value))


def _frame(magic: bytes, fields: List[bytes]) -> bytes:
    body = b"".join(fields)
    return magic + struct.pack(">I", len(body)) + body


def size_of(head: bytes, magic: bytes, most: int) -> int:
    """Return how many bytes follow the first eight of a frame. `FrameError`: another kind, or too long."""
    if len(head) != 8 or head[:4] != magic:
        raise FrameError("not a frame of this kind")
    size: int = struct.unpack(">I", head[4:])[0]
    if size > most:
        raise FrameError("a frame of %d bytes is too long" % size)
    return size


def _fields(frame: bytes, magic: bytes, most: int) -> Iterator[Tuple[int, bytes]]:
    if size_of(frame[:8], magic, most) != len(frame) - 8:
        raise FrameError("the frame is cut short or too long")
    at, number = 8, 0
    while at < len(frame):
        number += 1
        if number > MAX_FIELDS:
            raise FrameError("more than %d fields" % MAX_FIELDS)
        if len(frame) - at < 8:
            raise FrameError("a field is cut short")
        tag, size = struct.unpack(">II", frame[at : at + 8])
        at += 8
        if size > len(frame) - at:
            raise FrameError("a field is cut short")
        yield tag, frame[at : at + size]
        at += size


def _read_number(value: bytes) -> int:
    if len(value) != 4:
        raise FrameError("a number has four bytes")
    number: int = struct.unpack(">I", value)[0]
    return number


def pack_request(request: Request) -> bytes:
    """Return the frame of *request*."""
    submission = request.submission
    fields = [
        _field(_NONCE, request.nonce),
        _field(_HASH, request.hash),
        _field(_SCHEDULER, submission.scheduler.encode()),
        *[_field(_ARGV, word) for word in submission.argv],
        _field(_CWD, submission.cwd),
        _number(_UID, submission.uid),
        *[_field(_ENVIRONMENT, name + b"=" + value) for name, value in submission.environment.items()],
        _field(_SCRIPT, submission.script or b""),
        _field(_CAME, submission.came.encode()),
        _field(_PATH, submission.path),
        _number(_FLAGS, (_MAY_ASK if request.may_ask else 0) | (_TERMINAL if request.terminal else 0)),
        _number(_WORD, request.word),
        _number(_OFFSET, request.offset),
        _number(_DEADLINE, request.deadline),
        *([_field(_EARLIER, request.earlier)] if request.earlier else []),
    ]
    return _frame(REQUEST, fields)


def unpack_request(frame: bytes) -> Request:
    """Return the request in *frame*; raises `FrameError`."""
    single: dict[int, bytes] = {}
    argv: List[bytes] = []
    environment: dict[bytes, bytes] = {}
    for tag, value in _fields(frame, REQUEST, MAX_REQUEST):
        if tag == _ARGV:
            argv.append(value)
        elif tag == _ENVIRONMENT:
            name, _, text = value.partition(b"=")
            environment.setdefault(name, text)  # getenv() finds the first of two
        else:
            single[tag] = value
    came = single.get(_CAME, b"").decode("ascii", "replace")
    if len(single.get(_NONCE, b"")) != 16 or len(single.get(_HASH, b"")) != 32 or came not in CAME or not argv:
        raise FrameError("the request lacks a field")
    flags = _read_number(single.get(_FLAGS, b"\0\0\0\0"))
    submission = Submission(
        scheduler=single.get(_SCHEDULER, b"slurm").decode("ascii", "replace"),
        argv=tuple(argv),
        script=single.get(_SCRIPT),
        came=came,
        path=single.get(_PATH, b""),
        cwd=single.get(_CWD, b""),
        uid=_read_number(single.get(_UID, b"\0\0\0\0")),
        environment=environment,
    )
    word = _read_number(single.get(_WORD, b"\0\0\0\0"))
    offset = _read_number(single.get(_OFFSET, b"\0\0\0\0"))
    may_ask, terminal = bool(flags & _MAY_ASK), bool(flags & _TERMINAL)
    deadline = _read_number(single.get(_DEADLINE, b"\0\0\0\0"))
    made = Request(single[_NONCE], single[_HASH], submission, word, offset, may_ask, terminal, deadline)
    return made._replace(earlier=single.get(_EARLIER, b""))


def pack_reply(reply: Reply) -> bytes:
    """Return the frame of *reply*."""
    fields = [_field(_NONCE, reply.nonce), _field(_HASH, reply.hash)]
    fields.append(_field(_VERDICT, bytes((_verdict(reply),))))
    fields += [_field(_READ, reply.read.encode())] if reply.read else []  # stands first: it holds whatever follows
    fields += [_field(_READ_UNLESS, file_facts.path + b"\0" + file_facts.facts) for file_facts in reply.read_unless]
    fields += [_field(_REPLY_EARLIER, reply.earlier)] if reply.earlier else []
    fields += [_field(_CONDITION, file_facts.path + b"\0" + file_facts.facts) for file_facts in reply.conditions]
    fields += [_field(_LEARNT, reply.learnt)] if reply.learnt else []
    fields += [_field(_SAY, reply.say)] if reply.say else []
    change, offer = reply.change or Change(), reply.offer or Change()
    audit = change.audit if reply.change else reply.audit
    fields += [_field(_AUDIT, audit)] if audit else []
    fields += [_field(_NEW_SCRIPT, change.script)] if change.script is not None else []
    fields += [_field(_NEW_ARGV, word) for word in change.argv or ()]
    if reply.offer and reply.question:
        fields.append(_field(_QUESTION, reply.question))
        fields += [_field(_OFFER_SCRIPT, offer.script)] if offer.script is not None else []
        fields += [_field(_OFFER_ARGV, word) for word in offer.argv or ()]
        fields += [_field(_OFFER_AUDIT, offer.audit)] if offer.audit else []
    return _frame(REPLY, fields)


def _verdict(reply: Reply) -> int:
    if reply.ask_helper:
        return _ASK_HELPER
    return (_CHANGED if reply.change else _AS_WRITTEN) | (_IF_UNCHANGED if reply.conditions else 0)


def unpack_learnt(frame: bytes) -> Tuple[bytes, bytes]:
    """Return the nonce of the question and what a helper learnt of it; raises `FrameError`."""
    single = dict(_fields(frame, LEARNT, MAX_REPLY))
    if len(single.get(_NONCE, b"")) != 16 or _LEARNT not in single:
        raise FrameError("what was learnt lacks a field")
    return single[_NONCE], single[_LEARNT]


def _facts(fields: List[bytes]) -> Tuple[FileFacts, ...]:
    return tuple(FileFacts(*field.partition(b"\0")[::2]) for field in fields)


def unpack_reply(frame: bytes) -> Reply:
    """Return the reply in *frame*; raises `FrameError`."""
    single: dict[int, bytes] = {}
    words: dict[int, List[bytes]] = {_NEW_ARGV: [], _OFFER_ARGV: [], _CONDITION: [], _READ_UNLESS: []}
    for tag, value in _fields(frame, REPLY, MAX_REPLY):
        if tag in words:
            words[tag].append(value)
        else:
            single[tag] = value
    if len(single.get(_NONCE, b"")) != 16 or len(single.get(_HASH, b"")) != 32:
        raise FrameError("the reply lacks a field")
    if single.get(_VERDICT) not in (b"\0", b"\1", b"\2", b"\3", b"\4"):
        raise FrameError("the reply has no verdict")
    audit = single.get(_AUDIT, b"")
    change = offer = None
    if single[_VERDICT] in (b"\1", b"\3"):
        change = Change(single.get(_NEW_SCRIPT), tuple(words[_NEW_ARGV]) or None, audit)
    if _QUESTION in single:
        offer = Change(single.get(_OFFER_SCRIPT), tuple(words[_OFFER_ARGV]) or None, single.get(_OFFER_AUDIT, b""))
    say, question = single.get(_SAY, b""), single.get(_QUESTION, b"")
    conditions = _facts(words[_CONDITION])
    elsewhere, learnt = single[_VERDICT] == b"\4", single.get(_LEARNT, b"")
    made = Reply(single[_NONCE], single[_HASH], change, say, b"" if change else audit, question, offer)
    made = made._replace(
        read=single.get(_READ, b"").decode("ascii", "replace"), read_unless=_facts(words[_READ_UNLESS])
    )
    made = made._replace(conditions=conditions, ask_helper=elsewhere, learnt=learnt)
    return made._replace(earlier=single.get(_REPLY_EARLIER, b""))
