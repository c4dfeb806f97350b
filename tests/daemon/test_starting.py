"""A process that cannot be started: said once with the reason, tried again less and less often, and counted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from maple_daemon.base.settings import Busy
from maple_daemon.decide import workers
from maple_daemon.decide.workers import Workers

from tests.daemon.breaking import Broken, until
from tests.daemon.serving import request
from tests.daemon.test_stopping import READY


class Said:
    """A log that holds what was said."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, Any]]] = []

    def error(self, event: str, **facts: Any) -> None:
        self.lines.append((event, facts))

    warning = error


def test_each_reason_is_said_once_and_tries_come_ever_later() -> None:
    """A day of it is a few lines, and a second lies between the first two tries only."""
    log, count = Said(), []
    made = workers.Starting("what decides", lambda: log, lambda: count.append(1))
    pauses = [made.failure("no memory") for _ in range(1000)]
    assert pauses[:4] == [1, 2, 4, 8] and max(pauses) == pauses[-1] == workers.LONGEST
    assert [facts["why"] for _, facts in log.lines] == ["no memory"]
    made.failure("no descriptor")
    assert [facts["why"] for _, facts in log.lines] == ["no memory", "no descriptor"]
    assert len(count) == 1001 and made.fails
    made.success()
    made.success()
    assert log.lines[2:] == [("starts again", {"what": "what decides", "failed": 1001})]
    assert made.failure("no memory") == 1 and len(log.lines) == 4 and made.fails


@pytest.mark.parametrize(
    "program, why",
    [
        ("raise SystemExit(3)", "it ended at once with status 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSYS)", "it was ended at once by signal 31"),
    ],
    ids=["ends", "killed"],
)
def test_a_process_that_ends_before_it_takes_anything_has_not_started(
    monkeypatch: pytest.MonkeyPatch, program: str, why: str
) -> None:
    """As one whose modules are gone, or that a filter of system calls ends; and nobody waits for it to answer."""
    log, count = Said(), []
    monkeypatch.setattr(workers, "log", lambda: log)
    monkeypatch.setattr(workers, "FIRST", 0.01)

    async def run() -> None:
        made = Workers(1, "", program=("-c", program), failed=lambda: count.append(1))
        await made.start()
        early = made.decide(1, b"before anybody knows")
        while len(count) < 3:
            await asyncio.sleep(0.01)
        with pytest.raises(Busy):
            made.decide(1, b"a frame")
        assert (await early).learnt == b""
        await made.stop()

    asyncio.run(run())
    assert [facts["why"] for _, facts in log.lines] == [why]


def test_a_submission_that_ends_the_process_is_no_failed_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """So nobody can keep all others waiting by sending what breaks it."""
    count: list[int] = []
    monkeypatch.setattr(workers, "PAUSE", 0.01)

    async def run() -> None:
        made = Workers(1, "", program=("-c", READY + "; sys.stdin.buffer.read(4)"), failed=lambda: count.append(1))
        await made.start()
        for _ in range(5):
            assert (await made.decide(1, b"dies")).learnt == b""
        await made.stop()

    asyncio.run(run())
    assert not count


def test_the_service_says_it_once_and_counts_it() -> None:
    """Its journal does not fill, the page of numbers tells how often, and once it works again that is said."""
    first = """

import maple_daemon.decide.workers as starting, maple_daemon.decide.workers as workers
starting.FIRST = starting.LONGEST = 0.05
workers._WORKER = %r
"""
    own = Broken()
    own.first = first % (own.folder + "/worker.py")
    try:
        own.start()
        until(lambda: own.counted("maple_failed_starts_total").get("", 0) > 5)
        assert own.ask(request(deadline=60_000)) is None  # at once: nothing is waited for
        assert len(_events(own, "cannot be started")) == 1
        from maple_daemon.decide import worker

        with open(own.folder + "/worker.py", "w", encoding="utf-8") as file:
            file.write("import runpy, sys\nsys.path.insert(0, sys.argv[2])\n")
            file.write("runpy.run_path(%r, run_name='__main__')\n" % worker.__file__)
        until(lambda: bool(_events(own, "starts again")))
        assert own.ask(request()) is not None
        assert len(_events(own, "cannot be started")) == 1
    finally:
        own.end()


def _events(own: Broken, what: str) -> list[dict[str, Any]]:
    told = [json.loads(line) for line in own.said.splitlines() if line.startswith("{")]
    return [one for one in told if str(one["event"]).startswith(what)]
