"""Whatever becomes of the daemon, a submission ends as the bare command would; and the daemon serves the next one."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from maple_daemon.base.settings import Busy
from maple_daemon.decide.workers import Workers
from maple_submit_filter.answer import reply as answer
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Request
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.modes import Policy

from tests.daemon.breaking import MENDED, NOBODY, Broken, as_bare, children, double, rightly, until, without_helper
from tests.daemon.serving import WRONG, receive, request
from tests.doubles.stand import ASKED, Stand, build, compiled


@pytest.fixture(scope="module")
def sbatch(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The double of sbatch."""
    return compiled("sbatch", str(tmp_path_factory.mktemp("doubles")))


@pytest.fixture(params=["", "sanitized"], ids=["shipped", "sanitized"])
def stand(request: pytest.FixtureRequest, tmp_path: Any, sbatch: str) -> Stand:
    """An installation of the front, once as it is shipped and once under sanitizers, with a script to submit."""
    one = Stand(str(tmp_path), build(bool(request.param)), sbatch)
    one.write("job.sh", ASKED)
    return one


@pytest.fixture
def shipped(tmp_path: Any, sbatch: str) -> Stand:
    """The same, as it is shipped, with a script that the daemon repairs."""
    one = Stand(str(tmp_path), build(), sbatch)
    one.write("job.sh", WRONG)
    return one


# -- what stands in the daemon's place ------------------------------------------------------------------------------


def _endless(one: socket.socket) -> None:
    one.sendall(b"MPR1" + (100 << 20).to_bytes(4, "big") + bytes(100 << 20))


def _endless_in_bounds(one: socket.socket) -> None:
    one.sendall(b"MPR1" + (20 << 20).to_bytes(4, "big"))
    while True:
        one.sendall(bytes(1 << 16))


def _late(one: socket.socket) -> None:
    reply = rightly(one)
    time.sleep(1)
    one.sendall(reply)


def _half(one: socket.socket) -> None:
    reply = rightly(one)
    one.sendall(reply[: len(reply) // 2])


def _drop_by_drop(one: socket.socket) -> None:
    for byte in rightly(one):
        one.sendall(bytes((byte,)))
        time.sleep(0.05)


def _about_another(one: socket.socket) -> None:
    reply = frames.unpack_reply(rightly(one))
    one.sendall(frames.pack_reply(reply._replace(nonce=bytes(16))))


def _about_other_bytes(one: socket.socket) -> None:
    reply = frames.unpack_reply(rightly(one))
    one.sendall(frames.pack_reply(reply._replace(hash=bytes(32))))


WRONGLY: dict[str, Callable[[socket.socket], None]] = {
    "hangs up": lambda one: None,
    "no bytes": lambda one: one.shutdown(socket.SHUT_WR),
    "garbage": lambda one: one.sendall(os.urandom(5000)),
    "100 MB": _endless,
    "20 MB without an end": _endless_in_bounds,
    "says nothing": lambda one: time.sleep(60),
    "late": _late,
    "half": _half,
    "drop by drop": _drop_by_drop,
    "another question's": _about_another,
    "another script's": _about_other_bytes,
}


@pytest.mark.parametrize("how", WRONGLY)
def test_what_answers_wrongly_is_not_heard(stand: Stand, how: str) -> None:
    """Without a helper the script goes as written."""
    with double(WRONGLY[how]) as path:
        without_helper(stand, path, 300)
        as_bare(stand)


@pytest.mark.parametrize("how", ["100 MB", "half", "late"])
def test_the_helper_answers_in_place_of_what_answers_wrongly(stand: Stand, how: str) -> None:
    """It has a deadline of its own."""
    with double(WRONGLY[how]) as path:
        stand.helper("fixes", socket=path, socket_ms=200)
        assert stand.run(True, ["job.sh"]).script == ASKED + b"# fixed\n"


@pytest.mark.parametrize("uid, said, heard", [(0, None, True), (NOBODY, None, False), (NOBODY, NOBODY, False)])
def test_root_takes_a_change_from_root_alone(stand: Stand, uid: int, said: int | None, heard: bool) -> None:
    """Whoever else has the socket may say what he likes; what others take of it, `test_front_service.py` says."""
    with double(lambda one: one.sendall(rightly(one)), uid=uid or None) as path:
        without_helper(stand, path, **({} if said is None else {"service_uid": said}))
        if heard:
            assert stand.run(True, ["job.sh"]).script == ASKED + MENDED
        else:
            as_bare(stand)


def _crowd(path: str) -> list[socket.socket]:
    """Connections that nobody accepts, so many that no more fit."""
    waiting: list[socket.socket] = []
    refused = 0
    while refused < 5:  # the first to come is accepted, which makes room for another
        one = socket.socket(socket.AF_UNIX)
        one.setblocking(False)
        waiting.append(one)
        if one.connect_ex(path):
            refused += 1
            time.sleep(0.05)
    return waiting


def test_a_full_queue_is_waited_for_until_the_deadline(stand: Stand) -> None:
    """Nobody accepts, and no more connections fit: the script goes as written."""
    with double(lambda one: time.sleep(600), backlog=0) as path:
        crowd = _crowd(path)
        without_helper(stand, path, 300)
        as_bare(stand)
        for one in crowd:
            one.close()


def test_who_finds_the_queue_full_is_answered_once_there_is_room(stand: Stand) -> None:
    """The crowd is refused after a while; the front's deadline is later."""

    def treat(one: socket.socket) -> None:
        one.settimeout(0.5)
        one.sendall(rightly(one))

    with double(treat, backlog=0) as path:
        crowd = _crowd(path)
        without_helper(stand, path)
        assert stand.run(True, ["job.sh"]).script == ASKED + MENDED
        for one in crowd:
            one.close()


@pytest.mark.parametrize("what", ["absent", "stale", "a file", "a folder", "a link to nothing"])
def test_where_nobody_listens_the_script_goes_as_written(stand: Stand, tmp_path: Any, what: str) -> None:
    """Whatever lies at the socket's path."""
    path = "/tmp/maple-nobody-%d" % os.getpid()
    try:
        if what == "stale":
            socket.socket(socket.AF_UNIX).bind(path)
        elif what == "a file":
            stand.write(path, b"MPR1")
        elif what == "a folder":
            os.mkdir(path)
        elif what == "a link to nothing":
            os.symlink("/proc/nowhere/socket", path)
        without_helper(stand, path)
        as_bare(stand)
    finally:
        if os.path.isdir(path):
            os.rmdir(path)
        elif os.path.lexists(path):
            os.unlink(path)


# -- the daemon is killed -------------------------------------------------------------------------------------------

KILL = "import os, signal\ndef kill(*words, **more): os.kill(os.getpid(), signal.SIGKILL)\n"
MOMENTS = {
    "before it accepts": "from maple_daemon.serve.server import Server\nServer._accepted = kill\n",
    "before it reads": "from maple_daemon.serve.server import Server\nServer._talk = kill\n",
    "after the request": "from maple_daemon.decide.handlers import Handler\nHandler.answer = kill\n",
    "while it decides": """
from maple_daemon.decide.workers import Workers
decide = Workers.decide
def deciding(*words):
    decide(*words)
    import asyncio
    asyncio.get_running_loop().call_later(0.01, kill)
    return asyncio.get_running_loop().create_future()
Workers.decide = deciding
""",
    "before it replies": "from maple_submit_filter.host import frames\nframes.pack_reply = kill\n",
    "half of the reply is out": """
from asyncio import StreamWriter
old = StreamWriter.write
def write(self, data):
    if data[:4] != b"MPR1":
        return old(self, data)
    os.write(self.get_extra_info("socket").fileno(), data[: len(data) // 2])
    kill()
StreamWriter.write = write
""",
    "after the reply": "from maple_daemon.serve.server import Server\nServer._learn = kill\n",
    "before it writes": "from maple_daemon.store.sql import SqlStore\nSqlStore.keep_decision = kill\n",
    "while it writes": """
from maple_daemon.store.sqlite import SqliteRunner
change = SqliteRunner.change
def changing(self, *changes):
    self._connection.execute("BEGIN IMMEDIATE")
    for one in changes:
        self._connection.executemany(one.statement, one.values)
    kill()
SqliteRunner.change = changing
""",
    "after it has written": """
from maple_daemon.store.sql import SqlStore
keep = SqlStore.keep_decision
def keeping(*words):
    keep(*words)
    kill()
SqlStore.keep_decision = keeping
""",
}
ANSWERED = {"after the reply", "before it writes", "while it writes", "after it has written"}  # perhaps: they race


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_any_moment_it_costs_the_submission_nothing(shipped: Stand, moment: str) -> None:
    """What is submitted is what the user wrote or what the daemon had answered; the next daemon serves on, with a
    store that is whole and no process of the first one left."""
    one = Broken(KILL + MOMENTS[moment])
    try:
        one.start()
        assert one.process is not None
        theirs = children(one.process.pid)
        without_helper(shipped, one.socket)
        bare, maple = shipped.both(["job.sh"], environment={"RECORD_EXIT": "3"})
        assert (maple.stdout, maple.stderr, maple.exit) == (bare.stdout, bare.stderr, 3)
        assert maple.values(b"environ") == bare.values(b"environ")
        if moment in ANSWERED and maple.script != WRONG:
            assert_repaired(maple.script)
        else:
            assert bare == maple
        assert one.process.wait(60) == -signal.SIGKILL
        until(lambda: not any(alive(pid) for pid in theirs))
        one.first = ""
        one.start()
        assert "laid aside" not in one.said
        served(one)
    finally:
        one.end()


def alive(pid: int) -> bool:
    """Whether the process runs still."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def assert_repaired(script: bytes) -> None:
    """Check that a script is what is made of `WRONG` without any memory, but for the record's id."""
    made = answer.answer(request(), GENERIC_SLURM, Policy(), ())
    assert made.change is not None and made.change.script is not None
    assert script.splitlines()[:-1] == made.change.script.splitlines()[:-1]


def served(daemon: Broken) -> None:
    """Check that the daemon answers as it should."""
    reply = daemon.ask(request())
    assert reply is not None and reply.change is not None and reply.change.script is not None
    assert_repaired(reply.change.script)


def answered(daemon: Broken, what: Request | None = None) -> bool:
    """Whether it answers at all."""
    try:
        return daemon.ask(what or request()) is not None
    except OSError:
        return False


# -- its own faults -------------------------------------------------------------------------------------------------


@pytest.fixture
def own(request: pytest.FixtureRequest) -> Iterator[Broken]:
    """A daemon for one test, not started; what is broken in it comes as the fixture's parameter."""
    made = Broken(**getattr(request, "param", {}))
    yield made
    made.end()


def test_killed_workers_are_replaced(own: Broken) -> None:
    """Whoever was waiting is sent to his own helper, or answered."""
    own.start()
    assert own.process is not None
    served(own)
    for pid in children(own.process.pid):
        os.kill(pid, signal.SIGKILL)
    other = request(WRONG + b"# other\n")
    reply = own.ask(other)
    assert reply is None or reply.ask_helper or reply.change is not None
    until(lambda: (own.ask(request(WRONG + b"# %d\n" % time.monotonic_ns())) or other_reply()).change is not None)
    until(lambda: len(children(own.process.pid)) == 2 if own.process else False)


def other_reply() -> frames.Reply:
    """A reply that changes nothing."""
    return frames.Reply(bytes(16), bytes(32))


SLEEPY = """
import maple_daemon.decide.workers as workers, os
old = workers.Workers.__init__
def init(self, count, snapshot, seconds=1.0, program=(), *more, **named):
    old(self, count, snapshot, 1.0, program or (%r, snapshot, workers._LIBRARY), *more, **named)
workers.Workers.__init__ = init
"""


def test_a_decider_that_hangs_delays_nobody_whose_answer_is_known(tmp_path: Any) -> None:
    """It is ended; the script that it hung on is left to its user's own helper from then on, others are decided."""
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import sys, time\n"
        "sys.path.insert(0, %r)\nsys.path.insert(0, sys.argv[2])\n"
        "from maple_submit_filter.answer import decision\n"
        "import worker as real\n"
        "made = decision.decide\n"
        "def slow(submission, site, read):\n"
        "    if b'sleepy' in submission.script: time.sleep(3600)\n"
        "    return made(submission, site, read)\n"
        "decision.decide = slow\n"
        "try: real.main(sys.argv[1])\n"
        "except EOFError: pass\n" % os.path.dirname(os.path.abspath(_worker()))
    )
    own = Broken(SLEEPY % str(worker)).start()
    try:
        served(own)
        sleepy = own.ask(request(WRONG + b"# sleepy\n", deadline=50))
        assert sleepy is None
        served(own)
        until(lambda: (own.ask(request(WRONG + b"# sleepy\n", deadline=50)) or other_reply()).ask_helper)
        before = own.counted("maple_connections_total").get('how="decided"', 0)
        until(lambda: (own.ask(request(WRONG + b"# awake\n")) or other_reply()).change is not None)
        again = own.ask(request(WRONG + b"# sleepy\n", deadline=50))
        assert again is not None and again.ask_helper
        assert own.counted("maple_connections_total")['how="decided"'] >= before
    finally:
        own.end()


def _worker() -> str:
    from maple_daemon.decide import worker

    return worker.__file__


def test_no_process_can_be_started_and_later_one_can(own: Broken) -> None:
    """As where no descriptor, process or memory is left for a while."""
    own.first = """
import asyncio, time
real, until = asyncio.create_subprocess_exec, time.monotonic() + 3
async def create(*words, **more):
    if time.monotonic() < until:
        raise OSError(24, "Too many open files")
    return await real(*words, **more)
asyncio.create_subprocess_exec = create
"""
    own.start()
    assert own.ask(request(deadline=50)) is None
    until(lambda: own.ask(request(deadline=50)) is not None)
    served(own)


def test_a_full_disk_costs_the_memory_and_no_answer() -> None:
    """The store lies on a file system of 200 KiB; what fits no more is not remembered, and that is said."""
    own = Broken()
    disk = own.folder + "/disk"
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", disk], capture_output=True).returncode:
        own.end()
        pytest.skip("no file system can be mounted here")
    try:
        _store_at(own, disk + "/memory.db")
        own.start()
        for number in range(40):
            assert own.ask(request(WRONG + b"# %d %s\n" % (number, b"x" * 8000))) is not None
        until(lambda: "full" in own.said)
        assert "Traceback" not in own.said
        served(own)
        assert own.counted("maple_store_errors_total")[""] >= 1
    finally:
        own.end()
        subprocess.run(["umount", disk], capture_output=True)
        shutil.rmtree(own.folder, ignore_errors=True)


def _store_at(own: Broken, path: str) -> None:
    with open(own.folder + "/daemon.toml", encoding="utf-8") as file:
        text = file.read()
    with open(own.folder + "/daemon.toml", "w", encoding="utf-8") as file:
        file.write(text.replace(own.store, path))
    own.store = path


def test_a_file_that_may_not_grow_costs_the_memory_and_no_answer() -> None:
    """RLIMIT_FSIZE; the log is the journal's there, so it is kept short here."""
    own = Broken("import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)", {resource.RLIMIT_FSIZE: 60_000})
    try:
        own.start()
        for number in range(10):
            assert own.ask(request(WRONG + b"# %d %s\n" % (number, b"x" * 9000))) is not None
        until(lambda: "the store does not work" in own.said or own.counted("maple_store_errors_total")[""] >= 1)
        served(own)
    finally:
        own.end()


def test_a_store_that_may_only_be_read_costs_the_memory_and_no_answer(own: Broken) -> None:
    """It lies on a file system that is mounted so."""
    own.start()
    served(own)
    own.stop()
    if subprocess.run(["mount", "--bind", own.folder, own.folder], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    elsewhere = Broken()
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", own.folder], check=True)
        _store_at(elsewhere, own.store)
        elsewhere.start()
        served(elsewhere)
        assert elsewhere.counted("maple_store_errors_total")[""] >= 1
    finally:
        elsewhere.end()
        subprocess.run(["umount", own.folder], check=True)


def test_a_store_that_breaks_while_it_is_open_is_laid_aside_and_answers_go_on(own: Broken) -> None:
    """Every page but the first is overwritten; what it held is decided anew."""
    own.start()
    for number in range(20):
        assert own.ask(request(WRONG + b"# %d\n" % number)) is not None
    own.stop()
    with open(own.store, "r+b") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(4096)
        file.write(os.urandom(size - 4096))
    own.start()
    served(own)
    for number in range(20):
        assert own.ask(request(WRONG + b"# %d\n" % number)) is not None
    until(lambda: any(".broken-" in name for name in os.listdir(own.folder)))
    assert "Traceback" not in own.said


def test_a_damaged_row_is_decided_anew(own: Broken) -> None:
    """And written again, so that it is whole for the next."""
    own.start()
    served(own)
    until(lambda: _rows(own.store, "decisions") >= 1)
    own.stop()
    for damage in (b"", b"{}", b"\xff" * 40, b'{"format":1}', b"[" * 100_000):
        with sqlite3.connect(own.store) as store:
            store.execute("UPDATE decisions SET learnt = ?", (damage,))
        store.close()
        own.start()
        served(own)
        own.stop()
        assert "Traceback" not in own.said


def _rows(path: str, table: str) -> int:
    import contextlib

    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as store:
        return int(store.execute("SELECT COUNT(*) FROM %s" % table).fetchone()[0])
    return 0


def test_out_of_descriptors_it_refuses_callers_and_goes_on() -> None:
    """With 64 of them, and 200 callers who stay."""
    own = Broken(limits={resource.RLIMIT_NOFILE: 64}, per_user={"rate": 10000, "burst": 10000, "connections": 500})
    staying: list[socket.socket] = []
    try:
        own.start()
        for _ in range(200):
            with contextlib.suppress(BlockingIOError):  # the queue is full
                staying.append(own.connect())
        for one in staying:
            one.close()
        until(lambda: answered(own))  # where even accepting failed, it is tried again after a second
        served(own)
        assert own.process is not None and own.process.poll() is None
        assert "Traceback" not in own.said
        assert own.said.count("out of system resource") < 100
    finally:
        own.end()


def test_more_than_memory_is_for_is_not_held(own: Broken) -> None:
    """Long submissions that nobody decides in time: their bytes are bounded, and the next caller is served."""
    own.first = """
import maple_daemon.decide.workers as workers
async def never(self): await __import__("asyncio").sleep(3600)
workers.Workers._serve = never
"""
    own.start()
    long = b"#!/bin/bash\nsrun python train.py\n" + b"# x\n" * (120 << 10)
    for number in range(100):
        with contextlib.suppress(OSError):  # refused before all of it is sent
            own.ask(request(long + b"# %d\n" % number, deadline=10))
    assert own.process is not None
    assert resident(own.process.pid) < 400 << 20
    assert own.counted("maple_connections_total")['how="busy"'] >= 50
    until(lambda: answered(own, request(b"#!/bin/bash\n", MAPLE="off")))  # once the share of its user has grown again


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    with open("/proc/%d/statm" % pid, encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("jump", [-86400 * 365 * 30, 86400 * 365 * 10], ids=["back", "forth"])
def test_a_wall_clock_that_jumps_costs_no_answer_and_no_memory(own: Broken, jump: int) -> None:
    """Thirty years back, ten forth: what is known stays known, also when it is time to remove what is old."""
    own.first = """
import time, os
real, start = time.time, time.monotonic()
time.time = lambda: real() + (%d if os.path.exists(%r) else 0)
import maple_daemon.remember.memory as remembering
remembering.PURGE = 1.0
remembering.purging.__defaults__ = (1.0,)
""" % (jump, own.folder + "/jumped")
    own.start()
    served(own)
    until(lambda: _rows(own.store, "versions") == 1 and _rows(own.store, "decisions") >= 1)
    open(own.folder + "/jumped", "w").close()
    purges = own.said.count('"purged"')
    until(lambda: own.said.count('"purged"') >= purges + 3)
    served(own)
    assert own.counted("maple_connections_total")['how="memory"'] >= 1
    assert (_rows(own.store, "versions"), _rows(own.store, "decisions") >= 1) == (1, True)
    own.ask(request(WRONG + b"# after\n"))
    until(lambda: _rows(own.store, "versions") == 2)


def test_two_daemons_share_a_store(own: Broken) -> None:
    """What one has decided the other knows; both write at once and nothing is lost."""
    other = Broken()
    _store_at(other, own.store)
    try:
        own.start()
        other.start()
        served(own)
        until(lambda: _rows(own.store, "decisions") >= 1)

        def remembered() -> bool:
            served(other)
            return other.counted("maple_connections_total").get('how="memory"', 0) >= 1

        until(remembered)
        for number in range(20):
            for one in (own, other):
                assert one.ask(request(WRONG + b"# %s %d\n" % (one.socket.encode(), number))) is not None
        until(lambda: _rows(own.store, "versions") == 41)
        assert not own.counted("maple_store_errors_total")[""] + other.counted("maple_store_errors_total")[""]
    finally:
        other.end()


def test_of_two_started_at_once_on_one_socket_one_serves(own: Broken) -> None:
    """The other says so and ends; whoever asks is answered."""
    second = Broken(socket=own.socket)
    second.socket = own.socket
    try:
        own.start(wait=False)
        second.start(wait=False)
        until(lambda: own.listens != second.listens)
        winner, loser = (own, second) if own.listens else (second, own)
        assert loser.process is not None and loser.process.wait(30) == 2
        reply = winner.ask(request())
        assert reply is not None and reply.change is not None
    finally:
        second.end()


def test_who_reads_his_answer_slowly_gets_all_of_it_and_delays_nobody(own: Broken) -> None:
    """An answer of a megabyte: more than a socket holds."""
    own.start()
    long = WRONG + b"# x\n" * (100 << 10)
    until(lambda: (own.ask(request(long)) or other_reply()).change is not None)
    with own.connect() as slow:
        slow.sendall(frames.pack_request(request(long)))
        time.sleep(0.3)
        served(own)
        reply = receive(slow)
        assert reply is not None and reply.change is not None and reply.change.script is not None
        assert len(reply.change.script) > len(long)


def test_a_long_answer_to_a_question_comes_whole_also_to_a_slow_reader(own: Broken) -> None:
    """What the kernel does not take at once is waited for, to the last byte."""
    own.start()
    for number in range(4):
        assert own.ask(request(WRONG + b"# %d\n" % number * 20_000)) is not None
    question = b'{"ask": "versions", "scripts": true}'

    def answer(pause: float) -> bytes:
        with own.connect() as one:
            one.sendall(b"MPH1" + len(question).to_bytes(4, "big") + question)
            found = b""
            while part := one.recv(8192):
                found += part
                time.sleep(pause)
            return found

    until(lambda: len(json.loads(answer(0)[8:]).get("found", [])) == 4)
    slow = answer(0.002)
    assert len(slow) > 300_000 and len(slow) == 8 + int.from_bytes(slow[4:8], "big")


def test_so_many_bytes_wait_for_a_worker_and_no_more() -> None:
    """Of one user, and of all; a user's first is taken while there is room for it."""

    async def waiting() -> list[int]:
        workers = Workers(0, "")
        taken = dict.fromkeys(range(20), 0)
        for uid in taken:
            with contextlib.suppress(Busy):
                for _ in range(10):
                    workers.decide(uid, bytes(6 << 20))
                    taken[uid] += 1
        await workers.stop()
        return list(taken.values())

    assert asyncio.run(waiting()) == [2] * 10 + [1] + [0] * 9


def test_fast_callers_beside_slow_ones_are_all_served(own: Broken) -> None:
    """Fifty that send a byte a second, and five that submit without a pause."""
    own.start()
    frame = frames.pack_request(request())
    answers: list[frames.Reply | None] = []
    slow = [own.connect() for _ in range(50)]

    def submit() -> None:
        answers.extend(own.ask(request()) for _ in range(20))

    fast = [threading.Thread(target=submit) for _ in range(5)]
    for thread in fast:
        thread.start()
    for at in range(3):
        for one in slow:
            one.sendall(frame[at : at + 1])
        time.sleep(0.2)
    for thread in fast:
        thread.join()
    assert len(answers) == 100 and None not in answers
    for one in slow:
        one.close()
