"""On a terminal: the line about a failed job through the front and through `maple`; nothing of it anywhere else."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from maple_agents.ask.memory.service import NoService, ask

from tests.daemon.ending import Cluster
from tests.daemon.test_told_failures import ended
from tests.doubles.stand import LIB, Stand, build, compiled, on_terminal

LINE = b"maple: job 4711 (train.sh) failed after 0:02:11: exit code 1; maple-fix 4711\n"
HELPER = os.path.join(LIB, "maple_submit_filter", "helper.py")
CALL = "import sys; from maple_agents.cli.main import main; main(sys.argv[1:])"
FIX = "from maple_agents.cli.fix.command import main; main()"
WORD = b"sbatch: a word on stderr\n"  # of the double
WELL = b"#!/bin/bash\n#SBATCH -N 1\nsrun python train.py\n"


def environment(cluster: Cluster, **more: str) -> dict[str, str]:
    return {**os.environ, "MAPLE_SOCKET": cluster.daemon.socket, "TERM": "xterm", "COLUMNS": "200", **more}


def maple(cluster: Cluster, folder: str, *words: str, code: str = CALL, **more: str) -> tuple[bytes, int]:
    argv = [sys.executable, "-c", code, *words]
    return on_terminal(sys.executable, argv, environment(cluster, **more), folder)


def test_the_front_shows_it_on_a_terminal_alone(cluster: Cluster, tmp_path: Any) -> None:
    """stdout and exit are those of sbatch; into a pipe nothing is written, and the line waits for a terminal."""
    os.mkdir(tmp_path / "stand")
    stand = Stand(str(tmp_path / "stand"), build(), compiled("sbatch", str(tmp_path)))
    stand.configure(socket=cluster.daemon.socket, socket_ms=20000, helper=HELPER)
    stand.write("job.sh", WELL)
    ended(cluster, "4711")
    piped = stand.run(True, ["job.sh"])
    assert (piped.stdout, piped.stderr, piped.exit) == (b"Submitted batch job 7\n", WORD, 0)
    shown = on_terminal(stand.front, ["sbatch", "job.sh"], stand.environment(), stand.work)
    assert shown[1] == 0 and shown[0].startswith(LINE) and shown[0].count(b"4711") == 2
    shown = on_terminal(stand.front, ["sbatch", "job.sh"], stand.environment(), stand.work)
    assert shown[1] == 0 and b"4711" not in shown[0] and b"Submitted batch job 7\n" in shown[0]


def test_maple_ends_with_it_on_a_terminal(cluster: Cluster, tmp_path: Any) -> None:
    """Not with --json, not where MAPLE=off, not into a pipe; once."""
    ended(cluster, "4711")
    quiet = [
        maple(cluster, str(tmp_path), "templates", "list", "--json")[0],
        maple(cluster, str(tmp_path), "explain", "MPL301", MAPLE="off")[0],
        subprocess.run(
            [sys.executable, "-c", CALL, "explain", "MPL301"], env=environment(cluster), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True, timeout=60,
        ).stdout,
    ]  # fmt: skip
    assert all(b"4711" not in one for one in quiet)
    shown, code = maple(cluster, str(tmp_path), "explain", "MPL301")
    assert code == 0 and shown.endswith(LINE)
    assert b"4711" not in maple(cluster, str(tmp_path), "explain", "MPL301")[0]


def test_the_job_that_is_looked_at_is_not_told_of(cluster: Cluster, tmp_path: Any) -> None:
    """`maple-fix 4711` has said it already; the exit code is its own."""
    ended(cluster, "4711")
    shown, code = maple(cluster, str(tmp_path), "4711", code=FIX, PATH="/proc/nowhere")
    assert code in (1, 2) and b"failed after" not in shown
    assert b"4711" not in maple(cluster, str(tmp_path), "explain", "MPL301")[0]


def test_a_service_that_is_slow_or_away_is_not_waited_for(tmp_path: Any) -> None:
    """The deadline is one for the whole exchange, also where bytes trickle in."""
    path = str(tmp_path / "slow")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        over = threading.Event()

        def trickle() -> None:
            one, _ = listening.accept()
            with one, contextlib.suppress(BrokenPipeError):  # the asker goes at its deadline
                one.sendall(b"MPJ1\x00\x00\xff\xff")
                while not over.wait(0.05):
                    one.sendall(b" ")

        thread = threading.Thread(target=trickle)
        thread.start()
        began = time.monotonic()
        os.environ["MAPLE_SOCKET"] = path
        try:
            with pytest.raises(NoService):
                ask({"ask": "failures"}, seconds=0.1)
        finally:
            del os.environ["MAPLE_SOCKET"]
            over.set()
            thread.join(10)
        assert time.monotonic() - began < 3  # a hang would last as long as bytes come


def test_what_is_no_answer_says_nothing(cluster: Cluster, tmp_path: Any) -> None:
    """An older service refuses the question; a stranger's answer has another shape."""
    for answer in ({"wrong": "unknown question"}, {"found": {"a": 1}}, {"found": [1]}, {"found": [["1"]]}):
        path = str(tmp_path / "other")
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            listening.listen()
            thread = threading.Thread(target=answered, args=(listening, json.dumps(answer).encode()))
            thread.start()
            shown, code = maple(cluster, str(tmp_path), "explain", "MPL301", MAPLE_SOCKET=path)
            thread.join(10)
        os.unlink(path)
        assert code == 0 and b"maple: " not in shown


def answered(listening: socket.socket, body: bytes) -> None:
    one, _ = listening.accept()
    with one:
        one.recv(4096)
        one.sendall(b"MPJ1" + len(body).to_bytes(4, "big") + body)
