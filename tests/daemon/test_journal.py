"""Who was answered is remembered to have asked, however the service ends; what that costs is a line in a file."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from maple_daemon.remember import journal
from maple_daemon.remember.journal import Journal
from maple_daemon.remember.memory import Keeper
from maple_daemon.store import open_store
from maple_daemon.store.protocol import StoreError
from maple_submit_filter.answer import reply
from maple_submit_filter.types.job_records import Record

from tests.daemon.asking import written
from tests.daemon.serving import WITH_A_FILE, WRONG, Daemon, request

KILLS = 5
CALLERS = 6


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """One for a test alone, its connections unlimited."""
    made = Daemon(per_user={"rate": 100000, "burst": 100000, "connections": 500})
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop(signal.SIGKILL)
    shutil.rmtree(made.folder)


def record(number: int, uid: int = 7) -> Record:
    """One as it is written down."""
    return Record("%032x" % number, "", uid, 1e9 + number, "host", 1, 2, "repair", "clean", (), "memory", "")


class Callers:
    """Users who submit as fast as they are answered: known scripts, new ones, and such that their helper decides."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon, self.answered = daemon, set[str]()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(CALLERS)]

    def __enter__(self) -> Callers:
        for one in self._threads:
            one.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for one in self._threads:
            one.join()

    def _ask(self, caller: int) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            scripts = (WRONG, WRONG + b"# %d of %d at %d\n" % (number, caller, time.time_ns()), WITH_A_FILE)
            asked = request(scripts[0 if number % 10 > 1 else number % 10 + 1])
            try:
                if self._daemon.ask(asked) is not None:
                    self.answered.add(reply.record_id(asked))
            except OSError:
                return


def test_no_answered_submission_is_lost_by_killing_the_service(daemon: Daemon) -> None:
    """Several times, in the midst of many; each answer that was received is a record."""
    answered: set[str] = set()
    for _ in range(KILLS):
        daemon.start()
        with Callers(daemon) as callers:
            least = len(answered) + 150
            while len(answered | callers.answered) < least:
                time.sleep(0.01)
            daemon.stop(signal.SIGKILL)
        answered |= callers.answered
    assert len(answered) >= 150 * KILLS
    said, until = "", time.monotonic() + 120
    while not said or (_numbered(daemon) and time.monotonic() < until):
        daemon.start()
        daemon.stop()  # which waits for a slow disk no longer than a service may: the next start goes on
        said += daemon.said
    lost = answered - set(_stored(daemon))
    assert not lost, "%d of %d; %s" % (len(lost), len(answered), said)


def _stored(daemon: Daemon) -> list[str]:
    store = open_store(daemon.store, create=False)
    found = [one.id for one in store.records(os.getuid(), limit=1_000_000)]
    store.close()
    return found


def test_a_service_that_ends_in_peace_leaves_nothing_to_find(daemon: Daemon) -> None:
    """And what it has written down is counted once, also where both the file and the store have it."""
    daemon.start()
    for _ in range(20):
        daemon.ask(request())
    daemon.stop()
    assert _numbered(daemon) == []
    daemon.start()
    assert len(written(daemon, 20)) == 20
    assert "found again" not in daemon.said


def _numbered(daemon: Daemon) -> list[str]:
    return glob.glob(daemon.store + ".journal.*")


def test_it_is_for_the_service_alone_and_holds_no_text_of_a_users(daemon: Daemon) -> None:
    """Neither script nor words; nobody else may read it."""
    daemon.start()
    daemon.ask(request(WRONG + b"# a word of mine\n"))
    daemon.stop(signal.SIGKILL)
    files = glob.glob(daemon.store + ".journal*")
    assert files and all(stat.S_IMODE(os.stat(one).st_mode) == 0o600 for one in files)
    assert not any(b"torchrun" in Path(one).read_bytes() or b"a word" in Path(one).read_bytes() for one in files)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """The path of a store, whose journal is beside it."""
    return str(tmp_path / "memory.db")


def _left(path: str, *records: Record) -> Journal:
    made = Journal(path)
    for one in records:
        made.add(one)
    return made


def _ids(store: str) -> list[str]:
    opened = open_store(store)
    found = [one.id for one in opened.records(7, limit=1000)]
    opened.close()
    return sorted(found)


def test_a_line_that_was_cut_off_costs_itself(store: str) -> None:
    """A disk that was full in the midst of one costs no later line."""
    path = store + ".journal"
    _left(path, record(1)).close()
    with open(path + ".1", "ab") as file:
        file.write(b'\n{"id": "cut o')
    with open(path + ".1", "ab") as file:
        file.write(b"\nnoise\n[1, 2]\n")
    with open(path + ".2", "w") as file:
        file.write("\xff\n")
    made, opened = Journal(path), open_store(store)
    made.add(record(3))
    assert made.replay(opened) == 1
    made.close()
    opened.close()
    assert _ids(store) == [record(1).id]
    assert glob.glob(path + ".*") == [path + ".3"]


def test_what_the_store_has_goes_from_the_files(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole files go when nothing of them is missed; the last one is emptied."""
    path = store + ".journal"
    monkeypatch.setattr(journal, "MOST", 1000)
    made = _left(path, *map(record, range(20)))
    many = len(glob.glob(path + ".*"))
    assert many > 3
    made.kept(list(map(record, range(10))))
    made.tidy()
    assert 1 < len(glob.glob(path + ".*")) < many
    made.kept(list(map(record, range(10, 20))))
    made.tidy()
    assert [os.path.getsize(one) for one in glob.glob(path + ".*")] == [0]
    made.close()
    assert not glob.glob(path + ".*")


def test_it_grows_to_its_bound_where_no_store_takes_anything(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the oldest go."""
    path = store + ".journal"
    monkeypatch.setattr(journal, "MOST", 1000)
    made = _left(path, *map(record, range(1000)))
    assert len(glob.glob(path + ".*")) <= journal.MOST_FILES + 1
    made.close()
    opened = open_store(store)
    again = Journal(path)
    assert again.replay(opened) > journal.MOST_FILES
    again.close()
    opened.close()
    assert record(999).id in _ids(store) and record(0).id not in _ids(store)


def test_two_services_do_not_share_one(store: str) -> None:
    """The second one does without: what the first one still holds is not its to write."""
    path = store + ".journal"
    first = _left(path, record(1))
    with pytest.raises(OSError, match="another service"):
        Journal(path)
    first.close()
    Journal(path).close()


def test_what_a_purged_user_had_does_not_come_back(store: str) -> None:
    """Neither where he was purged while no service ran, nor while one did."""
    path = store + ".journal"
    made, opened = Journal(path), open_store(store)
    made.replay(opened)
    made.add(record(1))
    made.close()
    opened.purge(time.time(), caps=journal_caps(), uid=7)
    after = Journal(path)
    assert after.replay(opened) == 0 and not glob.glob(path + ".*")
    after.add(record(2))
    opened.purge(time.time(), caps=journal_caps(), uid=7)
    after.forget()
    after.replay(opened)
    after.add(record(3, uid=8))
    after.close()
    last = Journal(path)
    assert last.replay(opened) == 1
    last.close()
    opened.close()
    assert _ids(store) == []


def journal_caps() -> object:
    """The usual ones."""
    from maple_daemon.store.protocol import Caps

    return Caps()


def test_a_store_that_is_gone_for_a_while_loses_nothing_in_the_end(store: str) -> None:
    """What it could not take stays in the files for the next start; what is no record is not tried again."""
    path, complaints = store + ".journal", list[str]()

    class Gone:
        def keep_records(self, records: object) -> None:
            raise StoreError("the disk is away")

        def close(self) -> None:
            pass

    made = _left(path, record(1))
    keeper = Keeper(lambda: Gone(), complaints.append)  # type: ignore[arg-type, return-value]
    keeper.kept = made.kept
    keeper.keep_record(record(1))
    keeper.close()
    made.close()
    assert complaints == ["the disk is away"]
    opened, again = open_store(store), Journal(path)
    assert again.replay(opened) == 1
    again.close()
    opened.close()
    assert _ids(store) == [record(1).id]


def test_a_disk_that_lets_us_wait_is_left_alone(store: str) -> None:
    """An answer waits for it once, not each time; after a while it is tried again."""
    now = [0.0]

    class Slow(Journal):
        writes = 0

        def _write(self, line: bytes) -> None:
            self.writes += 1
            now[0] += 1
            super()._write(line)

    made = Slow(store + ".journal", lambda: now[0])
    for number in range(10):
        made.add(record(number))
    assert made.writes == 1
    now[0] += journal.PAUSE
    made.add(record(11))
    assert made.writes == 2
    made.close()


def test_a_busy_machine_is_no_slow_disk(store: str) -> None:
    """A line that waited for a moment is written, and so are those behind it; many of them are a habit."""
    now = [0.0]

    class Busy(Journal):
        def _write(self, line: bytes) -> None:
            now[0] += 0.125
            super()._write(line)

    made = Busy(store + ".journal", lambda: now[0])
    for number in range(4):
        made.add(record(number))
    now[0] += journal.PAUSE
    for number in range(4, 20):
        made.add(record(number))
    assert [(record(number).id, 7) in made._where for number in range(20)] == [True] * 9 + [False] * 11
    made.close()


def test_a_full_disk_is_no_end(store: str) -> None:
    """What could not be written is not taken for written, and answers go on."""
    made = Journal(store + ".journal")
    real = os.open("/dev/full", os.O_WRONLY)
    made.add(record(1))
    os.dup2(real, made._file)
    made.add(record(2))
    assert (record(2).id, 7) not in made._where
    os.close(real)
    made.close()


@pytest.mark.parametrize(
    "named, environ, place",
    [
        ("{}/memory.db", {}, "{}/memory.db.journal"),
        ("postgresql://maple@db/maple", {}, ""),
        ("postgresql://maple@db/maple", {"STATE_DIRECTORY": "{}:/other"}, "{}/memory.journal"),
        ("postgres://db/maple", {"XDG_RUNTIME_DIR": "{}"}, "{}/maple/memory.journal"),
        ("/proc/memory.db", {"STATE_DIRECTORY": "{}"}, "{}/memory.journal"),
    ],
)
def test_it_lies_on_a_disk_of_this_machine(tmp_path: Path, named: str, environ: dict[str, str], place: str) -> None:
    """Beside the store, or where the service has a place of its own; a network file system would be waited for."""
    here = str(tmp_path)
    told = {name: value.format(here) for name, value in environ.items()}
    assert journal.place_of(named.format(here), told) == place.format(here)
