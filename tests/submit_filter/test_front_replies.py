"""What the front reads of a reply, field by field, against a second reading and against the Python that writes it."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Callable, Sequence

from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Change, FileFacts, Reply

from tests.submit_filter.front_parts import Row, wrong

NONCE, HASH = b"nonce of a test".ljust(16, b"\0"), b"hash of a test".ljust(32, b"\0")
Fields = Sequence[tuple[int, bytes]]
MUST = [(1, NONCE), (2, HASH), (3, b"\1")]
VALUES = [b"", b"\0", b"\1", b"\4", b"\5", b"\3\3", b"srun x\n", b"a\0b", b"0f", b"0f" * 32, b"0f" * 32 + b"0", b"0F"]
MAX_SCRIPT = 4 << 20
# The values by which a field refuses the whole reply.
REFUSED: dict[int, Callable[[bytes], bool]] = {
    1: lambda value: value != NONCE,
    2: lambda value: value != HASH,
    3: lambda value: len(value) != 1 or value > b"\4",
    4: lambda value: not 0 < len(value) <= MAX_SCRIPT,
    5: lambda value: b"\0" in value,
    8: lambda value: not value,
    9: lambda value: not 0 < len(value) <= MAX_SCRIPT,
    10: lambda value: b"\0" in value,
}


def test_each_field_of_a_reply_is_taken_or_refuses_it() -> None:
    """Every field with every value, before and behind those that a reply must have; and each of these missing."""
    replies: list[Fields] = [*itertools.permutations(MUST), *itertools.combinations(MUST, 2)]
    for tag, value, at in itertools.product(range(1, 19), [*VALUES, NONCE, HASH], range(4)):
        replies.append([*MUST[:at], (tag, value), *MUST[at:]])
    replies += [[*MUST[:2], (3, bytes((verdict,)))] for verdict in range(256)]
    replies += [[*MUST, *[(tag, b"x")] * times] for tag in (5, 10, 12, 15) for times in (2, 63, 64, 65)]
    replies += [[*MUST, (16, b"x" * size)] for size in (16383, 16384, 16385)]
    replies += [[*MUST, (4, b"x" * size)] for size in (MAX_SCRIPT, MAX_SCRIPT + 1)]
    assert wrong("reply", {(_frame(fields),): _read(fields) for fields in replies}) == []


def test_a_reply_cut_short_or_too_long_is_refused() -> None:
    """At every byte, with the size that it had, and with its own unless a field ends there that may be the last."""
    fields = [*MUST, (4, b"srun x\n"), (5, b"sbatch")]
    frame = _frame(fields)
    body, wholes = frame[8:], {len(_frame(fields[:number])) - 8 for number in range(3, 6)}
    expected: dict[Row, object] = {
        (frame,): _read(fields),
        (frame + b"\0",): "refused",
        (b"MPQ1" + frame[4:],): "refused",
    }
    for size in range(len(body)):
        expected[(frame[: 8 + size],)] = "refused"
        if size not in wholes:
            expected[(b"MPR1" + struct.pack(">I", size) + body[:size],)] = "refused"
    assert wrong("reply", expected) == []


def test_the_front_reads_what_python_writes() -> None:
    """Each part of a reply there and not there, all with all."""
    file, other = FileFacts(b"/x", b"1 2"), FileFacts(b"/y", b"")
    offer = Change(b"srun y\n", (b"sbatch", b""), b"{2}")
    whole = Reply(NONCE, HASH, Change(b"srun x\n", (b"sbatch", b"a b"), b"{1}"), b"says", offer=offer)
    whole = whole._replace(conditions=(file,), learnt=b"learnt", read="0f", read_unless=(other,), earlier=b"earlier")
    names = ("change", "say", "offer", "conditions", "learnt", "read", "read_unless", "earlier")
    expected: dict[Row, object] = {}
    for parts in itertools.product((whole, Reply(NONCE, HASH)), repeat=len(names)):
        chosen = {name: getattr(part, name) for name, part in zip(names, parts, strict=True)}
        reply = whole._replace(**chosen, question=b"so?" if chosen["offer"] else b"")
        frame = frames.pack_reply(reply)
        assert frames.unpack_reply(frame) == reply
        expected[(frame,)] = _shown(reply)
    assert wrong("reply", expected) == []


def _frame(fields: Fields) -> bytes:
    body = b"".join(struct.pack(">II", tag, len(value)) + value for tag, value in fields)
    return b"MPR1" + struct.pack(">I", len(body)) + body


def _read(fields: Fields) -> str:
    """Return what there is to be read of a reply, "refused" for one that must not be believed."""
    tags = [tag for tag, _ in fields]
    if not {1, 2, 3} <= set(tags) or any(REFUSED[tag](value) for tag, value in fields if tag in REFUSED):
        return "refused"
    last, behind = dict(fields), fields[1 + max(tags.index(1), tags.index(2)) :]
    records = [value for tag, value in behind if tag == 14 and re.fullmatch(rb"[0-9a-f]{1,64}", value)]
    earlier = [value for tag, value in behind if tag == 16 and len(value) <= 16384]
    changes = [
        Change(last.get(script), tuple(value for tag, value in fields if tag == word), last.get(audit, b""))
        for script, word, audit in ((4, 5, 7), (9, 10, 11))
    ]
    head = (last[3] in (b"\1", b"\3"), 8 in last, last[3] == b"\4", tags.count(12), min(64, tags.count(15)))
    texts = (last.get(6, b""), last.get(8, b""), last.get(13, b""), (earlier or [b""])[-1])
    return _line(head, (records or [b""])[-1].decode(), changes, texts)


def _shown(reply: Reply) -> str:
    """Return what there is to be read of what Python would write."""
    head = (bool(reply.change), bool(reply.offer), reply.ask_helper, len(reply.conditions), len(reply.read_unless))
    texts = (reply.say, reply.question, reply.learnt, reply.earlier)
    return _line(head, reply.read, [reply.change or Change(), reply.offer or Change()], texts)


def _line(head: tuple[bool, bool, bool, int, int], record: str, changes: list[Change], texts: tuple[bytes, ...]) -> str:
    """Return the line that front_parts.c prints."""
    words = [[change.script or b"", change.audit, *(change.argv or ())] for change in changes]
    shown = ["/".join(word.hex() for word in row) for row in words] + [text.hex() for text in texts]
    return " ".join(["%d%d%d" % head[:3], "%d" % head[3], "%d" % head[4], record, *shown])
