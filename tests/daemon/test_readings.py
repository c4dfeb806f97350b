"""Which submissions' files are to be read, when, and how much of it is held."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any, Optional, cast

import pytest
from maple_daemon.base.peers import Peer
from maple_daemon.base.settings import Bounds
from maple_daemon.decide.exact import key_of
from maple_daemon.decide.handlers import Wish
from maple_daemon.remember import readings
from maple_daemon.remember.readings import Looked, Readings
from maple_daemon.serve.queries import Questions
from maple_submit_filter.answer.decision import MOST_READ
from maple_submit_filter.answer.reply import record_id
from maple_submit_filter.host.frames import Request
from maple_submit_filter.types.submission import Submission

FACTS = (Looked("/w/train.py", "1 2 3", "a" * 32, "{}"), Looked("/w/absent", ""))


class Place:
    """The readings of a site, at a clock of its own."""

    def __init__(self, **how: Any) -> None:
        self.now = 1000.0
        self.readings = Readings(lambda: self.now, **how)
        self.readings.on = True
        self.last: dict[int, str] = {}

    def wish(
        self, name: bytes = b"k", uid: int = 1, gids: frozenset[int] = frozenset(), script: bytes = b"x",
        **environment: str,
    ) -> Optional[Wish]:  # fmt: skip
        """What the front of a submission, one for each name, is told."""
        variables = {name.encode(): value.encode() for name, value in environment.items()}
        argv = (b"sbatch", b"--comment=" + name, b"job.sh")
        submission = Submission("slurm", argv, script, "file", b"job.sh", b"/w", uid, variables)
        request = Request(os.urandom(16), os.urandom(32), submission, 2)
        self.last[uid] = record_id(request)
        return self.readings.wish(request, Peer(1, uid, gids, 1), key_of(request, uid, b""))

    def take(self, uid: int = 1, record: str = "") -> Optional[str]:
        """The record that a process of the user's is given."""
        told = self.readings.take(uid, record)
        return told["record"] if told else None

    def read(self, name: bytes = b"k", uid: int = 1, looked: tuple[Looked, ...] = FACTS) -> None:
        """A submission, and the reading of its files."""
        self.wish(name, uid)
        record = self.take(uid, self.last[uid])
        assert record == self.last[uid]
        self.readings.done(uid, record, looked)
        assert self.take(uid) is None


def test_a_submission_is_wished_for_once_and_then_watched() -> None:
    """The front is told how the files were, and reads if they are not."""
    place = Place()
    assert place.wish() == Wish(place.last[1])
    first = place.last[1]
    assert place.wish() is None
    assert place.take(1, first) == first
    place.readings.done(1, first, FACTS)
    wish = place.wish()
    assert wish is not None
    assert [one[:2] for one in wish.unless] == [(b"/w/train.py", b"1 2 3"), (b"/w/absent", b"")]


def test_variables_that_the_job_does_not_depend_on_make_no_other_version() -> None:
    """Of whose files all is known; those that its script names do."""
    place = Place()
    place.wish(script=b"srun python $MODEL", NCCL_DEBUG="1", MODEL="a.py")
    assert place.wish(script=b"srun python $MODEL", NCCL_DEBUG="2", MODEL="a.py") is None
    assert place.wish(script=b"srun python $MODEL", NCCL_DEBUG="2", MODEL="b.py") is not None


def test_where_no_file_was_looked_for_there_is_nothing_to_watch() -> None:
    """A job that starts no program of Python's."""
    place = Place()
    place.read(looked=())
    assert place.wish() is None


def test_what_comes_to_nothing_is_tried_again_and_not_for_ever() -> None:
    """After a pause; after some tries, after a long one."""
    place = Place()
    for _ in range(readings.TRIES):
        assert place.wish() is not None
        assert place.wish() is None
        place.take(1, place.last[1])
        place.now += readings.PAUSE
    assert place.wish() is None
    place.now += readings.LONG_PAUSE
    assert place.wish() is not None


def test_a_reading_of_changed_files_that_comes_to_nothing_is_not_tried_at_once_again() -> None:
    """Its program may be what no process can read in its time."""
    place = Place()
    place.read()
    assert place.wish() is not None
    assert place.take(1, place.last[1]) is not None
    assert place.wish() is None


def test_while_one_reads_the_next_ones_wait_for_it() -> None:
    """It comes back for them, the oldest first; when it has ended, another may be started."""
    place = Place()
    assert place.wish(b"1") is not None
    first = place.last[1]
    assert place.take(1, first) == first
    assert place.wish(b"2") is None
    second = place.last[1]
    assert place.wish(b"3") is None
    assert [place.take(), place.take(), place.take()] == [second, place.last[1], None]
    assert place.wish(b"4") is not None


def test_one_that_died_is_not_waited_for_for_ever() -> None:
    """Its time is bounded by its front."""
    place = Place()
    place.wish(b"1")
    place.take(1, place.last[1])
    assert place.wish(b"2") is None
    place.now += readings.RUN_SECONDS
    assert place.wish(b"3") is not None


def test_one_user_starts_no_more_than_so_many() -> None:
    """Another is wished for all the same; what is not started waits for the next that is."""
    place = Place(bounds=Bounds(rate=1, burst=3))
    assert [place.wish(b"%d" % at) is not None for at in range(5)] == [True] * 3 + [False] * 2
    assert place.wish(b"other", uid=2) is not None
    assert [place.take() is not None for _ in range(6)] == [True] * 5 + [False]


def test_what_waits_too_long_is_not_read() -> None:
    """Its files may be those of another submission by then."""
    place = Place()
    place.wish()
    place.now += readings.WAIT_SECONDS
    assert place.take() is None


@pytest.mark.parametrize("script, most", [(b"x", readings.MOST_OF_USER), (b"x" * MOST_READ, 32)])
def test_what_waits_is_bounded(script: bytes, most: int) -> None:
    """In number for one user, in bytes for all; the oldest go."""
    place = Place(bounds=Bounds(rate=1000, burst=1000))
    for at in range(200):
        place.wish(b"%d" % at, script=script)
    newest = place.last[1]
    taken = [record for record in (place.take() for _ in range(200)) if record]
    assert most // 2 < len(taken) <= most and taken[-1] == newest


def test_what_is_held_is_bounded() -> None:
    """Who was read longest ago is read again."""
    place = Place(bounds=Bounds(rate=1e6, burst=1e6))
    large = (Looked("/w/train.py", "1 2 3", "a" * 32, "x" * 100_000),)
    for at in range(400):
        place.read(b"%d" % at, uid=at, looked=large)
    held = place.readings._extracts
    assert sum(readings._size(one) for one in held._held.values()) == held._size <= readings.MOST_HELD // 2
    assert held.get((399, b"/w")) and not held.get((0, b"/w"))


def test_a_group_whose_files_are_not_read_is_left_alone() -> None:
    """As is everybody where it is off."""
    place = Place(without=frozenset([77]))
    assert place.wish(gids=frozenset([5, 77])) is None
    assert place.wish(gids=frozenset([5])) is not None
    place.readings.on = False
    assert place.wish(b"other") is None


@pytest.mark.parametrize(
    "kept, parts, done",
    [(True, True, True), (False, True, False), (False, False, True)],
    ids=["kept", "not", "nothing"],
)
def test_what_was_not_kept_is_read_again(kept: bool, parts: bool, done: bool) -> None:
    """The record may not be one that is known; where there was nothing to read, there is nothing to keep."""

    class Learner:
        def analysed(self, *told: object) -> bool:
            return kept

    class Reading:
        heard: list[tuple[Looked, ...]] = []

        def take(self, uid: int, record: str) -> None:
            return None

        def later(self, uid: int, record: str) -> None:
            raise AssertionError

        def done(self, uid: int, record: str, looked: tuple[Looked, ...]) -> None:
            self.heard = [looked]

    reading = Reading()
    told = {
        "record": "ab", "parts": [["program", "x.py", "a" * 32, [1, 2]]] if parts else [], "values": [],
        "read": ["a" * 32], "looked": [["/x.py", "1", "a" * 32, ""]],
    }  # fmt: skip
    questions = Questions(cast(Any, None), Learner(), reading)
    answer = asyncio.run(questions.answer(b"MPA1", json.dumps(told).encode(), 1))
    assert json.loads(answer[8:]) == {"found": kept}
    assert bool(reading.heard) == done


def test_a_script_that_is_too_long_to_be_read_is_not_wished_for() -> None:
    """Nothing would come of it."""
    assert Place().wish(script=b"x" * (MOST_READ + 1)) is None
    assert Place().wish(script=b"x" * MOST_READ) is not None


def test_one_user_is_told_nothing_of_another() -> None:
    """Neither the submission, nor how files were, nor what was read of them; nor can he say that it was read."""
    place = Place()
    place.read(uid=1)
    assert place.wish(uid=1) is not None
    assert place.take(uid=2, record=place.last[1]) is None
    assert place.wish(uid=2) == Wish(place.last[2])
    told = place.readings.take(2, place.last[2])
    assert told is not None and told["known"] == []
    mine = place.readings.take(1, place.last[1])
    assert mine is not None and mine["known"] == [list(one) for one in FACTS]
    place.readings.done(2, place.last[1], ())
    place.readings.done(1, place.last[1], FACTS)
    again = place.wish(uid=1)
    assert again is not None and len(again.unless) == len(FACTS)


def test_after_a_reload_or_a_purge_all_is_read_anew() -> None:
    """The site, or what reads, may be another; nothing is held of anybody."""
    place = Place()
    place.read()
    assert place.wish() is not None
    place.readings.forget()
    assert place.take(1, place.last[1]) is None
    assert place.wish() == Wish(place.last[1])
    told = place.readings.take(1, place.last[1])
    assert told is not None and told["known"] == []
