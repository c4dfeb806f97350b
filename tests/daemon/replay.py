"""Submissions by many users replayed through the handler, each held against what is answered without any memory.

The order of users and jobs is that of a real cluster (tests/cases/replay), the scripts are our own corpora. Between two
submissions of a job it is edited, renamed, made an array or a sweep, its variables, its file or the site change.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
from typing import Iterator, NamedTuple, Optional

from maple_agents.ask import sites
from maple_daemon.base.peers import Peer
from maple_daemon.decide.exact import SESSION, Memory
from maple_daemon.decide.handlers import Handler
from maple_daemon.decide.rules_in_force import InForce
from maple_daemon.decide.workers import Decided
from maple_daemon.remember import description, versions
from maple_daemon.remember.description import Question
from maple_submit_filter.answer import decision, packing
from maple_submit_filter.answer import reply as answer
from maple_submit_filter.answer.decision import Decision
from maple_submit_filter.host import frames
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.host.frames import Reply, Request
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.site.modes import Policy
from maple_submit_filter.types.job_records import Value
from maple_submit_filter.types.submission import Submission

from tests.case_files import CASES
from tests.reality import corpus
from tests.submit_filter import rule_cases

KINDS = ("byte", "words", "variable", "site", "rules", "file")  # of a change after which nothing known may be answered


class Job(NamedTuple):
    """A job as its owner would submit it next. *file*: one that the script reads, "" for none."""

    uid: int
    scheduler: str
    script: bytes
    words: tuple[bytes, ...]
    path: bytes
    environment: tuple[tuple[bytes, bytes], ...]
    file: str = ""


class Counts(NamedTuple):
    """*hits*: answered from memory; *helped*: by the caller's helper. *unequal*: not as without memory.

    *false*: answered from memory though exactly this was never submitted. *values*, *differ*: read anew, and of those
    not as a full reading has them.
    """

    submissions: int = 0
    mutations: int = 0
    hits: int = 0
    helped: int = 0
    unequal: int = 0
    false: int = 0
    versions: int = 0
    lineages: int = 0
    reused: int = 0
    read: int = 0
    values: int = 0
    differ: int = 0


class _Decider:
    """Decides at once, as the daemon's workers do: without any file."""

    def __init__(self) -> None:
        self.site = GENERIC_SLURM

    def decide(self, uid: int, frame: bytes) -> asyncio.Future[Decided]:
        wanted: list[bytes] = []

        def read(path: bytes) -> Optional[bytes]:
            wanted.append(path)
            return None

        request = frames.unpack_request(frame)
        made = packing.pack(decision.decide(answer.whole(request.submission), self.site, read))
        done: asyncio.Future[Decided] = asyncio.get_running_loop().create_future()
        done.set_result(Decided(made, bool(wanted)))
        return done


class Replay:
    """One run. *folder*: for the files that scripts read."""

    def __init__(self, seed: int, folder: str) -> None:
        self.dice, self.folder = random.Random(seed), folder
        self.decider = _Decider()
        self.in_force = [_in_force("generic-slurm"), _in_force("ncsa-delta"), _other_rules(_in_force("generic-slurm"))]
        self.handler = Handler(self.in_force[0], Memory(), self.decider)
        self.scripts = sorted(scripts())
        self.jobs: dict[tuple[int, int], Job] = {}
        self.seen: set[object] = set()
        self.known: dict[object, Decision] = {}
        self.history: dict[int, list[versions.Known]] = {}
        self.counts = Counts()

    async def run(self, number: int, mutated: float, read: bool = True) -> Counts:
        """Replay *number* submissions; after that share of them each kind of change is tried on what was submitted."""
        for at, (user, name, again) in enumerate(_forever(arrivals())):
            if at == number:
                break
            job = self.jobs.get((user, name)) or self._first(user, name)
            job = self.jobs[user, name] = self._next(job) if self.dice.random() < (0.03 if again else 0.5) else job
            await self.submit(job)
            self._count(submissions=1)
            if read:
                self._version(job)
            if not again and self.dice.random() < mutated:
                for kind in KINDS:
                    await self._mutated(job, kind)
        return self.counts

    async def submit(self, job: Job) -> None:
        """Submit as the front does, and compare."""
        request = self._request(job)
        exact = self._exact(job)
        handled = await self.handler.answer(request, frames.pack_request(request), Peer(1, job.uid, frozenset(), 1))
        reply = handled.reply
        assert reply is not None
        if handled.how == "memory" and not reply.conditions:
            self._count(hits=1, false=int(exact not in self.seen))
        if reply.ask_helper or any(packing.facts_of(one.path) != one.facts for one in reply.conditions):
            reply = self._helped(request, handled.key)
        elif reply.conditions:
            self._count(hits=1, false=int(exact not in self.seen))
        self.seen.add(exact)
        expected = answer.answered(request, self._site.site, Policy(), "repair", self._decision(request, exact))
        self._count(unequal=int(_said(reply) != _said(expected)))

    def _helped(self, request: Request, key: bytes) -> Reply:
        self._count(helped=1)
        reply = answer.answer(request, self._site.site, Policy(), ())
        if reply.learnt:
            self.handler.learn(key, request.submission.uid, reply.learnt)
        return reply

    def _decision(self, request: Request, exact: object) -> Decision:
        """What is decided without any memory but this: of exactly the same with the same files once is enough."""
        if exact not in self.known:
            self.known[exact] = decision.decide(answer.whole(request.submission), self._site.site, read_file)
        return self.known[exact]

    async def _mutated(self, job: Job, kind: str) -> None:
        """Change one thing, submit, and put it back."""
        before = self.handler.in_force
        if kind == "site":
            self._put_in_force(self.in_force[1] if before is not self.in_force[1] else self.in_force[0])
        elif kind == "rules":
            self._put_in_force(_other_rules(before))
        elif kind == "file":
            self._rewrite(job)
        else:
            job = self._changed(job, kind)
        await self.submit(job)
        self._put_in_force(before)
        self._count(mutations=1)

    def _changed(self, job: Job, kind: str) -> Job:
        if kind == "byte":
            at = self.dice.randrange(len(job.script))
            new = bytes([self.dice.choice(b"0123456789abcxyz -=$\n\"'#")])
            return job._replace(script=job.script[:at] + new + job.script[at + 1 :])
        if kind == "words":
            return job._replace(words=(*job.words, b"--comment=%d" % self.dice.randrange(1 << 30)))
        return job._replace(environment=(*job.environment, (b"NCCL_DEBUG", b"%d" % self.dice.randrange(1 << 30))))

    def _next(self, job: Job) -> Job:
        """The job as it may be submitted the next time."""
        kind = self.dice.choice(
            ("edit", "edit", "edit", "rename", "array", "sweep", "variable", "file", "site", "back")
        )
        if kind == "edit":
            lines = job.script.split(b"\n")
            at = self.dice.randrange(1, len(lines)) if len(lines) > 1 else 0
            pieces = (b"# later", b"export LR=0.%d" % self.dice.randrange(9), b"echo $LR", b"module load x")
            change = self.dice.randrange(3)
            lines[at : at + (change > 0)] = [self.dice.choice(pieces)] if change < 2 else []
            return job._replace(script=b"\n".join(lines))
        if kind == "rename":
            return job._replace(path=b"/home/u%d/renamed-%d.sh" % (job.uid, self.dice.randrange(99)))
        if kind in ("array", "sweep"):
            flag = {"slurm": b"--array=0-%d", "pbs": b"-J0-%d"}[job.scheduler]
            word = flag if kind == "array" else b"--job-name=lr%d" if job.scheduler == "slurm" else b"-Nlr%d"
            return job._replace(words=(word % self.dice.randrange(1, 20),))
        if kind == "variable":
            return job._replace(environment=((b"NCCL_DEBUG", self.dice.choice((b"INFO", b"WARN"))),))
        if kind == "file":
            self._rewrite(job)
        if kind == "site":
            self._put_in_force(self.dice.choice(self.in_force))
        return job._replace(words=()) if kind == "back" else job

    def _first(self, user: int, name: int) -> Job:
        scheduler, script = self.dice.choice(self.scripts)
        file = ""
        if self.dice.random() < 0.2 and scheduler == "slurm":
            file = os.path.join(self.folder, "u%d-%d.sh" % (user, name))
            lines = script.split(b"\n")
            last = max((at for at, line in enumerate(lines) if line.startswith(b"#")), default=0)
            script = b"\n".join([*lines[: last + 1], b"source " + file.encode(), *lines[last + 1 :]])
        job = Job(1000 + user, scheduler, script, (), b"/home/u%d/job%d.sh" % (user, name), (), file)
        self._rewrite(job)
        return job

    def _rewrite(self, job: Job) -> None:
        if job.file:
            with open(job.file, "w", encoding="utf-8") as file:
                file.write("export NNODES=%d\nexport MASTER_PORT=%d\n" % (
                    self.dice.randrange(1, 5), self.dice.randrange(20000, 30000)))  # fmt: skip

    def _put_in_force(self, new: InForce) -> None:
        self.handler.in_force, self.decider.site = new, new.site

    @property
    def _site(self) -> InForce:
        return self.handler.in_force

    def _request(self, job: Job) -> Request:
        command = b"sbatch" if job.scheduler == "slurm" else b"qsub"
        argv = (command, *job.words, job.path)
        around = {**dict(job.environment), b"HOME": b"/home/u%d" % job.uid, b"HOSTNAME": b"login%d" % (job.uid % 3)}
        one = Submission(job.scheduler, argv, job.script, "file", job.path, b"/", job.uid, around)
        nonce = bytes(self.dice.randrange(256) for _ in range(16))
        return Request(nonce, hashlib.sha256(job.script).digest(), one, len(argv) - 1, 0, False, True, 5000)

    def _exact(self, job: Job) -> object:
        """Everything that an answer may depend on, as it is, not as a hash."""
        one = self._request(job).submission
        around = tuple(
            sorted(pair for pair in one.environment.items() if pair[0] not in SESSION or pair[0] in job.script)
        )
        text = ""
        if job.file and job.file.encode() in job.script:  # an edit may have taken the line away
            with open(job.file, encoding="utf-8") as file:
                text = file.read()
        return self._site.facts, job.uid, job.scheduler, one.argv, job.script, around, text

    def _version(self, job: Job) -> None:
        """Take the submission for a version, and hold what is known of it against a full reading."""
        request, known = self._request(job), self.history.setdefault(job.uid, [])
        told = description.described(request, GENERIC_SLURM)
        version = versions.version_of(told, known, float(len(known)))
        if any(one.version.id == version.id for one in known):
            return
        made = versions.reuse(told, known)
        fresh = _values(request, [one.hash for one in made.again])
        values = tuple(dict.fromkeys((*made.values, *fresh)))
        full = _values(request, [one.hash for one in told.parts])
        known.insert(0, versions.known_of(version._replace(values=values)))
        self._count(
            versions=1, lineages=int(not version.parent), reused=len(made.same), read=len(made.again),
            values=len(full), differ=len(set(values) ^ set(full)),
        )  # fmt: skip

    def _count(self, **more: int) -> None:
        self.counts = Counts(*(one + more.get(name, 0) for name, one in self.counts._asdict().items()))


def arrivals() -> Iterator[tuple[int, int, bool]]:
    """Yield user, job, and whether it is the one before once more."""
    with open(os.path.join(CASES, "replay", "arrivals.txt"), encoding="utf-8") as file:
        for word in file.read().split():
            who, _, times = word.partition("x")
            user, _, name = who.partition(":")
            for at in range(int(times or 1)):
                yield int(user), int(name), at > 0


def _forever(order: Iterator[tuple[int, int, bool]]) -> Iterator[tuple[int, int, bool]]:
    """Yield the order again and again, each time by other users."""
    kept = list(order)
    users = max(user for user, _, _ in kept) + 1
    time = 0
    while True:
        yield from ((user + time * users, name, again) for user, name, again in kept)
        time += 1


def scripts() -> Iterator[tuple[str, bytes]]:
    """Yield the scripts of our corpora that are not too long for thousands of readings, with their scheduler."""
    written = [file.content for file in corpus.as_files() if file.path.endswith(".sh") and len(file.content) < 4000]
    for script in (*written, *(script for _, script in rule_cases.scripts(rule_cases.OF_LAUNCH))):
        yield "pbs" if b"#PBS" in script else "slurm", script


def _values(request: Request, wanted: list[str]) -> list[Value]:
    question = Question(frames.pack_request(request), b"", tuple(wanted))
    return [Value(*one) for one in description.answer(question, GENERIC_SLURM)["values"]]


def _in_force(site_id: str) -> InForce:
    site = GENERIC_SLURM if site_id == GENERIC_SLURM.id else sites.load(site_id)
    return InForce(site, Policy(), hashlib.sha256(site_id.encode()).digest(), "")


def _other_rules(now: InForce) -> InForce:
    """What is in force when a rule has changed: the hash of the code is another."""
    return now._replace(facts=hashlib.sha256(now.facts + b"another rule").digest())


def _said(reply: Reply) -> tuple[object, ...]:
    """What the front would do and show: all but the time in the audit line."""
    change = reply.change
    return change and (change.script, change.argv), reply.say, reply.question, reply.offer and reply.offer.script
