"""Logs that are no logs, that change, that are huge, that want to reach the terminal or hold secrets."""

from __future__ import annotations

import gzip
import os
import random
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_agents.diagnose.read import Limits, cleaned, read
from maple_agents.diagnose.read.literals import Search
from maple_agents.diagnose.read.log_blocks import opened
from maple_agents.diagnose.read.streams import NOT_UNDERSTOOD
from maple_agents.diagnose.values import Digest, Event, LogFile, Severity, Stream

DEATH = b"[rank3]: RuntimeError: the one that matters\nsrun: error: gpu-node-1: task 3: Exited with exit code 1\n"
STEP = b"2026-11-21 00:32:33,234 INFO trainer: step 12345/99999 loss 2.3456 lr 1.0e-04\n"


def stream(path: Path) -> Stream:
    (one,) = read([LogFile(str(path), "both")]).streams
    return one


def of(folder: Path, data: bytes, **limits: int) -> Digest:
    (folder / "job.log").write_bytes(data)
    return read([LogFile(str(folder / "job.log"), "both")], limits=Limits(**limits))


def event(found: Digest, words: str) -> Event:
    (one,) = [one for one in found.events if words in one.text]
    return one


# --- no logs -------------------------------------------------------------------------------------------------------


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "No such file or directory"),
    "directory": (lambda path: path.mkdir(), "is a directory"),
    "pipe": (_fifo, "is a pipe"),
    "socket": (_socket, "is a socket"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is no plain file"),
    "terminal": (lambda path: path.symlink_to("/dev/tty"), "is no plain file"),
    "loop": (lambda path: path.symlink_to(path), "Too many levels of symbolic links"),
    "empty": (lambda path: path.touch(), "is empty"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.timeout(20)
def test_no_log_is_said_in_one_line(tmp_path: Path, name: str) -> None:
    """Whatever stands in a log's place is said, never waited for, never raised."""
    make, said = WRONG[name]
    make(tmp_path / "job.log")
    assert stream(tmp_path / "job.log").wrong == said


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path: Path) -> None:
    """A log of somebody else is not read, and said so."""
    (tmp_path / "job.log").write_bytes(DEATH)
    (tmp_path / "job.log").chmod(0)
    assert stream(tmp_path / "job.log").wrong == "Permission denied"


def test_unreadable_for_whoever_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same where root runs the tests: the kernel's refusal becomes the line."""
    (tmp_path / "job.log").write_bytes(DEATH)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("maple_agents.diagnose.read.log_blocks.os.open", refuse)
    assert stream(tmp_path / "job.log").wrong == "Permission denied"


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "", "/proc/self/mem"])
def test_odd_names(path: str) -> None:
    """A name that no file can have is one more line."""
    (one,) = read([LogFile(path, "both")]).streams
    assert one.wrong and "\n" not in one.wrong


def test_no_logs_at_all() -> None:
    """Nothing read, nothing told."""
    assert read([]) == Digest()


def test_log_that_is_not_understood_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of the reader's own is said of that log; the others are read."""
    from maple_agents.diagnose.read import streams

    real = streams._read_lines

    def mistaken(story: streams.Story, *rest: Any) -> None:
        if story.stream.file.path.endswith("a"):
            raise KeyError("x")
        real(story, *rest)

    monkeypatch.setattr(streams, "_read_lines", mistaken)
    for name in "ab":
        (tmp_path / name).write_bytes(DEATH)
    found = read([LogFile(str(tmp_path / name), "both") for name in "ab"])
    assert [one.wrong.startswith(NOT_UNDERSTOOD) for one in found.streams] == [True, False]
    assert event(found, "RuntimeError").place.file.endswith("b")


# --- files that change ---------------------------------------------------------------------------------------------


def test_log_that_grows_is_read_to_where_it_was(tmp_path: Path) -> None:
    """A writer that is faster than the reader does not keep it for ever."""
    path = tmp_path / "job.log"
    path.write_bytes(STEP * 100 + DEATH)
    source, size = opened(str(path)), path.stat().st_size
    with path.open("ab") as more:
        more.write(STEP * 1000)
    assert sum(len(block.data) for block in source.blocks(Limits(block=4096))) == size and not source.wrong


def test_log_that_is_cut_short(tmp_path: Path) -> None:
    """What was there is told, and that it became shorter."""
    path = tmp_path / "job.log"
    path.write_bytes(DEATH + STEP * 10_000)
    source = opened(str(path))
    blocks = source.blocks(Limits(block=4096))
    first = next(blocks)
    os.truncate(path, 0)
    assert first.data.startswith(DEATH) and list(blocks) is not None
    assert source.wrong == "became shorter while it was read"


def test_log_that_is_deleted_is_read_on(tmp_path: Path) -> None:
    """A descriptor outlives its name."""
    path = tmp_path / "job.log"
    path.write_bytes(STEP * 100 + DEATH)
    source = opened(str(path))
    path.unlink()
    assert b"".join(block.data for block in source.blocks(Limits(block=4096))).endswith(DEATH) and not source.wrong


def test_log_written_meanwhile(tmp_path: Path) -> None:
    """A writer at work harms nothing."""
    path = tmp_path / "job.log"
    path.write_bytes(DEATH)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            path.write_bytes(DEATH + STEP * random.randrange(3000))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(30):
            assert "\n" not in stream(path).wrong
    finally:
        stop.set()
        writer.join()


def test_error_while_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that fails in the middle ends the reading; what was read is told."""
    path = tmp_path / "job.log"
    path.write_bytes(DEATH + STEP * 60_000)
    real, calls = os.read, []

    def failing(fd: int, count: int) -> bytes:
        calls.append(fd)
        if len(calls) == 2:
            raise OSError(116, "Stale file handle")
        return real(fd, count)

    monkeypatch.setattr("maple_agents.diagnose.read.log_blocks.os.read", failing)
    found = read([LogFile(str(path), "both")])
    assert found.streams[0].wrong == "not read to its end: Stale file handle"
    assert event(found, "RuntimeError").rank == 3


# --- what files hold -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "gz", "gz-two"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """UTF-16 and UTF-8 with a mark, and compressed logs, by what they begin with and not by their name."""
    text = "step 1 ✓\n" * 5000 + DEATH.decode()
    data = {
        "utf-16-le": b"\xff\xfe" + text.encode("utf-16-le"),
        "gz": gzip.compress(text.encode()),
        "gz-two": gzip.compress(text[:100].encode()) + gzip.compress(text[100:].encode()),
    }.get(encoding) or text.encode(encoding)
    found = of(tmp_path, data)
    assert event(found, "RuntimeError").place.line == 5001 and found.streams[0].lines == 5002
    assert found.streams[0].head[0] == "step 1 ✓"


def test_cut_archive(tmp_path: Path) -> None:
    """Of a compressed log that ends too early what is there is read."""
    packed = gzip.compress(DEATH + random.Random(1).randbytes(200_000))
    found = of(tmp_path, packed[: len(packed) // 2])
    assert found.streams[0].wrong.startswith("not read to its end") and event(found, "RuntimeError").place.line == 1


def test_archive_that_unpacks_to_too_much(tmp_path: Path) -> None:
    """A small file that unpacks to a huge one is read to a bound."""
    found = of(tmp_path, gzip.compress(b"0" * 79 + b"\n") * 1000, searched=40_000, block=4096)
    assert found.streams[0].wrong.startswith("unpacks to more") and found.streams[0].bytes <= 48_000


def test_longer_than_is_searched(tmp_path: Path) -> None:
    """Of a log that is too long both ends are searched, and line numbers stay right."""
    found = of(tmp_path, DEATH + STEP * 20_000 + DEATH, searched=400_000, block=4096)
    assert "its middle was not searched" in found.streams[0].wrong and found.streams[0].lines == 20_004
    told = event(found, "RuntimeError")
    assert (told.place.line, told.last.line if told.last else 0, told.count) == (1, 20_003, 2)


def test_line_numbers_are_exact(tmp_path: Path) -> None:
    """A rare line in the middle of a long log is found where it stands, whatever sizes the blocks have."""
    data = STEP * 30_000 + b"Bus error\n" + STEP * 30_000 + DEATH[:-1]
    for block in (1 << 20, 1 << 16, 1000):
        found = of(tmp_path, data, block=block)
        assert event(found, "Bus error").place.line == 30_001
        assert event(found, "RuntimeError").place.line == 60_002 and found.streams[0].lines == 60_003


def test_line_without_end(tmp_path: Path) -> None:
    """Of a line of many megabytes both ends are read; the next line has the next number."""
    found = of(tmp_path, b"x" * (8 << 20) + b"\n" + DEATH)
    assert "a line longer than" in found.streams[0].wrong and event(found, "RuntimeError").place.line == 2
    assert all(len(line) <= 2000 for line in found.streams[0].head)


def test_progress_bar_of_megabytes(tmp_path: Path) -> None:
    """A bar that was drawn for days is one line: its last state, and the traceback behind it."""
    bar = b"".join(b"\r %3d%%|###| %d/200000 [00:01<00:02, 3.1it/s]" % (at // 2000, at) for at in range(200_000))
    found = of(
        tmp_path, bar + b'Traceback (most recent call last):\n  File "/a/b.py", line 3, in f\n    x()\nOSError: gone\n'
    )
    told = event(found, "OSError")
    assert told.place.line == 4 and told.unit[0].startswith("  99%|###| 199999/200000")
    assert found.streams[0].lines == 4


def test_binary_noise(tmp_path: Path) -> None:
    """An error between NULs and random bytes is found."""
    noise = random.Random(7).randbytes(300_000).replace(b"\n", b" ") + b"\0" * 100_000 + b"\n"
    assert event(of(tmp_path, noise + DEATH + noise), "RuntimeError").place.line == 2


@pytest.mark.parametrize(("raw", "shown"), [
    (b"\x1b[31;1mERROR\x1b[0m red", "ERROR red"),
    (b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link", "textlink"),
    (b"\x1bP1$r\x1b\\a\x1b(0b\x1b7c\x1b", "abc"),
    (b"\xc2\x9b31mC1\xc2\x9d0;t\xc2\x9c!", "C1!"),
    (b"half \x1b]0;open for ever", "half 0;open for ever"),
    (b"one\rtwo\r\n", "two"),
    (b"one\rtwo\r   \r\n", "two"),
    (b"a\x08b \x00\x07\x7f\tc", "b     c"),
    ("safe\u202etxt.exe\u200b\u2028x\ufeff".encode(), "safetxt.exex"),
    (b"\xff\xfe bad", "\ufffd\ufffd bad"),
    (b"token=hf_abcdefghijklmnopqrstuvwxyz012345", "token=[masked]"),
    (b"x" * 5000, "x" * 2000),
    (b"", ""),
], ids=lambda value: repr(value)[:30])  # fmt: skip
def test_cleaned(raw: bytes, shown: str) -> None:
    """Nothing that a terminal obeys, nothing overwritten, no secret, no more than is shown."""
    assert cleaned(raw) == shown


SECRETS = [
    "hf_abcdefghijklmnopqrstuvwxyz012345",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "hunter2hunter",
]


def test_no_secret_leaves(tmp_path: Path) -> None:
    """Tokens in messages, in source shown by a traceback, in heads and tails, keys of many lines: masked everywhere."""
    mark = "OPENSSH PRIVATE KEY-----\n"
    key = f"-----BEGIN {mark}b3BlbnNzaC1rZXktdjEAAAAA\nBG5vbmUAAAAEbm9uZQ\n-----END {mark}"
    text = (
        f"+ export HF_TOKEN={SECRETS[0]}\nTraceback (most recent call last):\n"
        f'  File "/a/b.py", line 1, in f\n    login(token="{SECRETS[1]}")\nValueError: bad key {SECRETS[2]}\n{key}'
        f"ERROR password={SECRETS[3]} is \x1b[1mrefused\nTraining complete, token={SECRETS[0]}\n"
    )
    found = repr(of(tmp_path, text.encode()))
    for secret in (*SECRETS, "b3BlbnNzaC1rZXktdjEAAAAA", "BG5vbmUAAAAEbm9uZQ"):
        assert secret not in found
    assert "ValueError: bad key [masked]" in found and "refused" in found


# --- bounds --------------------------------------------------------------------------------------------------------


def test_events_are_bounded(tmp_path: Path) -> None:
    """Of very many different errors the first and the last are kept, and it is said how many were not."""
    lines = "".join(f"RuntimeError: {word}\n" for word in _words(9000))
    found = of(tmp_path, lines.encode(), events=50, variants=10_000)
    assert len(found.events) == 50 and found.dropped > 1000
    assert found.events[0].place.line == 1 and found.events[-1].place.line == 9000


def _words(count: int) -> list[str]:
    chance = random.Random(3)
    return ["".join(chance.choices("ghijklmnopqrstuvwxyz", k=12)) for _ in range(count)]


def test_rare_line_among_errors(tmp_path: Path) -> None:
    """Where every line says error, one traceback in the middle is found all the same, and the noise is counted."""
    noise = [f"error: cannot read {word}, warning\n" for word in _words(60_000)]
    middle = "Traceback (most recent call last):\n  File \"/home/ana/t.py\", line 3, in f\n    g()\nKeyError: 'lost'\n"
    found = of(tmp_path, "".join([*noise[:30_000], middle, *noise[30_000:]]).encode())
    assert event(found, "KeyError").place.line == 30_004 and event(found, "KeyError").frame == ("/home/ana/t.py", 3)
    assert found.ordinary < 3000


def test_counts_are_exact_where_lines_repeat(tmp_path: Path) -> None:
    """The same warning on half of the lines is one event with its count, its last line and its ranks."""
    lines = "".join(f"[rank{at % 8}]: warning: slow link {at}\n[rank{at % 8}]: step {at}\n" for at in range(50_000))
    told = event(of(tmp_path, lines.encode()), "slow link")
    assert (told.count, told.last.line if told.last else 0, set(told.ranks)) == (50_000, 99_999, set(range(8)))
    assert told.severity == Severity.WARNING and told.behind == 1


def test_everyday_word_as_anchor(tmp_path: Path) -> None:
    """An anchor that stands on every line of training takes nothing from what is told, and the rare line is found."""
    lines = [f"step {at} loss {at / 7:.3f}\n" for at in range(60_000)]
    lines[40_000] = "warning: the device is about to be lost\n"
    (tmp_path / "job.log").write_text("".join(lines))
    found = read([LogFile(str(tmp_path / "job.log"), "both")], [b"loss"])
    assert [one.place.line for one in found.events] == [40_001]
    assert (found.ordinary, found.progress) == (59_999, 59_999) and found.events[0].behind == 19_999


MEASURE = """
import resource, sys
from maple_agents.diagnose.read import read
from maple_agents.diagnose.values import LogFile
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
read([LogFile(sys.argv[1], "both")])
before = peak()
found = read([LogFile(sys.argv[2], "both")])
assert any("the one that matters" in event.text for event in found.events)
print(peak() - before)
"""


@pytest.mark.parametrize("kind", ["steps", "errors", "one line"])
@pytest.mark.timeout(120)
def test_memory_is_bounded(tmp_path: Path, kind: str) -> None:
    """Sixty megabytes of log take no more memory than a part of that."""
    words = "".join(f"error: {word} failed\n" for word in _words(50_000)).encode()
    line = {"steps": STEP * 10_000, "errors": words, "one line": STEP.strip() * 10_000}[kind]
    with (tmp_path / "job.log").open("wb") as log:
        while log.tell() < 60 << 20:
            log.write(line)
        log.write(b"\n" + DEATH)
    (tmp_path / "small.log").write_bytes(DEATH)
    argv = [sys.executable, "-c", MEASURE, str(tmp_path / "small.log"), str(tmp_path / "job.log")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    more = float(subprocess.run(argv, env=env, check=True, capture_output=True, text=True, timeout=100).stdout)
    assert more < 150 and resource.RLIM_INFINITY


# --- random bytes --------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        b"Traceback (most recent call last):",
        b'  File "/a/b.py", line 3, in f',
        b"    ^^^",
        b"ValueError: x",
        b"\n",
        b"\r",
        b"\x1b[",
        b"\x1b]0;",
        b"[rank3]: ",
        b"3: ",
        b"=" * 30,
        b"-" * 30,
        b"  time      : 2026-11-21_00:41:37",
        b"  rank      : 1 (x)",
        b"  exitcode  : 1",
        b"  traceback : ",
        b"Root Cause (first observed failure):",
        b"error",
        b"frame #1",
        b"\xff\xfe",
        b"\x1f\x8b",
        b"  + Exception Group Traceback (most recent call last):",
        b"  | ",
        b"    +---------- 2 -----",
        b"E1121 00:41:37.1 7 a.py:3] ",
        b"2026-99-99 00:00:00 ",
        b"9" * 30,
        b'{"message": ',
        b'{"message": {"message": "a", "extraInfo": 3}}',
        b"CANCELLED AT 2026-13-45T00:00:00",
        b"During handling of the above exception, another exception occurred:",
        b"terminate called",
        b"  what():  ",
        b"\0",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES | st.binary(max_size=30), max_size=60).map(b"".join), st.sampled_from([1 << 20, 64, 7]))
def test_any_bytes_are_read(tmp_path_factory: pytest.TempPathFactory, data: bytes, block: int) -> None:
    """Never an exception; nothing that a terminal obeys; every number within the file."""
    path = tmp_path_factory.mktemp("any") / "job.log"
    path.write_bytes(data)
    found = read([LogFile(str(path), "both")], [b"anchor"], Limits(block=block, head=5, tail=5))
    lines = found.streams[0].lines
    assert NOT_UNDERSTOOD not in found.streams[0].wrong
    for one in found.events:
        assert 1 <= one.place.line <= max(1, lines) and one.count >= 1 and one.behind >= 0
        assert one.text in one.unit and len(one.unit) == len(one.unit_at)
        for text in (one.text, *one.unit, *found.streams[0].head, *found.streams[0].tail):
            assert text.isprintable() or not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text)
            assert "\n" not in text and len(text) <= 2000


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_cleaning_is_safe_and_done_once(line: bytes) -> None:
    """No control character is left, and cleaning twice changes nothing."""
    once = cleaned(line)
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in once)
    assert cleaned(once.encode()) == once


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.sampled_from([b"error", b"err", b"traceback (most", b"no such", b" x ", b"anchor", b"\n"]), max_size=30
    ).map(b"".join)
)
def test_search_without_library_finds_the_same(small: bytes) -> None:
    """The regular expression that stands in for the automaton finds what it finds."""
    assert list(Search([b"Anchor"])(small)) == list(Search([b"Anchor"], fast=False)(small))
