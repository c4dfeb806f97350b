"""One verification from the script to the verdict: exchange, submit, watch, clear up, judge."""

from __future__ import annotations

import contextlib
import getpass
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from maple_submit_filter.answer.decision import at_home, examined, understood
from maple_submit_filter.host.bounded_file import read_file
from maple_submit_filter.repair.search import State
from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.job import Job, line_of
from maple_submit_filter.types.submission import Submission

from ..ask.schedulers import Job as Submitted
from ..ask.schedulers import Scheduler, SchedulerError
from ..ask.verified_runs import CannotVerify
from .exchange.command_line import at_least, job_name
from .exchange.command_line import limits as words_for
from .exchange.exchange import exchanged, fit
from .exchange.launch_lines import Line
from .judge.comparison import Names
from .judge.outcome import judged
from .judge.scenes import Scene
from .judge.verdicts import Kind, Reason, Verdict, verdict_of
from .run.facts import Fact, Inbox, from_output, merged
from .run.runs import Run, Stage, complete, runs_of
from .run.watch import Interrupts, Limits, Until, Watched, watch
from .run.workplace import Opened, Workplace, clear_leftovers, shared_first

OUTPUT_AT_MOST = 1 << 20  # bytes of each of the job's outputs that are read, from the end
AFTERWARDS = 20.0  # seconds that a script has to tidy up behind its last launch line, before its job is cancelled
TO_END = 30.0  # seconds that a cancelled job may take to end: Slurm kills 30 s after it asked


@dataclass(frozen=True)
class Wanted:
    """What was asked for. *seconds*: for everything, once the job runs; *queue*: until it does."""

    submission: Submission
    site: Site
    words: tuple[str, ...] = ()  # on the submit command's line, before the script
    miniapp: str = "auto"
    seconds: float = 180.0
    queue: float = 900.0
    keep: bool = False
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


@dataclass
class Verified:
    """What came of it. Times are seconds since the submission, by our clock; *ours* is what Maple itself took."""

    verdict: Verdict
    runs: tuple[Run, ...] = ()
    job: Submitted | None = None
    miniapps: tuple[str, ...] = ()
    aside: tuple[int, ...] = ()  # lines whose program stood aside
    depends: tuple[bytes, ...] = ()
    folder: str = ""  # where it is kept, "" where it is gone
    queued: float | None = None
    reported: float | None = None
    total: float = 0.0
    ours: float = 0.0
    output: bytes = b""  # what the job said, standard error first; what the scheduler said of one that it refused


def verify(wanted: Wanted, scheduler: Scheduler, tell: Callable[[str, Watched], None] = lambda *_: None) -> Verified:
    """Run the mini-apps with the launch lines of a script through *scheduler*, and return the verdict.

    *tell* hears of the job's id and of every change. Nothing is left behind, whatever happens: no job, no folder.
    Raises `CannotVerify` where the script has no launch line that can be changed, `SchedulerError` where the scheduler
    cannot be asked.
    """
    began = time.monotonic()
    state = _read(wanted)
    interrupts = Interrupts()
    with interrupts.caught(), contextlib.ExitStack() as leaving:
        clear_leftovers(scheduler, wanted.environ)
        with interrupts.held():
            place = Workplace(_candidates(wanted), wanted.keep)
            opened = Opened(place.token, place.path, scheduler.name, wanted.environ)
            leaving.callback(_left, interrupts, place, opened)
        return _Verification(wanted, scheduler, tell, state, place, opened, interrupts, began).run()


def _left(interrupts: Interrupts, place: Workplace, opened: Opened) -> None:
    """Take the folder away, and only then the note of it: who is killed in between is cleared up after."""
    with interrupts.held():
        place.close()
        opened.close()


def _read(wanted: Wanted) -> State:
    """Return the script with its plan. Raises `CannotVerify` where it cannot be read as its command does."""
    site = at_home(wanted.submission, wanted.site)
    job = understood(wanted.submission, read_file) if site is not None else None
    if site is None or job is None:
        raise CannotVerify(
            "the script is an interactive job, one of several components, or one that the command refuses",
            "see maple check",
        )
    if not job.script.is_shell:
        raise CannotVerify("the script is no shell script", "name the batch script that starts it")
    return examined(job, site)


def _candidates(wanted: Wanted) -> list[str]:
    """Return the folders that may take ours: beside the script, where the job starts, at home; shared ones first."""
    cwd = os.fsdecode(wanted.submission.cwd)
    beside = os.path.dirname(os.path.join(cwd, os.fsdecode(wanted.submission.path))) if wanted.submission.path else cwd
    return shared_first([beside, cwd, wanted.environ.get("HOME", cwd)])


class _Verification:
    def __init__(
        self,
        wanted: Wanted,
        scheduler: Scheduler,
        tell: Callable[[str, Watched], None],
        state: State,
        place: Workplace,
        opened: Opened,
        interrupts: Interrupts,
        began: float,
    ) -> None:
        self.wanted, self.scheduler, self.tell, self.state = wanted, scheduler, tell, state
        self.place, self.opened, self.interrupts, self.began = place, opened, interrupts, began
        self.site = at_home(wanted.submission, wanted.site) or wanted.site
        self.lines: list[tuple[Line, list[Stage]]] = []
        self.aside: tuple[int, ...] = ()
        self.in_scheduler = 0.0

    def run(self) -> Verified:
        path = self._prepared()
        seconds = at_least(self.wanted.seconds, self.site.id, self.state.job.settings)
        words = words_for(self.state.job, self.wanted.words, self.place, seconds)
        job_id = ""
        over = False
        try:
            with self.interrupts.held():
                try:
                    job_id = self._submitted(path, words)
                    self.opened.submitted(job_id)
                except SchedulerError as error:
                    return self._refused(error)
            seen = self._watched(job_id)
            asked = time.monotonic()
            over = self._ended(job_id, seen)
            self.in_scheduler += time.monotonic() - asked
            return self._judged(job_id, seen)
        finally:
            with self.interrupts.held():
                if job_id and not over:
                    self._cancel(job_id)

    def _prepared(self) -> str:
        """Put the changed script and an entry for each of its lines into the folder; return the script's path."""
        folder = os.fsencode(self.place.path)
        changed = exchanged(self.state, folder, self._again)
        for line in changed.lines:
            stages, strict = self._stages(line)
            if line.trains:
                self.lines.append((line, stages))
            settings = [stage.settings() for stage in stages] if line.trains else []
            environment = {
                "MAPLE_MINIAPP_OUT": self.place.facts(line.name),
                "MAPLE_MINIAPP_ENV_ONLY": "1" if strict else "0",
                "PYTHONDONTWRITEBYTECODE": "1",
            }
            self.place.add_entry(line.name, {"stages": settings, "environment": environment})
        self.aside = tuple(line.number for line in changed.lines if not line.trains)
        name = os.path.basename(os.fsdecode(self.wanted.submission.path)) or "stdin.sh"
        return self.place.add_script(name, changed.source)

    def _again(self, source: bytes) -> State | None:
        job: Job | None = understood(self.state.job.submission._replace(script=source), read_file)
        return examined(job, self.site) if job is not None else None

    def _stages(self, line: Line) -> tuple[list[Stage], bool]:
        """Return the mini-apps of a line in their order, and whether RANK alone counts there."""
        app = fit(line.steps[0], self.wanted.miniapp, self._text, line.has_agent)
        whole = self.wanted.seconds
        first = Stage("dry", max(2.0, min(20.0, whole / 4)))
        if app.name in ("dry", "probe"):
            return [Stage(app.name, first.timeout)], app.strict
        sure = self.wanted.miniapp != "auto" or "torch" in app.imports
        return [first, Stage(app.name, max(5.0, whole / 3), sure)], app.strict

    def _text(self, path: bytes) -> bytes | None:
        return read_file(os.path.join(self.wanted.submission.cwd, path))

    def _submitted(self, path: str, words: Sequence[str]) -> str:
        env = {**self.wanted.environ, "MAPLE": "off"}
        asked = time.monotonic()
        try:
            return self.scheduler.submit(path, words, cwd=os.fsdecode(self.wanted.submission.cwd), env=env)
        except SchedulerError as error:
            if error.transient:
                self._cancel_by_name()
            raise
        finally:
            self.in_scheduler += time.monotonic() - asked

    def _cancel_by_name(self) -> None:
        """A submission that was late may have happened all the same; its name is ours alone."""
        with contextlib.suppress(SchedulerError, OSError, KeyError):
            for job in self.scheduler.jobs_of(getpass.getuser()):
                if job.name == job_name(self.scheduler.name, self.place.token):
                    self.scheduler.cancel(job.id)

    def _refused(self, error: SchedulerError) -> Verified:
        if error.transient or error.code is None:
            raise error
        reason = Reason(Kind.REFUSED, error.text or "it gave no reason", "correct the request as the scheduler says")
        return self._result(verdict_of([reason]), (), None, Watched(), error.text.encode("utf-8", "replace"))

    def _watched(self, job_id: str) -> Watched:
        inboxes = {line.name: Inbox(self.place.facts(line.name)) for line, _ in self.lines}
        longest = max((stage.timeout for _, stages in self.lines for stage in stages[:1]), default=0.0)
        seconds = Limits(self.wanted.queue, self.wanted.seconds, longest + 3)
        self.tell(job_id, Watched())
        return watch(
            self.scheduler,
            job_id,
            inboxes,
            lambda facts: complete(self.lines, dict(facts)),
            seconds,
            lambda seen: self.tell(job_id, seen),
        )

    def _ended(self, job_id: str, seen: Watched) -> bool:
        """See the job to its end, cancelled where it goes on, and take what ranks say to that; return if it is over."""
        over = seen.job is not None and seen.job.over
        if not over and seen.until is Until.REPORTED:
            over = self._is_over(job_id, seen, AFTERWARDS)
        if not over:
            self._cancel(job_id)
            over = self._is_over(job_id, seen, TO_END)
        seen.facts = {line.name: merged(Inbox(self.place.facts(line.name)).look(), ()) for line, _ in self.lines}
        return over

    def _is_over(self, job_id: str, seen: Watched, seconds: float) -> bool:
        """Ask, at first often, until the job is over; return whether it is."""
        pause, deadline = 0.1, time.monotonic() + seconds
        while True:
            with contextlib.suppress(SchedulerError):
                job = self.scheduler.jobs([job_id])[job_id]
                if job.nodes or seen.job is None or not seen.job.nodes:
                    seen.job = job
                if job.over:
                    return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(pause)
            pause = min(2.0, pause * 1.6)

    def _cancel(self, job_id: str) -> None:
        with contextlib.suppress(SchedulerError):
            self.scheduler.cancel(job_id)

    def _judged(self, job_id: str, seen: Watched) -> Verified:
        output = _tail(self.place.errors) + b"\n" + _tail(self.place.output)
        facts = self._all_facts(seen, output)
        if seen.until is Until.QUEUED:
            return self._result(verdict_of([self._queued(seen)]), (), seen.job, seen, output)
        nodes = seen.job.nodes if seen.job else ()
        names = Names(tuple(nodes), job_id.split(";")[0])
        scene = Scene(
            seen.until,
            seen.job,
            names,
            output.decode("utf-8", "replace"),
            self.wanted.seconds,
            tuple(
                (line_of(self.state.job.source, finding.at.start), finding.says)
                for finding in self.state.findings
                if finding.at
            ),
            self.wanted.environ.get("MAPLE_MINIAPP_DEVICE") != "cpu",
        )
        runs = [run for line, stages in self.lines for run in runs_of(line, stages, facts[line.name])]
        return self._result(judged(runs, scene), runs, seen.job, seen, output)

    def _all_facts(self, seen: Watched, output: bytes) -> dict[str, list[Fact]]:
        """Return the facts by line. Where a line has no file at all, those on the output stand in for them."""
        printed = from_output(output) if any(not seen.facts[line.name] for line, _ in self.lines) else []
        filed = {fact.key for facts in seen.facts.values() for fact in facts}
        lost = [fact for fact in printed if fact.key not in filed]
        facts = {name: list(facts) for name, facts in seen.facts.items()}
        silent = [line.name for line, _ in self.lines if not facts[line.name]]
        if len(silent) == 1:
            facts[silent[0]] = merged((), lost)
        return facts

    def _queued(self, seen: Watched) -> Reason:
        why = seen.job.comment if seen.job else ""
        state = f" ({seen.job.raw_state}{': ' + why if why else ''})" if seen.job else ""
        return Reason(
            Kind.QUEUE, f"the job did not start within {self.wanted.queue:g} s{state}",
            "try again when nodes are free, or with fewer of them",
        )  # fmt: skip

    def _result(
        self, verdict: Verdict, runs: Sequence[Run], job: Submitted | None, seen: Watched, output: bytes
    ) -> Verified:
        now = time.monotonic()
        total = now - self.began
        start = seen.began if seen.began is not None else seen.ended
        ran = (seen.reported or seen.ended) - start
        apps = tuple(dict.fromkeys(stage.app for _, stages in self.lines for stage in stages))
        return Verified(
            verdict,
            tuple(runs),
            job,
            apps,
            self.aside,
            self.state.plan.depends,
            self.place.path if self.wanted.keep else "",
            seen.began,
            seen.reported,
            total,
            max(0.0, total - (seen.began or 0.0) - max(0.0, ran) - self.in_scheduler),
            output,
        )


def _tail(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - OUTPUT_AT_MOST))
            return file.read(OUTPUT_AT_MOST)
    except OSError:
        return b""
