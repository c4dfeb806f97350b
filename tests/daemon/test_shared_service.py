"""A service of a user of its own, as the units start it: it serves root and others, and opens no file of theirs."""

from __future__ import annotations

import os
import signal
import stat
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from maple_daemon.base import settings
from maple_daemon.cli import daemon as program
from maple_daemon.serve import service
from maple_daemon.store import sqlite

from tests.daemon.asking import ask
from tests.daemon.breaking import as_user, until, without_helper
from tests.daemon.serving import WITH_A_FILE, WRONG, Daemon, request
from tests.doubles.stand import PYTHON, Stand, build, compiled

SERVICE, BOB = 41011, 41012
pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become several users")


@pytest.fixture
def shared() -> Iterator[Daemon]:
    """A service of `SERVICE`, in a fork: that user need not be able to reach the tests' interpreter."""
    assert settings and service and sqlite  # read while they can be
    made = Daemon()
    os.chmod(made.folder, 0o755)
    os.chown(made.folder, SERVICE, SERVICE)
    pid = os.fork()
    if pid == 0:
        _serve(made)
    try:
        until(lambda: os.path.exists(made.log) and '"listening"' in made.said)
        yield made
    finally:
        os.kill(pid, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, made.said


def _serve(made: Daemon) -> None:
    """Be the service. What is opened, and by which name, is written down."""
    status = 1
    try:
        os.setgroups([])
        os.setresgid(SERVICE, SERVICE, SERVICE)
        os.setresuid(SERVICE, SERVICE, SERVICE)
        os.umask(0o077)
        opened = os.open(made.folder + "/opened", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        log = os.open(made.log, os.O_WRONLY | os.O_CREAT)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
        sys.executable, sys.argv = PYTHON, ["maple-daemon", "--config", made.folder + "/daemon.toml"]

        def seen(event: str, given: tuple[Any, ...]) -> None:
            if event == "open":
                os.write(opened, str(given[0]).encode("utf-8", "replace") + b"\n")

        sys.addaudithook(seen)
        program.main()
    except SystemExit as ended:
        status = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def test_root_and_others_are_served_by_the_kernel_s_word(shared: Daemon) -> None:
    """Each is known by himself, none can be another, and each reads his own records alone."""
    for uid in (BOB, 0):
        for how in ("decided", "memory"):
            before = shared.counted("maple_connections_total").get('how="%s"' % how, 0)
            reply = as_user(uid, lambda uid=uid: shared.ask(request(uid=uid)))  # type: ignore[misc]
            assert reply is not None and reply.change is not None
            assert shared.counted("maple_connections_total")['how="%s"' % how] == before + 1
        as_user(uid, lambda uid=uid: until(lambda: _records(shared) == 2))  # type: ignore[misc]
    for own, said in ((BOB, 0), (BOB, SERVICE), (0, BOB)):
        assert as_user(own, lambda said=said: shared.ask(request(uid=said))) is None  # type: ignore[misc]
    assert as_user(SERVICE, lambda: _records(shared)) == 0


def _records(daemon: Daemon) -> int:
    return len(ask(daemon, {"ask": "records", "limit": 10}, b"MPH1").get("found", []))


def test_it_opens_no_file_of_a_user_s_and_its_own_are_its_own(shared: Daemon) -> None:
    """A file that decides is left to the user's helper, although everybody may read it."""
    home = Path(shared.folder) / "bob"
    home.mkdir(mode=0o755)
    (home / "where.sh").write_text("WHICH=0\n")
    asked = request(WITH_A_FILE, uid=BOB)
    asked = asked._replace(submission=asked.submission._replace(cwd=os.fsencode(home)))
    reply = as_user(BOB, lambda: shared.ask(asked))
    assert reply is not None and reply.ask_helper
    assert shared.ask(request(uid=0)) is not None
    until(lambda: _records(shared) == 1)
    for name in ("memory.db", "memory.db-wal"):
        found = os.stat(os.path.join(shared.folder, name))
        assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (SERVICE, 0o600), name
    assert stat.S_IMODE(os.stat(shared.socket).st_mode) == 0o666
    opened = (Path(shared.folder) / "opened").read_text().splitlines()
    assert shared.folder + "/daemon.toml" in opened  # so it is seen what is opened
    assert not [one for one in opened if "bob" in one or "where.sh" in one]


def test_root_s_front_takes_no_change_of_it(shared: Daemon, tmp_path: Path) -> None:
    """Whether its settings name the service's user or not; what others take of it, `test_front_service.py` says."""
    stand = Stand(str(tmp_path), build(), compiled("sbatch", str(tmp_path)))
    stand.write("job.sh", WRONG)
    without_helper(stand, shared.socket)
    assert stand.run(True, ["job.sh"]).script == WRONG
    without_helper(stand, shared.socket, service_uid=SERVICE)
    assert stand.run(True, ["job.sh"]).script == WRONG
