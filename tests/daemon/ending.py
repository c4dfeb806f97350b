"""A daemon with a spool: jobs are submitted by processes of their own, and end as the scheduler's hook tells."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

from maple_daemon.base.peers import started
from maple_daemon.store import open_store
from maple_submit_filter.answer import reply as answer
from maple_submit_filter.answer.audit_line import host
from maple_submit_filter.host import frames
from maple_submit_filter.host.frames import Reply, Request

from tests.daemon.serving import Daemon, receive, request

FIRST = 4710  # the next job has the number above
SALT = "00112233445566778899aabbccddeeff"
ASKED = b"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py --lr 0.1
"""


class Job(NamedTuple):
    """What was submitted, by a process of its own, and what was answered."""

    number: int
    record: str
    reply: Optional[Reply]
    script: bytes


class Cluster:
    """A daemon with a spool, and what submits to it and tells it how jobs ended."""

    def __init__(self, folder: str, under: tuple[str, ...] = (), **settings: object) -> None:
        self.spool = folder + "/spool"
        os.mkdir(self.spool)
        os.chmod(self.spool, 0o1733)
        self.daemon = Daemon(
            spool=self.spool, per_user={"rate": 100000, "burst": 100000, "connections": 500}, **settings
        )
        self.daemon.under = under
        self.daemon.start()
        self.number = FIRST

    def submit(self, script: bytes, may_ask: bool = True, uid: int = os.getuid(), **said: object) -> Job:
        """Submit as a process that becomes sbatch would; *said*: words and paths of the submission that are others."""
        self.number += 1
        asked = request(script, uid)._replace(may_ask=may_ask)
        asked = asked._replace(submission=asked.submission._replace(**said))
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
        self.tell(job.number, job.record, state, seconds, ran, uid)

    def end_of(self, record: dict[str, Any], state: str, seconds: float, ran: bytes) -> None:
        """The same of a submission that came through a front, as the service has it; *ran*: the job's script."""
        self.number += 1
        words = (self.number, record["pid"], record["pid_started"], record["host"], SALT)
        self.leave("submitted,%d,%d,%d,%s,%s" % words, b"", os.getuid())
        self.tell(self.number, record["id"], state, seconds, ran, os.getuid())

    def tell(self, number: int, record: str, state: str, seconds: float, ran: bytes, uid: int) -> None:
        """Tell of a job's end, and wait until that is learnt."""
        now = int(time.time())
        told = {
            "v": 1, "event": "ended", "scheduler": "slurm", "source": "test", "job": str(number), "uid": uid,
            "state": state, "exit": "0:0" if state == "COMPLETED" else "1:0", "submitted": now, "started": now,
            "ended": now + int(seconds), "script_hash": hashlib.sha256(ran).hexdigest(), "name": "job.sh",
        }  # fmt: skip
        self.leave("ended.%08d" % number, json.dumps(told).encode(), os.getuid())
        self.until(lambda: self.is_learnt(record))

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

    def until_all_is_learnt(self) -> None:
        """Wait until what the ends so far came to is held in memory: a later end shows in an answer."""
        others = b"".join(b"export V%d_%d=1\n" % (self.number, one) for one in range(40))
        job = b"#SBATCH --job-name=later-%d\n#SBATCH --nodes" % self.number
        later = ASKED.replace(b"#SBATCH --nodes", job, 1).replace(b"export HEAD", others + b"export HEAD")
        self.end(self.submit(later), "COMPLETED", 500, accepted=True)
        self.until_answered(later, "known-good")

    def until_answered(self, script: bytes, verdict: str, uid: int = os.getuid()) -> Job:
        """Submit until the answer is of that kind: what was learnt is held within a moment."""
        end = time.monotonic() + 60
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
