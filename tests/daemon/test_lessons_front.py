"""Through the front: what was learnt reaches the caller's own helper, and what came too late is known the next time."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.daemon.asking import written
from tests.daemon.breaking import children
from tests.daemon.ending import Cluster
from tests.daemon.serving import WRONG
from tests.doubles.stand import LIB, Seen, Stand, build, compiled

HELPER = os.path.join(LIB, "maple_submit_filter", "helper.py")
SOURCES = WRONG.replace(b"export MASTER", b"source ./where.sh\nexport MASTER")


class Counted(Stand):
    """A front that knows how often it was called."""

    calls = 0

    def run(self, *words: Any, **how: Any) -> Seen:
        """Call it once more."""
        self.calls += 1
        return super().run(*words, **how)


@pytest.fixture
def stand(cluster: Cluster, tmp_path: Any) -> Counted:
    """A front before it."""
    made = Counted(str(tmp_path), build(), compiled("sbatch", str(tmp_path)))
    made.configure(socket=cluster.daemon.socket, socket_ms=20000, helper=HELPER)
    return made


def submitted(stand: Stand) -> Seen:
    """What the real sbatch saw."""
    seen = stand.run(True, ["job.sh"], environment={"MAPLE": "verbose"})
    assert seen.exit == 0
    return seen


def until(stand: Stand, said: bytes) -> Seen:
    """Submit until that is said."""
    end = time.monotonic() + 60
    while True:
        seen = submitted(stand)
        if said in seen.stderr:
            return seen
        assert time.monotonic() < end, seen.stderr
        time.sleep(0.3)


@pytest.mark.parametrize("how", ["another file", "another script"])
def test_the_helper_too_leaves_out_what_was_taken_back(cluster: Cluster, stand: Counted, how: str) -> None:
    """It is asked where a file is not as it was, and where a script is new; it knows by what the daemon has said."""
    stand.write("job.sh", SOURCES)
    stand.write("where.sh", b"DATA=/data/a\n")
    first = submitted(stand)
    assert first.script.startswith(b"#!/bin/bash") and b"# maple: repaired" in first.script, first.stderr
    cluster.end_of(written(cluster.daemon, 1)[0], "FAILED", 20, first.script)
    back = until(stand, b"submitted as written: job 4711 failed at once with the change")
    assert back.script == SOURCES
    if how == "another file":
        stand.write("where.sh", b"DATA=/data/b\n")
    else:
        stand.write("job.sh", SOURCES + b"echo done\n")
    seen = submitted(stand)
    assert b"failed at once with the change" in seen.stderr and b"# maple: repaired" not in seen.script
    record = written(cluster.daemon, stand.calls)[-1]
    assert (record["how"], record["verdict"], record["submitted_hash"]) == ("helper", "taken-back", "")
    cluster.end_of(record, "FAILED", 20, seen.script)
    end = time.monotonic() + 60
    while b"# maple: repaired" not in submitted(stand).script:
        assert time.monotonic() < end
        time.sleep(0.3)


@contextlib.contextmanager
def held_up(cluster: Cluster) -> Iterator[None]:
    """Let the daemon's workers stand still."""
    assert cluster.daemon.process is not None
    workers = children(cluster.daemon.process.pid)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in workers:
            os.kill(pid, signal.SIGCONT)


def test_what_is_decided_too_late_is_known_the_next_time(cluster: Cluster, stand: Stand) -> None:
    """The first one goes as written; nothing is decided twice."""
    long = WRONG + b"srun python other.py $A\n" * 300
    stand.write("job.sh", long)
    stand.configure(socket=cluster.daemon.socket, socket_ms=1000, helper="")
    with held_up(cluster):
        assert submitted(stand).script == long
        cluster.until(lambda: cluster.daemon.counted("maple_connections_total").get('how="late"') == 1)
    cluster.until(lambda: cluster.daemon.counted("maple_known_decisions").get("", 0) >= 1)
    stand.configure(socket=cluster.daemon.socket, socket_ms=60000, helper="")
    assert b"# maple: repaired" in submitted(stand).script
    counted = cluster.daemon.counted("maple_connections_total")
    assert (counted.get('how="memory"'), counted.get('how="decided"')) == (1, None)
