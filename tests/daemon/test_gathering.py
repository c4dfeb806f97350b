"""Records that come close to each other are taken together; nothing overtakes anything."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import Any

import pytest
from maple_daemon.remember import memory
from maple_daemon.remember.memory import Keeper, Line
from maple_daemon.store import open_store

from tests.daemon.store.jobs import record


def _job(store: object) -> None:
    """Some change."""


def test_records_are_taken_together_and_in_their_turn() -> None:
    """What comes between them parts them."""
    line = Line(20)
    for name in ("a", "b"):
        line.add(record(name))
    line.put(_job)
    line.add(record("c"))
    line.end()
    taken = [line.take() for _ in range(4)]
    assert taken == [[record("a"), record("b")], _job, [record("c")], None]


def test_no_more_are_taken_together_than_so_many() -> None:
    """Of a crowd nobody waits for further ones."""
    line = Line(1000)
    for at in range(memory.MOST + 1):
        line.add(record("r%d" % at))
    taken: Any = line.take()
    assert len(taken) == memory.MOST and len(line.take() or ()) == 1  # type: ignore[arg-type]


def test_a_change_hurries_the_records_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question of the same thread waits for no pause."""
    monkeypatch.setattr(memory, "SECONDS", 600.0)
    line, taken = Line(10), threading.Event()
    thread = threading.Thread(target=lambda: (line.take(), taken.set()), daemon=True)
    line.add(record())
    thread.start()
    line.put(_job)
    assert taken.wait(60)


def test_what_waits_is_bounded_in_number() -> None:
    """Whoever puts is told."""
    line = Line(2)
    line.add(record())
    line.put(_job)
    for put in (lambda: line.add(record()), lambda: line.put(_job)):
        with pytest.raises(queue.Full):
            put()


def test_what_a_change_finds_was_written_before_it(tmp_path: Any) -> None:
    """A record is moved to a version after it was kept, and a question sees it."""
    keeper = Keeper(lambda: open_store(str(tmp_path / "memory.db")), print)
    for at in range(100):
        keeper.keep_record(record("r%d" % at))
    keeper.do(lambda store: store.move_record("r99", 1001, "other"))
    found = asyncio.run(keeper.ask(lambda store: store.records(1001, version="other"), 60))
    keeper.keep_record(record("last"))
    keeper.close()
    assert [one.id for one in found or ()] == ["r99"]
    store = open_store(str(tmp_path / "memory.db"))
    assert len(store.records(1001, limit=1000)) == 101 and store.counted()[0].jobs == 101
    store.close()


def test_changes_that_wait_hold_no_more_bytes_than_so_many(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """What there is no room for is counted, and said once in a while; when they are made there is room again."""
    monkeypatch.setattr(memory, "MOST_BYTES", 1000)
    said: list[str] = []
    made, dropped = [], []  # type: tuple[list[int], list[int]]
    go, began = threading.Event(), threading.Event()
    keeper = Keeper(lambda: open_store(str(tmp_path / "memory.db")), said.append)
    keeper.dropped = lambda: dropped.append(1)
    keeper.do(lambda store: (began.set(), go.wait(60)))
    assert began.wait(60)
    for at in range(4):
        keeper.do(lambda store, at=at: made.append(at), 400)  # type: ignore[misc]
    assert len(dropped) == 2 and said == ["it is slower than what happens; changes dropped: 1"]
    go.set()
    assert asyncio.run(keeper.ask(lambda store: 1, 60)) == 1
    keeper.do(lambda store: made.append(9), 400)
    keeper.close()
    assert made == [0, 1, 9] and len(dropped) == keeper.lost == 2
