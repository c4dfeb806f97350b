"""A user is told once, in one line, of a job that failed: with the next submission, or by the next question."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import time
import types
from typing import Any

import pytest
from maple_agents.ask.memory import service
from maple_agents.ask.memory.service import Failure, failure_of
from maple_agents.verify.exchange.command_line import job_name
from maple_daemon.outcomes.notices import MOST_OF_USER, Failures
from maple_daemon.store import open_store
from maple_submit_filter.types.job_records import STATES, Outcome

from tests.daemon.asking import found
from tests.daemon.ending import Cluster, by_child
from tests.daemon.serving import WRONG, request

RIGHT = b"#!/bin/bash\n#SBATCH --nodes=1\nsrun python train.py\n"
UID = os.getuid()
OTHER = 64321


def ended(cluster: Cluster, job: str, state: str = "FAILED", at: float = 0.0, uid: int = UID, **more: object) -> None:
    """The scheduler's hook tells of an end; return when the store has it."""
    now = int(time.time() - at)
    array = job.partition("_")[0] if "_" in job else ""
    told = {
        "v": 1, "event": "ended", "scheduler": "slurm", "source": "test", "job": job, "array": array, "uid": uid,
        "state": state, "exit": "0:0" if state == "COMPLETED" else "1:0", "submitted": now - 200, "started": now - 131,
        "ended": now, "name": "train.sh", **more,
    }  # fmt: skip
    cluster.leave("ended.%s" % job.replace("_", "t").rjust(12, "0"), json.dumps(told).encode(), UID)
    cluster.until(lambda: held(cluster, job, uid))


def held(cluster: Cluster, job: str, uid: int) -> bool:
    store = open_store(cluster.daemon.store, create=False)
    rows = store._run.rows("SELECT 1 FROM outcomes WHERE job = ? AND uid = ?", (job, uid))  # type: ignore[attr-defined]
    store.close()
    return bool(rows)


def said(cluster: Cluster, script: bytes = RIGHT, uid: int = UID, **more: Any) -> bytes:
    """What a submission on a terminal is told."""
    asked = request(script, uid)
    asked = asked._replace(**{"terminal": True, **more})
    reply, _, _ = by_child(cluster.daemon, asked, uid)
    assert reply is not None
    return reply.say


LINE = b"maple: job 4711 (train.sh) failed after 0:02:11: exit code 1; maple-fix 4711\n"


def test_the_next_submission_tells_of_it_once(cluster: Cluster) -> None:
    """Before what it has to say of the script, and never again, after a restart neither."""
    ended(cluster, "4711")
    told = said(cluster, WRONG)
    assert told.startswith(LINE + b"maple: job.sh: changed before submitting (MPL304")
    assert LINE not in said(cluster, WRONG)
    cluster.daemon.stop()
    cluster.daemon.start()
    assert said(cluster) == b""


def test_a_restart_before_that_forgets_nothing(cluster: Cluster) -> None:
    """What was not told yet is read from the store."""
    ended(cluster, "4711")
    cluster.daemon.stop()
    cluster.daemon.start()
    assert said(cluster) == LINE


def test_nobody_hears_of_anothers_jobs(cluster: Cluster) -> None:
    """Not with a submission, and not by a question."""
    ended(cluster, "4711", uid=OTHER)
    assert said(cluster) == b"" and found(cluster.daemon, ask="failures") == []
    assert said(cluster, uid=OTHER) == LINE


@pytest.mark.parametrize(
    "how",
    [
        {"terminal": False}, {"mode": "off"}, {"mode": "observe"}, {"mode": "verbose"},
        {"news": "no"},
    ],
    ids=str,
)  # fmt: skip
def test_where_nobody_reads_nothing_is_told_and_nothing_is_lost(cluster: Cluster, how: dict[str, Any]) -> None:
    """No terminal; switched off; where the site only observes; MAPLE=verbose into a file; MAPLE_NEWS=no."""
    ended(cluster, "4711")
    names = {"mode": "MAPLE", "news": "MAPLE_NEWS"}
    asked = request(RIGHT, **{names[name]: value for name, value in how.items() if name in names})
    asked = asked._replace(terminal=how.get("terminal", True))
    reply, _, _ = by_child(cluster.daemon, asked, UID)
    assert reply is not None and b"4711" not in reply.say
    assert said(cluster) == LINE


@pytest.mark.parametrize("state", ["CANCELLED by 1000", "COMPLETED", "PREEMPTED", "PENDING"])
def test_what_is_no_failure_is_not_told(cluster: Cluster, state: str) -> None:
    """The user ended it; it ran well; it comes again."""
    ended(cluster, "4711", state)
    ended(cluster, "4712")
    assert said(cluster).startswith(b"maple: job 4712 (train.sh) failed after 0:02:11: exit code 1; maple-fix 4712\n")
    assert said(cluster) == b""


def test_what_is_older_than_a_week_is_not_told(cluster: Cluster) -> None:
    """Neither when it is heard late, nor when it waited in the store."""
    ended(cluster, "4711", at=8 * 86400)
    assert said(cluster) == b""
    ended(cluster, "4712", at=6 * 86400)
    assert b"job 4712" in said(cluster)


def test_several_are_one_line(cluster: Cluster) -> None:
    """The newest is named; an array is one job."""
    ended(cluster, "4711", at=300)
    for task in (1, 2, 3):
        ended(cluster, "4712_%d" % task, "TIMEOUT", at=200 - task)
    ended(cluster, "4713", "OUT_OF_MEMORY", at=100)
    told = said(cluster)
    assert all(row.startswith(b"maple: ") and len(row) <= 80 for row in told.splitlines())
    assert b"maple-fix 4713" in told  # on one line: it is copied
    told = told.replace(b"\nmaple:   ", b" ")
    assert (
        told.startswith(b"maple: job 4713 (train.sh) failed after 0:02:11")
        and b": out of memory; maple-fix 4713" in told
    )
    assert told.endswith(b"; maple-fix 4713; 2 more of your jobs failed too\n")
    ended(cluster, "4712_4", "TIMEOUT")
    assert said(cluster) == b""


def test_a_question_takes_them(cluster: Cluster) -> None:
    """As `maple` asks; the job that the user looks at already is not told of."""
    ended(cluster, "4711")
    ended(cluster, "4712")
    (told,) = found(cluster.daemon, ask="failures", seen="4712")
    assert Failure(*told).job == "4711" and Failure(*told).exit_code == 1
    assert found(cluster.daemon, ask="failures") == [] and said(cluster) == b""


def test_two_services_with_one_store_tell_it_once(cluster: Cluster, tmp_path: Any) -> None:
    """The second one hears of an end, and of who was told, from the store."""
    ended(cluster, "4711", at=60)
    os.mkdir(str(tmp_path) + "/other")
    other = Cluster(str(tmp_path) + "/other", store=cluster.daemon.store)
    try:
        ended(cluster, "4712")
        assert b"4712" in said(cluster)
        cluster.until(lambda: told_of(cluster) == {"4711", "4712"})
        time.sleep(5)  # the other one looks every two
        assert said(other) == b""
    finally:
        other.daemon.stop(signal.SIGKILL)
        shutil.rmtree(other.daemon.folder)


def told_of(cluster: Cluster) -> set[str]:
    store = open_store(cluster.daemon.store, create=False)
    found = {job for job, _, _ in store.notices(0.0)}
    store.close()
    return found


@pytest.mark.parametrize("seen", ["30", "30.pbs01", "30[2]", "30_7"])
def test_a_job_is_looked_at_by_any_of_its_names(seen: str) -> None:
    """PBS's has the server behind it; a task is of its array."""
    kept: list[object] = []
    keeper: Any = types.SimpleNamespace(do=kept.append)
    made = Failures(keeper, keeper, lambda: 1000.0)
    job = "30[].pbs01" if "[" in seen else "30.pbs01" if "_" not in seen else "30"
    made.heard([Outcome(job, "failed", 7, "test", 1, ended=900.0), Outcome("31", "failed", 7, "test", 1, ended=800.0)])
    assert [one.job for one in made.take(7, seen)] == ["31"]
    assert not made.waits(7) and len(kept) == 3


@pytest.mark.parametrize("name", ["mv-4bf66318", "maple-verify-4bf66318"])
def test_a_job_of_verify_is_not_told_of(name: str) -> None:
    """`maple verify` itself has; another job with a name alike is told of."""
    keeper: Any = types.SimpleNamespace(do=lambda work: None)
    made = Failures(keeper, keeper, lambda: 1000.0)
    made.heard([Outcome("30", "failed", 7, "test", 1, ended=900.0, name=name)])
    made.heard([Outcome("31", "failed", 7, "test", 1, ended=900.0, name=name[:-1])])
    assert [failure.job for failure in made.take(7)] == ["31"]


def test_a_job_that_comes_again_is_not_told_of() -> None:
    """It was put back into its queue; and who has too many failures is told of the newest."""
    kept: list[object] = []
    keeper: Any = types.SimpleNamespace(do=kept.append)
    made = Failures(keeper, keeper, lambda: 1000.0)
    one = Outcome("30", "failed", 7, "test", 1, ended=900.0)
    made.heard([one])
    assert made.waits(7)
    made.heard([one._replace(state="requeued")])
    assert not made.waits(7)
    made.heard([one._replace(job=str(number), ended=float(number)) for number in range(1, 2 * MOST_OF_USER)])
    told = made.take(7)
    assert len(told) == MOST_OF_USER and told[0].job == str(2 * MOST_OF_USER - 1)
    made.heard([one._replace(job=told[0].job), one._replace(job="5", uid=8, ended=None)])
    assert not made.waits(7) and made.take(8)[0].seconds is None


@pytest.mark.parametrize(
    "job, whole",
    [
        ("4711", "4711"), ("4711_3", "4711"), ("4711+1", "4711"), ("12[3].pbs_a", "12[].pbs_a"),
        ("12.pbs_2", "12.pbs_2"), ("12[].x", "12[].x"),
    ],
)  # fmt: skip
def test_a_task_is_told_as_its_whole_job(job: str, whole: str) -> None:
    """Names of servers may hold the same signs."""
    assert service.whole(job) == whole


def test_failures_are_states_that_nobody_wished_for() -> None:
    """A word about what is not known is said of nobody."""
    failing = {state for state in STATES if failure_of(Outcome("1", state, UID, "test")) is not None}
    assert failing == {"failed", "timeout", "out-of-memory", "node-failed"}


@pytest.mark.parametrize("scheduler", ["slurm", "pbs"])
def test_jobs_of_maple_s_own_are_nobody_s_failures(scheduler: str) -> None:
    """The command that submitted them told how they ended; a name that only begins so is a user's."""
    own = job_name(scheduler, secrets.token_hex(4))
    for name, failed in ((own, False), ("maple-doctor", False), (own + "x", True), ("mv-results", True)):
        assert (failure_of(Outcome("1", "failed", UID, "test", 1, name=name)) is not None) == failed


def test_what_is_not_known_is_left_out() -> None:
    """And a cause that was found stands in place of the exit code."""
    one = Failure("7", "", "failed")
    assert service.failures_line([one]) == "maple: job 7 failed; maple-fix 7"
    assert service.failures_line([one], lambda job: "no module named 'x'") == (
        "maple: job 7 failed: no module named 'x'; maple-fix 7"
    )
    assert service.failures_line([]) == ""
    shown = service.failures_line([Failure("7", "a\x1b[31m\nb" + "x" * 200, "failed", signal=9)])
    assert "\x1b" not in shown and "\n" not in shown and len(shown) < 200 and ": signal 9;" in shown
