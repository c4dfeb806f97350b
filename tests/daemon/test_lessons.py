"""A running service learns from the ends of jobs: what ran is made again, what failed at once is taken back."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple, Optional

import pytest
from maple_daemon.peers import started
from maple_daemon.store.opening import open_store
from maple_submit_filter import answer, frames
from maple_submit_filter.frames import Reply, Request
from maple_submit_filter.records import host

from tests.daemon.asking import found
from tests.daemon.serving import WRONG, Daemon, receive, request

ASKED = b"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py --lr 0.1
"""
SALT = "00112233445566778899aabbccddeeff"


class Job(NamedTuple):
    """What was submitted, by a process of its own, and what was answered."""

    number: int
    record: str
    reply: Optional[Reply]
    script: bytes


class Cluster:
    """A daemon with a spool, and what submits to it and tells it how jobs ended."""

    def __init__(self, folder: str) -> None:
        self.spool = folder + "/spool"
        os.mkdir(self.spool)
        os.chmod(self.spool, 0o1733)
        self.daemon = Daemon(spool=self.spool, per_user={"rate": 100000, "burst": 100000, "connections": 500}).start()
        self.number = 4710

    def submit(self, script: bytes, may_ask: bool = True, uid: int = os.getuid()) -> Job:
        """Submit as a process that becomes sbatch would."""
        self.number += 1
        asked = request(script, uid)._replace(may_ask=may_ask)
        reply, begun, pid = by_child(self.daemon, asked, uid)
        name = "submitted,%d,%d,%d,%s,%s" % (self.number, pid, begun, host(), SALT)
        self.leave(name, b"", uid)
        return Job(self.number, answer.record_id(asked), reply, script)

    def end(self, job: Job, state: str, seconds: float, *, accepted: bool = False, uid: int = os.getuid()) -> None:
        """Let it end, and wait until that is known and learnt."""
        ran = job.script
        if job.reply is not None and (job.reply.change or job.reply.offer):
            change = job.reply.offer if accepted else job.reply.change
            ran = (change.script if change else None) or job.script
        now = int(time.time())
        told = {
            "v": 1, "event": "ended", "scheduler": "slurm", "source": "test", "job": str(job.number), "uid": uid,
            "state": state, "exit": "0:0" if state == "COMPLETED" else "1:0", "submitted": now, "started": now,
            "ended": now + int(seconds), "script_hash": hashlib.sha256(ran).hexdigest(), "name": "job.sh",
        }  # fmt: skip
        self.leave("ended.%08d" % job.number, json.dumps(told).encode(), os.getuid())
        self.until(lambda: self.is_learnt(job.record))

    def leave(self, name: str, data: bytes, uid: int) -> None:
        """Leave an event, whole, as that user."""
        draft = self.spool + "/.%s" % name
        with open(draft, "wb") as file:
            file.write(data)
        os.chown(draft, uid, uid)
        os.rename(draft, self.spool + "/" + name)

    def is_learnt(self, record: str) -> bool:
        """Whether the end of that submission is counted, and what was learnt of it held in memory."""
        store = open_store(self.daemon.store, create=False)
        rows = store._run.rows("SELECT counted FROM records WHERE id = ?", (record,))  # type: ignore[attr-defined]
        store.close()
        return bool(rows) and rows[0][0] not in ("", "-")

    def until(self, true: Callable[[], bool], seconds: float = 60) -> None:
        """Wait until something is so."""
        end = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < end, self.daemon.said
            time.sleep(0.05)

    def until_answered(self, script: bytes, verdict: str, uid: int = os.getuid()) -> Job:
        """Submit until the answer is of that kind: what was learnt is held within a moment."""
        end = time.monotonic() + 30
        while True:
            job = self.submit(script, uid=uid)
            if verdict_of(job) == verdict:
                return job
            assert time.monotonic() < end, (verdict_of(job), self.daemon.said)
            time.sleep(0.2)


def by_child(daemon: Daemon, asked: Request, uid: int) -> tuple[Optional[Reply], int, int]:
    """Ask as a process of its own; return the reply, and when that process began, and its id."""
    ends, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresuid(uid, uid, uid)
            os.read(go[0], 1)
            with daemon.connect() as one:
                one.sendall(frames.pack_request(asked))
                reply = receive(one)
                with os.fdopen(ends[1], "wb") as file:
                    file.write(frames.pack_reply(reply) if reply is not None else b"")
        finally:
            os._exit(0)
    begun = started(child)
    os.close(ends[1])
    os.write(go[1], b"g")
    with os.fdopen(ends[0], "rb") as file:
        frame = file.read()
    os.waitpid(child, 0)
    for fd in go:
        os.close(fd)
    return frames.unpack_reply(frame) if frame else None, begun, child


def verdict_of(job: Job) -> str:
    """What the audit line would say."""
    assert job.reply is not None
    if job.reply.offer is not None:
        return "offered"
    line = job.reply.change.audit if job.reply.change else job.reply.audit
    return str(json.loads(line)["verdict"]) if line else ""


@pytest.fixture
def cluster(tmp_path: object) -> Iterator[Cluster]:
    """One for a test alone."""
    made = Cluster(str(tmp_path))
    os.chmod(made.daemon.folder, 0o711)
    os.chmod(str(tmp_path), 0o711)
    yield made
    if made.daemon.process is not None and made.daemon.process.poll() is None:
        made.daemon.stop(signal.SIGKILL)
    shutil.rmtree(made.daemon.folder)


def test_what_the_user_said_yes_to_and_ran_is_made_unasked(cluster: Cluster) -> None:
    """At the next version of the job, after a restart too; of another edit it asks."""
    first = cluster.submit(ASKED)
    assert verdict_of(first) == "offered"
    cluster.end(first, "COMPLETED", 500, accepted=True)
    edited = ASKED.replace(b"--lr 0.1", b"--lr 0.2")
    again = cluster.until_answered(edited, "known-good")
    assert again.reply is not None and again.reply.change is not None
    assert b"--nproc-per-node=4" in (again.reply.change.script or b"")
    assert again.reply.say == b"maple: job.sh: MPL203 start 4 ranks on each node, as in job 4711, which ran\n"
    cluster.daemon.stop()
    cluster.daemon.start()
    assert verdict_of(cluster.until_answered(edited + b"echo done\n", "known-good")) == "known-good"
    other = edited.replace(b"gpus-per-node=4", b"gpus-per-node=2")
    assert verdict_of(cluster.submit(other)) == "offered"


def test_what_was_refused_or_not_seen_to_run_is_asked_about_again(cluster: Cluster) -> None:
    """The job ran as it was written; or failed later, which says nothing."""
    cluster.end(cluster.submit(ASKED), "COMPLETED", 500)
    cluster.end(cluster.submit(ASKED), "FAILED", 1000, accepted=True)
    time.sleep(2.5)
    assert verdict_of(cluster.submit(ASKED)) == "offered"


@pytest.mark.parametrize("end, then", [("FAILED", "repaired"), ("COMPLETED", "taken-back")])
def test_what_failed_at_once_is_taken_back_until_the_bare_script_fails_too(
    cluster: Cluster, end: str, then: str
) -> None:
    """One line says so, and the script goes as written; where that runs, it stays so."""
    first = cluster.submit(WRONG)
    assert verdict_of(first) == "repaired"
    cluster.end(first, "FAILED", 20)
    bare = cluster.until_answered(WRONG + b"# edited\n", "taken-back")
    assert bare.reply is not None and bare.reply.change is None
    said = b"maple: job.sh: MPL304's change was taken back: job 4711 failed at once with it; maple-fix 4711\n"
    assert bare.reply.say == said
    cluster.end(bare, end, 20)
    time.sleep(2.5)
    after = cluster.until_answered(WRONG, then)
    cluster.end(after, "FAILED", 20)
    time.sleep(2.5)
    assert verdict_of(cluster.submit(WRONG)) == then  # for good


@pytest.mark.skipif(os.getuid() != 0, reason="becomes other users")
def test_another_user_and_another_job_have_nothing_of_it(cluster: Cluster) -> None:
    """Neither of what ran nor of what failed."""
    cluster.end(cluster.submit(ASKED), "COMPLETED", 500, accepted=True)
    cluster.end(cluster.submit(WRONG), "FAILED", 20)
    cluster.until_answered(ASKED, "known-good")
    assert verdict_of(cluster.submit(ASKED, uid=12345)) == "offered"
    assert verdict_of(cluster.submit(WRONG, uid=12345)) == "repaired"
    job = b"#SBATCH --job-name=other\n" + b"".join(b"export V%d=1\n" % n for n in range(40))
    elsewhere = ASKED.replace(b"#SBATCH --nodes", job + b"#SBATCH --nodes", 1)
    assert verdict_of(cluster.submit(elsewhere)) == "offered"
    cluster.end(cluster.submit(ASKED, uid=12345), "COMPLETED", 500, accepted=True, uid=12345)
    assert b"4711" in (cluster.until_answered(ASKED, "known-good").reply or Reply(b"", b"")).say


def test_ends_are_in_the_sites_numbers_once(cluster: Cluster) -> None:
    """The sum of a day is the number of submissions."""
    jobs = [cluster.submit(WRONG) for _ in range(4)]
    for job, state in zip(jobs[:3], ("COMPLETED", "FAILED", "COMPLETED"), strict=True):
        cluster.end(job, state, 500)
    cluster.daemon.stop()
    store = open_store(cluster.daemon.store)
    counted = {(one.code, one.state): one.jobs for one in store.counted()}
    store.close()
    assert counted == {("MPL304", "completed"): 2, ("MPL304", "failed"): 1, ("MPL304", ""): 1}


def test_a_purge_reaches_what_the_service_holds_in_memory(cluster: Cluster) -> None:
    """Without a signal or a restart: decisions, versions, and what was learnt."""
    from click.testing import CliRunner
    from maple_daemon.cli.admin import admin

    cluster.end(cluster.submit(ASKED), "COMPLETED", 500, accepted=True)
    cluster.until_answered(ASKED, "known-good")
    decided = cluster.daemon.counted("maple_connections_total").get('how="decided"', 0)
    config = cluster.daemon.folder + "/daemon.toml"
    done = CliRunner().invoke(admin, ["purge", "--config", config, "--user", str(os.getuid())])
    assert done.exit_code == 0, done.output
    assert found(cluster.daemon, ask="records") == []
    cluster.until(lambda: "forgotten" in cluster.daemon.said)
    assert verdict_of(cluster.submit(ASKED)) == "offered"
    assert cluster.daemon.counted("maple_connections_total")['how="decided"'] == decided + 1
    cluster.until(lambda: len(found(cluster.daemon, ask="records")) == 1)
    (record,) = found(cluster.daemon, ask="records")
    assert [one["id"] for one in found(cluster.daemon, ask="versions")] == [record["version"]]
