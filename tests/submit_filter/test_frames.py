"""Frames come back as they went, and what is no frame is refused."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Change, FileFacts, FrameError, Reply, Request
from maple_submit_filter.types.submission import Submission

words = st.binary(max_size=30)
names = st.from_regex(rb"[A-Z_]{1,10}", fullmatch=True)
submissions = st.builds(
    Submission,
    scheduler=st.sampled_from(["slurm", "pbs"]),
    argv=st.lists(words, min_size=1, max_size=6).map(tuple),
    script=st.binary(max_size=300),
    came=st.sampled_from(["file", "stdin", "wrap", "fd"]),
    path=words,
    cwd=words,
    uid=st.integers(0, 2**32 - 1),
    environment=st.dictionaries(names, words, max_size=5),
    whole=st.just(True),  # what the front sends has been submitted
)
requests = st.builds(
    Request,
    nonce=st.binary(min_size=16, max_size=16),
    hash=st.binary(min_size=32, max_size=32),
    submission=submissions,
    word=st.integers(0, 9),
    offset=st.integers(0, 9),
    may_ask=st.booleans(),
    terminal=st.booleans(),
    deadline=st.integers(0, 60_000),
)
some = st.none() | st.binary(min_size=1, max_size=100)
argvs = st.none() | st.lists(words, min_size=1, max_size=4).map(tuple)
changes = st.builds(Change, script=some, argv=argvs, audit=words)


@given(requests)
def test_a_request_comes_back_as_it_went(request: Request) -> None:
    """Any bytes in any field."""
    assert frames.unpack_request(frames.pack_request(request)) == request


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=32, max_size=32), st.none() | changes, words, changes)
def test_a_reply_comes_back_as_it_went(nonce: bytes, digest: bytes, change: object, say: bytes, offer: Change) -> None:
    """With and without a change; an offer has a question."""
    made = change if isinstance(change, Change) else None
    reply = Reply(nonce, digest, made, say, b"" if made else b"audit", b"why?", offer)
    assert frames.unpack_reply(frames.pack_reply(reply)) == reply


paths = st.binary(min_size=1, max_size=20).map(lambda path: path.replace(b"\0", b"x"))


@given(st.lists(st.builds(FileFacts, paths, words), max_size=3), st.none() | changes, words)
def test_the_conditions_of_a_reply_come_back_as_they_went(
    files: list[FileFacts], change: Change | None, learnt: bytes
) -> None:
    """And what was learnt with them."""
    reply = Reply(b"n" * 16, b"h" * 32, change, conditions=tuple(files), learnt=learnt)
    assert frames.unpack_reply(frames.pack_reply(reply)) == reply


def test_a_reply_may_say_that_only_a_helper_can_decide() -> None:
    """The daemon opens no file of a user's."""
    reply = Reply(b"n" * 16, b"h" * 32, ask_helper=True)
    assert frames.unpack_reply(frames.pack_reply(reply)) == reply


@given(requests, st.integers(0, 400), st.binary(max_size=8))
def test_a_mangled_request_is_refused_or_read_but_never_worse(request: Request, at: int, new: bytes) -> None:
    """No other exception than `FrameError` ever."""
    frame = frames.pack_request(request)
    mangled = frame[:at] + new + frame[at + len(new) :]
    with contextlib.suppress(FrameError):
        frames.unpack_request(mangled)


@given(requests, st.integers(1, 40))
def test_a_request_cut_short_is_refused(request: Request, cut: int) -> None:
    """Wherever it ends."""
    frame = frames.pack_request(request)
    with pytest.raises(FrameError):
        frames.unpack_request(frame[:-cut])


def test_a_frame_past_the_bound_is_refused_before_it_is_read() -> None:
    """Its head is enough."""
    with pytest.raises(FrameError):
        frames.size_of(b"MPQ1" + struct.pack(">I", frames.MAX_REQUEST + 1), frames.REQUEST, frames.MAX_REQUEST)
    assert frames.size_of(b"MPQ1" + struct.pack(">I", frames.MAX_REQUEST), frames.REQUEST, frames.MAX_REQUEST)


def test_bounds_have_room_for_what_they_are_for() -> None:
    """A request for the longest script, a reply for two of them and their words; no more than a login node bears."""
    assert 2 * frames.MAX_SCRIPT <= frames.MAX_REQUEST <= 3 * frames.MAX_SCRIPT
    assert 4 * frames.MAX_SCRIPT < frames.MAX_REPLY <= 6 * frames.MAX_SCRIPT
    with pytest.raises(FrameError):
        frames.unpack_reply(b"MPR1" + struct.pack(">I", frames.MAX_REPLY + 1) + bytes(100))


def test_a_field_of_a_later_maple_is_skipped() -> None:
    """So that front and daemon may be of different releases."""
    request = Request(b"n" * 16, b"h" * 32, Submission("slurm", (b"sbatch",), b"x", "file", b"p", b"/", 0, {}))
    frame = frames.pack_request(request)
    more = frame[8:] + struct.pack(">II", 999, 3) + b"new"
    assert frames.unpack_request(frame[:4] + struct.pack(">I", len(more)) + more) == request


def test_of_a_variable_that_is_set_twice_the_first_counts() -> None:
    """As getenv reads it."""
    request = Request(b"n" * 16, b"h" * 32, Submission("slurm", (b"s",), b"", "file", b"", b"", 0, {b"A": b"1"}))
    frame = frames.pack_request(request)
    more = frame[8:] + struct.pack(">II", 7, 3) + b"A=2"
    read = frames.unpack_request(frame[:4] + struct.pack(">I", len(more)) + more)
    assert read.submission.environment == {b"A": b"1"}
