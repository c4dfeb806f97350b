"""Whatever happens to the file, it costs memory for a while, says so in one line, and never an answer."""

from __future__ import annotations

import asyncio
import glob
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from maple_daemon.remember.memory import Keeper, purging
from maple_daemon.store import open_store, sqlite
from maple_daemon.store.protocol import Caps, Gone, NotKept, Store, StoreError

from tests.daemon.store.jobs import record, version


@pytest.fixture
def path(tmp_path: Any) -> str:
    """A store with 300 versions in it."""
    name = str(tmp_path / "memory.db")
    store = open_store(name)
    for number in range(300):
        store.keep_version(version("v%d" % number, argv=("x" * 500,)))
    store.close()
    return name


def spoilt(path: str, at: int, size: int = 4096 * 20) -> None:
    """Overwrite pages from byte *at* on."""
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(b"\xa5" * size)


def one_line(failed: pytest.ExceptionInfo[StoreError], path: str) -> str:
    """The error, which names the file and has no second line."""
    said = str(failed.value)
    assert path in said and "\n" not in said
    return said


def test_a_store_that_another_holds_locked_is_an_error_after_a_while(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading goes on; writing is an error, and works again when the lock is gone."""
    monkeypatch.setattr(sqlite, "WAIT", 0.1)
    store = open_store(path)
    with sqlite3.connect(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked") as failed:
            store.keep_record(record())
        assert not isinstance(failed.value, NotKept)
        assert len(store.versions(1001)) == 100
        other.rollback()
    other.close()
    store.keep_record(record())
    store.close()


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_a_store_that_may_not_be_written_is_an_error(tmp_path: Any, path: str, closed: str) -> None:
    """Root may write everything, so somebody else tries; nothing is laid aside or changed."""
    before = Path(path).read_bytes()
    os.chmod(path, 0o444 if closed == "file" else 0o666)
    os.chmod(tmp_path, 0o777 if closed == "file" else 0o555)
    done = _as_nobody("open_store(%r, print).keep_decision(b'k', 1, b'', 0.0)" % path, tmp_path)
    os.chmod(tmp_path, 0o755)
    assert "StoreError" in done and "Corrupt" not in done and "not kept" not in done
    assert not sqlite.laid_aside(path)
    assert Path(path).read_bytes() == before


def _as_nobody(what: str, folder: Any) -> str:
    """What a process of another user says when it does *what*."""
    program = (
        "import os, sys\n"
        "from maple_daemon.store import open_store\n"
        "from maple_daemon.store import sqlite\n"
        "if os.getuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "os.chmod = lambda *words: None\n"
        "try: %s\n"
        "except Exception as error: print(type(error).__name__, error)\n"
        "else: print('it worked')\n" % what
    )
    for one in (folder, *folder.parents):
        if str(one).startswith("/tmp/") and os.getuid() == 0:
            os.chmod(one, os.stat(one).st_mode | 0o111)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100).stdout


def test_a_full_disk_is_an_error_and_what_was_kept_can_be_read(tmp_path: Any) -> None:
    """A child may write 600 kB a file; the store is well when there is room again."""
    path = str(tmp_path / "memory.db")
    program = (
        "import resource, signal, sys\n"
        "from maple_daemon.store import open_store\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))\n"
        "store = open_store(%r, print)\n"
        "try:\n"
        "    for number in range(1000): store.keep_decision(b'%%d' %% number, 1, bytes(3000), 0.0)\n"
        "except Exception as error: print(number, type(error).__name__, error)\n"
        "print(store.decision(b'0', 1) == bytes(3000))\n" % path
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    first, second = done.stdout.splitlines()
    number, kind, *_ = first.split()
    assert 10 < int(number) < 300 and kind == "StoreError" and path in first
    assert second == "True" and resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 600_000
    store = open_store(path, print)
    store.keep_decision(b"new", 1, bytes(3000), 0.0)
    assert store.check() == [] and store.decision(b"%d" % (int(number) - 1), 1)
    store.close()


@pytest.mark.parametrize("at", [0, 4096 * 8, 100], ids=["header", "middle", "first page"])
def test_a_corrupt_store_is_laid_aside_and_a_new_one_made_which_is_said_once(path: str, at: int) -> None:
    """Where it is seen: at the opening, or by a question."""
    spoilt(path, at)
    said: list[str] = []
    try:
        store = open_store(path, said.append)
        for _ in range(2):
            store.versions(1001, limit=1000)
            store.check()
    except StoreError as error:
        said.append(str(error))
        store = open_store(path, said.append)
    store.keep_record(record())
    assert store.records(1001) == [record()] and store.check() == [] and store.versions(1001) == []
    aside = sqlite.laid_aside(path)
    assert len(aside) == 1 and os.path.getsize(aside[0]) > 100_000
    assert len(said) == 1 and "laid aside as " + aside[0] in said[0] and "\n" not in said[0]
    store.close()


def test_a_corrupt_store_is_left_where_it_is_by_who_only_looks(path: str) -> None:
    """As `maple admin check` does; it says what is wrong."""
    spoilt(path, 4096 * 8)
    store = open_store(path, create=False)
    found = store.check()
    assert found and not any("\n" in one for one in found)
    with pytest.raises(StoreError, match="malformed"):
        store.versions(1001, limit=1000)
    store.close()
    assert sqlite.laid_aside(path) == [] and os.path.exists(path)


def test_no_more_than_three_are_kept_aside(path: str) -> None:
    """The latest."""
    for _ in range(5):
        with open(path, "wb") as file:
            file.write(b"no database" * 1000)
        open_store(path, lambda said: None).close()
    aside = sqlite.laid_aside(path)
    assert len(aside) == 3
    assert sorted(glob.glob(path + "*")) == sorted([path, *aside])


def test_the_log_of_a_corrupt_store_is_laid_aside_with_it(tmp_path: Any, path: str) -> None:
    """It may hold what the database does not, and the new one must not take it for its own."""
    store, copy = open_store(path), str(tmp_path / "killed.db")
    store.keep_record(record())
    for end in ("", "-wal"):  # as a service that was killed leaves them
        shutil.copy(path + end, copy + end)
    store.close()
    spoilt(copy, 0)
    new = open_store(copy, lambda said: None)
    assert new.records(1001) == []
    new.close()
    assert os.path.getsize(sqlite.laid_aside(copy)[0] + "-wal") > 0


def test_of_two_who_have_a_corrupt_store_open_neither_harms_the_new_one(path: str) -> None:
    """A daemon has two; the one that did not see it writes no more, and takes nothing with it."""
    seer, other = open_store(path, print), open_store(path, print)
    other.keep_record(record("old"))
    spoilt(path, 4096 * 8, os.path.getsize(path) - 4096 * 8)
    with pytest.raises(StoreError, match="laid aside"):
        for _ in range(3):
            seer.versions(1001, limit=1000)
            seer.purge(1e9, Caps(), uid=1001)
    seer.close()
    new = open_store(path, print)
    new.keep_record(record("new"))
    with pytest.raises(StoreError):
        other.keep_record(record("lost"))
    other.close()
    assert os.path.exists(path + "-wal")
    later = open_store(path, print)
    assert [one.id for one in later.records(1001)] == ["new"]
    for one in (later, new):
        one.close()


def test_a_store_that_is_removed_or_replaced_while_open_is_noticed(path: str) -> None:
    """Nothing more is written to a file that has no name."""
    store, reader = open_store(path), open_store(path)
    os.unlink(path)
    with pytest.raises(StoreError, match="removed or replaced") as failed:
        store.keep_record(record())
    one_line(failed, path)
    store.close()
    new = open_store(path)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):  # its locks would be taken for the new one's
        reader._run._connection.execute("SELECT 1")  # type: ignore[attr-defined]
    new.keep_record(record())
    with pytest.raises(StoreError):
        reader.versions(1001)
    reader.close()
    assert os.path.exists(path + "-wal")  # the new one's
    again = open_store(path)
    assert again.records(1001) == [record()]
    for one in (again, new):
        one.close()


def test_a_backup_is_whole_while_others_write_and_overwrites_nothing(tmp_path: Any, path: str) -> None:
    """It can be put in the store's place; nobody else may read it."""
    store, copy = open_store(path), str(tmp_path / "copy.db")
    stop = threading.Event()

    def write() -> None:
        other = open_store(path)
        while not stop.is_set():
            other.keep_decision(os.urandom(8), 1, b"x", 0.0)
        other.close()

    writer = threading.Thread(target=write)
    writer.start()
    store.backup(copy)
    stop.set()
    writer.join()
    with pytest.raises(StoreError, match="exists"):
        store.backup(copy)
    with pytest.raises(StoreError, match="no such file"):
        store.backup(str(tmp_path / "none" / "copy.db"))
    store.close()
    assert os.stat(copy).st_mode & 0o777 == 0o600
    found = open_store(copy)
    assert found.check() == [] and len(found.versions(1001, limit=1000)) == 300
    found.close()


class Faulty:
    """Stands in for a store; each question is a function that may raise."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def asked(keeper: Keeper, question: Callable[[Store], Any]) -> Any:
    """What the keeper answers."""
    return asyncio.run(keeper.ask(question, 20))


def raising(error: Exception) -> Callable[[Store], Any]:
    """A question that ends in *error*."""

    def question(store: Store) -> Any:
        raise error

    return question


def test_a_keeper_goes_on_without_a_broken_store_and_comes_back(path: str) -> None:
    """One line each time; in between nothing is asked of the disk."""
    said: list[str] = []
    keeper = Keeper(lambda: open_store(path, said.append), said.append, retry=0.3)
    assert len(asked(keeper, lambda store: store.versions(1001))) == 100
    os.unlink(path)
    os.mkdir(path)
    assert asked(keeper, lambda store: store.versions(1001)) is None
    for _ in range(50):
        keeper.do(lambda store: store.keep_record(record()))
    assert asked(keeper, lambda store: 1) is None
    assert len(said) <= 3
    os.rmdir(path)
    deadline = time.monotonic() + 30
    while asked(keeper, lambda store: store.keep_record(record()) or 1) is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert asked(keeper, lambda store: store.records(1001)) == [record()]
    keeper.close()


@pytest.mark.parametrize(
    "error, opened", [(NotKept("a"), 1), (StoreError("b"), 2), (TypeError("c"), 1), (sqlite3.ProgrammingError("d"), 1)]
)
def test_only_a_broken_store_is_opened_again(error: Exception, opened: int) -> None:
    """A value of a wrong form, and a mistake of ours, cost what was asked alone; each is said."""
    made: list[Faulty] = []
    said: list[str] = []

    def open_one() -> Any:
        made.append(Faulty())
        return made[-1]

    keeper = Keeper(open_one, said.append, retry=0.0)
    assert asked(keeper, raising(error)) is None
    assert asked(keeper, lambda store: 5) == 5
    keeper.do(raising(error))
    assert asked(keeper, lambda store: 6) == 6
    keeper.close()
    assert len(said) == 2 and all(str(error) in one for one in said)
    assert len(made) == (opened - 1) * 2 + 1 and all(one.closed for one in made)


def test_a_keeper_opens_its_store_before_it_is_asked() -> None:
    """So that the first submission after a start finds what was remembered, and a broken store is said at the start."""
    opened = threading.Event()

    def open_one() -> Any:
        opened.set()
        return Faulty()

    keeper = Keeper(open_one, print)
    assert opened.wait(20)
    keeper.close()


def test_a_store_that_cannot_be_opened_for_whatever_reason_is_said(tmp_path: Any) -> None:
    """A missing library, say."""
    said: list[str] = []

    def open_one() -> Store:
        raise ImportError("no sqlite_utils")

    keeper = Keeper(open_one, said.append, retry=100)
    assert asked(keeper, lambda store: 1) is None and asked(keeper, lambda store: 1) is None
    keeper.close()
    assert said == ["no sqlite_utils"]


def test_the_store_is_purged_while_the_service_runs(path: str) -> None:
    """Soon, and then again and again."""
    gone: list[Gone] = []
    keeper = Keeper(lambda: open_store(path), print)

    async def run() -> None:
        task = asyncio.ensure_future(purging(keeper, Caps(days=1), gone.append, every=0.1))
        while len(gone) < 2:
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(asyncio.wait_for(run(), 60))
    keeper.close()
    assert gone[0].versions == 300 and gone[1] == (0, 0, 0)
