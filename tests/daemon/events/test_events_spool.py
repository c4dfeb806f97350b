"""The spool: everybody may write there, nobody can deceive there, and nothing is lost while nobody listens."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator

import pytest
from maple_daemon.base.peers import started
from maple_daemon.outcomes import spool
from maple_daemon.outcomes.spool import NoSpool, Spool
from maple_daemon.store import open_store
from maple_submit_filter.answer.audit_line import host
from maple_submit_filter.types.job_records import Record

from tests.daemon.serving import Daemon

SALT = "00112233445566778899aabbccddeeff"
NOBODY = 65534
root = pytest.mark.skipif(os.getuid() != 0, reason="only root may write as somebody else")


@pytest.fixture
def folder(tmp_path: object) -> str:
    """A spool as it is installed."""
    path = str(tmp_path) + "/spool"
    os.mkdir(path)
    os.chmod(path, 0o1733)
    return path


def event(job: str = "7", uid: int | None = None, **more: object) -> bytes:
    """The end of a job of ours."""
    told = {
        "v": 1,
        "event": "ended",
        "scheduler": "slurm",
        "source": "test",
        "job": job,
        "state": "FAILED",
        "exit": "3:0",
    }
    return json.dumps({**told, "uid": os.getuid() if uid is None else uid, **more}).encode()


def leave(folder: str, name: str, data: bytes = b"", uid: int | None = None) -> str:
    """Leave a file there, as that user."""
    path = folder + "/" + name
    with open(path, "wb") as file:
        file.write(data)
    if uid is not None:
        os.chown(path, uid, uid)
    return path


def test_events_stay_until_they_are_kept(folder: str) -> None:
    """Looking takes nothing away."""
    leave(folder, "ended.abcdefgh", event())
    leave(folder, "submitted,7,12,34,login1," + SALT)
    own = Spool(folder, ())
    found = own.look()
    assert [one.job for one in found.ended.values()] == ["7"]
    assert [(one.pid, one.uid) for one in found.submitted.values()] == [(12, os.getuid())]
    assert len(os.listdir(folder)) == 2 and not found.refused
    own.done([*found.ended, *found.submitted, "../other", "x"])
    assert os.listdir(folder) == []


def test_what_pretends_to_be_an_event_is_removed_and_said(folder: str, tmp_path: object) -> None:
    """Links, pipes, folders, long ones, two names of one file: nothing is followed, waited for or read."""
    other = leave(str(tmp_path), "precious", event("8"))
    os.symlink(other, folder + "/ended.symlinkto")
    os.link(other, folder + "/ended.hardlinked")
    os.mkfifo(folder + "/ended.pipepipe")
    os.mkdir(folder + "/ended.folderfolder")
    leave(folder, "ended.longlong", event(name="x" * 5000))
    leave(folder, "ended.nonsense", b"{")
    leave(folder, "submitted,7,12,34,login1," + SALT, b"not empty")
    leave(folder, "submitted,7,12,34,login1,short")
    found = Spool(folder, ()).look()
    assert not found.ended and not found.submitted and sum(found.refused.values()) == 8
    assert os.listdir(folder) == ["ended.folderfolder"]
    with open(other, "rb") as file:
        assert file.read() == event("8")


def test_what_is_none_of_ours_is_left_alone(folder: str) -> None:
    """A folder that was named by mistake loses nothing; a young draft is left to its writer, an old one is not."""
    for name in ("passwd", "ended", "ended.", ".ended.young567", "submitted", "x" * 200, "ended.abc def"):
        leave(folder, name, b"x")
    old = leave(folder, ".ended.oldoldold", b"x")
    os.utime(old, (1, 1))
    Spool(folder, ()).look()
    assert len(os.listdir(folder)) == 7 and not os.path.exists(old)


@pytest.mark.parametrize("mode", [0o777, 0o733, 0o770], ids=oct)
def test_a_folder_in_which_others_may_remove_files_is_refused(folder: str, mode: int) -> None:
    """The line says what to do."""
    os.chmod(folder, mode)
    with pytest.raises(NoSpool, match="chmod 1733"):
        Spool(folder, ()).look()


def test_a_folder_that_is_a_link_or_absent_is_refused(folder: str) -> None:
    """One line, no traceback."""
    os.symlink(folder, folder + "-link")
    for path in (folder + "-link", folder + "-absent"):
        with pytest.raises(NoSpool):
            Spool(path, ()).look()


@root
def test_only_the_schedulers_users_say_how_a_job_ended(folder: str) -> None:
    """The kernel says whose file it is."""
    leave(folder, "ended.forgery1", event(uid=0), NOBODY)
    found = Spool(folder, ()).look()
    assert not found.ended and sum(found.refused.values()) == 1
    leave(folder, "ended.forgery2", event(uid=0), NOBODY)
    assert len(Spool(folder, (NOBODY,)).look().ended) == 1


@root
def test_a_flood_of_one_user_does_not_hide_the_others(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is more than one user may leave is removed; what the scheduler told comes first."""
    monkeypatch.setattr(spool, "MOST_OF_USER", 100)
    for number in range(150):
        leave(folder, "submitted,%d,12,34,login1,%s" % (number, SALT), uid=NOBODY)
    leave(folder, "submitted,7,12,34,login2," + SALT)
    leave(folder, "ended.abcdefgh", event())
    found = Spool(folder, ()).look()
    assert len(found.ended) == 1 and 0 in {one.uid for one in found.submitted.values()}
    assert len(os.listdir(folder)) == 102
    monkeypatch.setattr(spool, "MOST_NAMES", 20)
    found = Spool(folder, ()).look()
    assert len(found.ended) == 1 and found.more


# With a real daemon.


@pytest.fixture
def own(folder: str) -> Iterator[Daemon]:
    """A daemon that watches the spool, not started."""
    made = Daemon(spool=folder, roles=["submissions", "events"], events_socket=folder + ".sock")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.stop(signal.SIGKILL)
    shutil.rmtree(made.folder)


def records(daemon: Daemon) -> list[Record]:
    """What the store has."""
    store = open_store(daemon.store, lambda why: None)
    try:
        return store.records(os.getuid())
    finally:
        store.close()


def submission(daemon: Daemon) -> Record:
    """Put a submission by this very process into the store."""
    pid = os.getpid()
    made = Record(
        "0" * 15 + "1", "v", os.getuid(), time.time(), host(), pid, started(pid), "repair", "clean", (), "memory"
    )
    store = open_store(daemon.store, lambda why: None)
    store.keep_record(made)
    store.close()
    return made


def until(true: Callable[[], object]) -> None:
    """Wait for what is to come."""
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def told(folder: str, job: str = "7", draft: bool = True) -> None:
    """Leave the word of the filter and that of the hook, as they do."""
    pid = os.getpid()
    leave(folder, "submitted,%s,%d,%d,%s,%s" % (job, pid, started(pid), host(), SALT))
    os.rename(leave(folder, ".ended.abcdefgh", event(job)), folder + "/ended.abcdefgh")


def test_what_came_while_nobody_listened_is_heard_at_the_start(own: Daemon, folder: str) -> None:
    """The job is joined, its end is known, and the spool is empty then; so it is with what comes later."""
    submission(own)
    told(folder)
    own.start()
    until(lambda: records(own)[0].outcome is not None)
    one = records(own)[0]
    assert one.outcome is not None
    assert (one.job, one.joined, one.outcome.state, one.outcome.exit_code) == ("7", "filter", "failed", 3)
    until(lambda: os.listdir(folder) == [])


def test_the_word_about_a_submission_waits_for_its_record(own: Daemon, folder: str) -> None:
    """Also through a restart."""
    told(folder)
    own.start()
    until(lambda: len(os.listdir(folder)) == 1)
    own.stop()
    submission(own)
    own.start()
    until(lambda: records(own)[0].outcome is not None)


def test_an_event_is_taken_over_the_socket(own: Daemon, folder: str) -> None:
    """One line, and the word that it is kept; nonsense is hung up on, and the next is heard."""
    submission(own)
    own.start()
    for data, answer in ((b"nonsense\n", b""), (b"", b""), (event() + b"\n", b"kept\n")):
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(30)
            one.connect(folder + ".sock")
            one.sendall(data)
            one.shutdown(socket.SHUT_WR)
            assert one.recv(64) == answer
    assert "Traceback" not in own.said


@root
def test_a_user_who_is_not_the_schedulers_is_not_heard(own: Daemon, folder: str, tmp_path: object) -> None:
    """Whatever the mode of the socket lets him do."""
    own.start()
    for path in (str(tmp_path), os.path.dirname(str(tmp_path)), os.path.dirname(os.path.dirname(str(tmp_path)))):
        os.chmod(path, 0o755)
    program = "import socket, sys; s = socket.socket(1); s.connect(sys.argv[1]); "
    program += "s.sendall(sys.argv[2].encode() + b'\\n'); print(s.recv(9))"
    words = ["/usr/bin/python3", "-c", program, folder + ".sock", event("7", 0).decode()]
    done = subprocess.run(words, user=1234, capture_output=True, text=True, timeout=60, check=False)
    assert "kept" not in done.stdout
    until(lambda: "not the scheduler" in own.said)


def test_a_spool_that_goes_and_comes_back_is_used_again(own: Daemon, folder: str) -> None:
    """It is said once while it is away; answers go on."""
    os.rename(folder, folder + ".away")
    own.start()
    until(lambda: "no such file" in own.said)
    submission(own)
    os.rename(folder + ".away", folder)
    told(folder)
    until(lambda: records(own)[0].outcome is not None)
