"""The daemon answers as the helper would, from memory where it can; what is done to it harms one caller at most."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import struct
import time
from collections.abc import Iterator

import pytest
from maple_submit_filter.answer import packing, reply
from maple_submit_filter.host import frames
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.modes import Policy

from tests.daemon.serving import WITH_A_FILE, WRONG, Daemon, receive, request


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon for tests that leave it as it is."""
    made = Daemon(per_user={"rate": 100000, "burst": 100000, "connections": 500}).start()
    yield made
    made.stop()
    shutil.rmtree(made.folder)


@pytest.fixture
def own(request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """A daemon for one test, not started; settings come as the fixture's parameter."""
    made = Daemon(**getattr(request, "param", {}))
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop(signal.SIGKILL)
    shutil.rmtree(made.folder)


def test_it_answers_as_the_helper_does_and_the_second_time_from_memory(daemon: Daemon) -> None:
    """The same script but for the record's id in its last line; no rule is run again."""
    asked = request(WRONG + b"# one\n")
    expected = reply.answer(asked, GENERIC_SLURM, Policy(), ())
    first, second = daemon.ask(asked), daemon.ask(asked)
    assert first is not None and first.change is not None and expected.change is not None
    assert first.change.script == expected.change.script
    assert first.say == expected.say
    assert second == first._replace(change=first.change._replace(audit=second.change.audit))  # type: ignore[union-attr]
    assert daemon.counted("maple_connections_total")['how="memory"'] >= 1


@pytest.mark.parametrize(
    "other",
    [
        {"script": WRONG + b" "},
        {"script": WRONG.replace(b"nodes=2", b"nodes=3", 1)},
        {"MASTER_ADDR": "node1"},
        {"SBATCH_PARTITION": "other"},
    ],
    ids=str,
)
def test_what_differs_in_one_byte_is_decided_anew(daemon: Daemon, other: dict[str, object]) -> None:
    """Script or environment."""
    daemon.ask(request())
    before = daemon.counted("maple_connections_total").get('how="decided"', 0)
    daemon.ask(request(**{**other, "SALT": str(time.time())}))  # type: ignore[arg-type]
    assert daemon.counted("maple_connections_total")['how="decided"'] == before + 1


def test_a_script_that_takes_a_file_is_left_to_the_helper_and_then_known_while_the_file_stays(
    own: Daemon, tmp_path: object
) -> None:
    """The daemon opens no file; what the helper learnt holds under the condition that the file is as it was."""
    os.chdir(str(tmp_path))
    with open("where.sh", "w", encoding="utf-8") as file:
        file.write("WHICH=0\nMASTER_ADDR=node1\n")
    own.start()
    asked = request(WITH_A_FILE)
    by_helper = reply.answer(asked, GENERIC_SLURM, Policy(), ())
    assert by_helper.learnt
    with own.connect() as one:
        one.sendall(frames.pack_request(asked))
        told = receive(one)
        assert told is not None and told.ask_helper
        fields = (
            struct.pack(">II", 1, 16) + asked.nonce + struct.pack(">II", 13, len(by_helper.learnt)) + by_helper.learnt
        )
        one.sendall(b"MPL1" + struct.pack(">I", len(fields)) + fields)
        one.shutdown(socket.SHUT_WR)
        assert one.recv(1) == b""
    again = own.ask(asked)
    assert again is not None and not again.ask_helper
    assert [one.path for one in again.conditions] == [b"./where.sh"] or again.conditions
    assert again.conditions[0].facts == packing.facts_of(again.conditions[0].path)
    assert (again.change is None) == (by_helper.change is None)


def test_nobody_is_taken_for_somebody_else(daemon: Daemon) -> None:
    """The kernel says who calls; a request that says otherwise gets no answer."""
    assert daemon.ask(request(uid=os.getuid() + 1)) is None
    assert daemon.counted("maple_connections_total")['how="forged"'] >= 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"x",
        b"GET / HTTP/1.1\r\n\r\n",
        b"MPQ1\xff\xff\xff\xff",
        b"MPQ1\0\0\0\4abcd",
        b"MPR1\0\0\0\0",
        os.urandom(5000),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_garbage_is_hung_up_on(daemon: Daemon, garbage: bytes) -> None:
    """And the next caller is served."""
    with daemon.connect() as one:
        one.sendall(garbage)
        one.shutdown(socket.SHUT_WR)
        assert receive(one) is None
    assert daemon.ask(request()) is not None


def test_slow_callers_do_not_delay_others(daemon: Daemon) -> None:
    """A hundred that send half a request and wait."""
    frame = frames.pack_request(request())
    slow = [daemon.connect() for _ in range(100)]
    for one in slow:
        one.sendall(frame[: len(frame) // 2])
    assert daemon.ask(request()) is not None
    for one in slow:
        one.close()


@pytest.mark.parametrize("own", [{"per_user": {"rate": 0.001, "burst": 3}}], indirect=True, ids=["three"])
def test_who_asks_too_much_is_sent_to_its_own_helper(own: Daemon) -> None:
    """The front has one; nobody else waits for it."""
    own.start()
    assert [own.ask(request()) is not None for _ in range(5)] == [True, True, True, False, False]


def test_a_second_daemon_on_the_socket_says_so_and_ends(daemon: Daemon) -> None:
    """The first goes on."""
    second = Daemon(socket=daemon.socket)
    try:
        second.start(wait=False)
        assert second.process is not None and second.process.wait(20) == 2
        assert "another daemon" in second.said
        assert len(second.said.strip().splitlines()) == 1
    finally:
        shutil.rmtree(second.folder)
    assert daemon.ask(request()) is not None


def test_a_killed_daemon_leaves_a_socket_that_the_next_one_takes_over(own: Daemon) -> None:
    """With what was remembered."""
    own.start()
    assert own.ask(request()) is not None
    while not _remembered(own.store):
        time.sleep(0.02)
    for _ in range(5):  # a store that does not answer at once, on a busy machine, is not waited for
        own.stop(signal.SIGKILL)
        own.start()
        assert own.ask(request()) is not None
        if own.counted("maple_connections_total") == {'how="memory"': 1.0}:
            return
    pytest.fail("what was remembered is never found again")


def _remembered(path: str) -> bool:
    """Whether a decision is kept there; the tables may not be there yet."""
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as store:
        return bool(store.execute("SELECT 1 FROM decisions").fetchall())
    return False


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 500, None], ids=["empty", "garbage", "folder"])
def test_a_broken_store_leaves_answers_as_they_are(own: Daemon, content: bytes | None) -> None:
    """They are only not remembered."""
    if content is None:
        os.mkdir(own.store)
    else:
        with open(own.store, "wb") as file:
            file.write(content)
    own.start()
    assert own.ask(request()) is not None
    assert own.ask(request()) is not None


def test_a_locked_store_is_not_waited_for(own: Daemon) -> None:
    """Somebody holds it for longer than anybody waits."""
    own.start()
    holder = sqlite3.connect(own.store, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        began = time.monotonic()
        assert own.ask(request()) is not None
        assert time.monotonic() - began < 10
    finally:
        holder.rollback()
        holder.close()


def test_it_is_reloaded_and_stopped_by_signals(own: Daemon) -> None:
    """And leaves no process behind."""
    own.start()
    own.ask(request())
    assert own.process is not None
    own.process.send_signal(signal.SIGHUP)
    while "reloaded" not in own.said:
        time.sleep(0.02)
    assert own.ask(request()) is not None
    assert own.stop() == 0
    assert "Traceback" not in own.said
