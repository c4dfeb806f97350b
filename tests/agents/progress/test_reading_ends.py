"""How files are read: their ends, torn lines, carriage returns, whatever is in them, and how much of them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from maple_agents.progress import log_ends
from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress, read
from maple_agents.progress.tails import BLOCK, HEAD

from tests.agents.progress.fragments import NOW, fragments

MEGATRON = (
    " [2025-08-01 07:19:%02d] iteration %8d/    5000 | elapsed time per iteration (ms): 1000.0 | lm loss: 2.0 |\n"
)
TEXTS = [one.text for one in fragments()]


def lines(count: int, first: int = 1) -> bytes:
    return b"".join((MEGATRON % (step % 60, step)).encode() for step in range(first, first + count))


def read_bytes(folder: Path, data: bytes):  # type: ignore[no-untyped-def]
    path = folder / "log"
    path.write_bytes(data)
    return read(str(path), formats(), name="log")


def test_a_bar_that_is_drawn_again_is_many_pieces_of_one_line(tmp_path: Path) -> None:
    """The line number stays, the byte goes on."""
    data = b"hello\n" + b"".join(b"\r %d%%|#| %d/100 [00:%02d<00:10, 1.0it/s]" % (i, i, i) for i in range(30))
    seen = read_bytes(tmp_path, data).observations
    assert [one.step for one in seen] == list(range(30))
    assert {one.place.line for one in seen} == {2}
    assert len({one.place.byte for one in seen}) == 30


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_last_line_that_is_not_ended_tells_nothing(tmp_path: Path, cut: int) -> None:
    """Step 1234 is not read as 123."""
    whole = lines(3, 1232)
    seen = read_bytes(tmp_path, whole[:-cut]).observations
    assert [one.step for one in seen] == [1232, 1233]


def test_places_are_right_in_the_end_of_a_long_file(tmp_path: Path) -> None:
    """As `sed -n Np` counts, also where the middle was not read."""
    data = lines(200) + b"x" * 200 + b"\n" + b"noise\n" * ((HEAD + 9 * BLOCK) // 6) + lines(9000, 201)
    seen = read_bytes(tmp_path, data).observations
    rows = data.split(b"\n")
    assert seen[-1].step == 9200
    for one in (seen[0], seen[len(seen) // 2], seen[-1]):
        assert rows[one.place.line - 1].decode() == one.text
        assert data[one.place.byte :].startswith(one.text.encode())


@pytest.mark.parametrize("kind", ["missing", "folder", "pipe"])
def test_what_is_no_file_is_said(tmp_path: Path, kind: str) -> None:
    """And nothing is waited for."""
    path = tmp_path / "it"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    assert read(str(path), formats()).wrong


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=4000), text=st.sampled_from(TEXTS), at=st.integers(0, 4000))
def test_whatever_stands_in_a_file_it_is_read(tmp_path_factory, data: bytes, text: str, at: int) -> None:  # type: ignore[no-untyped-def]
    """Bytes of any kind, in front of a log, in it and behind it."""
    folder = tmp_path_factory.mktemp("any")
    path = folder / "log"
    said = text.encode()
    path.write_bytes(said[:at] + data + said[at:])
    progress([str(path)], formats(), NOW)


@settings(max_examples=150, deadline=None)
@given(text=st.sampled_from(TEXTS), share=st.floats(0, 1))
def test_a_log_that_is_cut_tells_no_other_number(tmp_path_factory, text: str, share: float) -> None:  # type: ignore[no-untyped-def]
    """Wherever the writer has come to: each step, total and loss that is read stands in the whole log too."""
    folder = tmp_path_factory.mktemp("cut")
    whole = text.encode()
    path = folder / "log"
    path.write_bytes(whole)
    all_of = {(one.step, one.steps, one.loss) for one in read(str(path), formats()).observations}
    path.write_bytes(whole[: int(share * len(whole))])
    found = read(str(path), formats()).observations
    keys = {(one.step, one.steps) for one in found} - {(None, None)}  # what tells epochs or a loss alone has neither
    assert keys <= {key[:2] for key in all_of}


MEASURE = """
import resource, sys, time
from maple_agents.progress.formats import formats
from maple_agents.progress.log_ends import progress
found = progress([sys.argv[1]], formats(), time.time())
used = resource.getrusage(resource.RUSAGE_SELF)
most = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # maxrss has the parent's too
print(used.ru_utime + used.ru_stime, int(most.split()[1]) / 1024, found.course.last.step)
"""


@pytest.mark.parametrize("kind", ["lines", "bars", "nothing", "line feeds", "one line"])
def test_a_gigabyte_takes_under_a_second_and_64_mib(tmp_path: Path, kind: str) -> None:
    """With the start of Python and all imports; the file has holes, which are read as any other byte.

    The bound is coarse, for machines that do other things as well: `make bench-progress` prints the seconds.
    """
    path = tmp_path / "long"
    bar = b"\r %d%%|##########| %d/99999999 [00:33<00:10, 229.00it/s]"
    end = {
        "lines": lines(80_000),
        "bars": b"".join(bar % (step % 100, step) for step in range(120_000)),
        "nothing": b"nothing to see here\n" * 400_000,
        "line feeds": b"\n" * 8_000_000,
        "one line": b"step" * 2_000_000,
    }[kind]
    with open(path, "wb") as file:
        file.write(lines(10))
        file.truncate((1 << 30) - len(end))
        file.seek(0, os.SEEK_END)
        file.write(end)
    said = subprocess.run([sys.executable, "-c", MEASURE, path], capture_output=True, text=True, check=True).stdout
    seconds, mebibytes, step = said.split()
    assert int(step) == {"lines": 80_000, "bars": 119_999}.get(kind, 10)
    assert float(mebibytes) < 64
    assert float(seconds) < 4.0


@pytest.mark.parametrize("pattern", [r"(?:a+)+b(?P<step>\d+)", r"(?P<step>\d+)(?:.*,)*.*;!"])
def test_a_pattern_that_takes_for_ever_is_left_out(
    pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What our formats read is told all the same, of this file and of the next, and it is said why."""
    monkeypatch.setattr(log_ends, "MOST_SECONDS", 0.3)
    text = "%s%s\nstep 7/9 loss 2.5\n" % ("a" * 200, "1," * 1500)
    paths = [tmp_path / "one.out", tmp_path / "two.out"]
    for path in paths:
        path.write_text(text)
    began = time.process_time()
    found = progress([str(path) for path in paths], formats((pattern,)), 1.79e9)
    assert found.course.last is not None and found.course.last.step == 7
    assert [note.partition(": ")[2] for note in found.notes] == [log_ends.TOO_SLOW]
    assert time.process_time() - began < 4
