"""What is known of a training that goes on: lines that tell a step, the course they make, what follows, what is odd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Scope = Literal["run", "epoch", "part", "unknown"]
Role = Literal["training", "evaluation", "preparation"]
MarkKind = Literal["start", "resumed", "evaluation", "checkpoint", "ended"]
OVER = ("completed", "failed", "cancelled", "timeout", "out-of-memory", "node-failed", "preempted")  # states of a run
AlarmKind = Literal["silent", "limit", "loss-not-finite", "loss-explodes", "rank-behind", "slower"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands. *line*: counted from 1 by line feeds, 0 where the file is too long to be counted.

    *byte*: where the line begins, counted from 0: `tail -c +BYTE+1 FILE`.
    """

    file: str
    line: int
    byte: int = 0


@dataclass(frozen=True, slots=True)
class Speed:
    """A speed as it is printed: 1.1 and "s/it", 229.0 and "it/s", 19138.8 and "ms/step"."""

    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Observation:
    """A line that tells how far a program is; what it does not tell is None.

    *text*: the line as it may be shown. *format*: the file of `templates/progress/` that knows it. *step* and *steps*
    count what *scope* says: the whole run, one epoch, one part of the work such as an evaluation, or something that the
    line does not tell. *epoch* as printed, *epoch_base* what the first is called (0 or 1). *left*: seconds, as
    printed. *elapsed*: seconds on the line's own clock, which begins with its bar. *at*: seconds since 1970.
    *step_seconds*: seconds of one step, as printed. *label*: what a bar is called. *throughput*: samples or tokens a
    second, where they stand beside the time of a step.
    """

    place: Place
    text: str
    format: str
    role: Role = "training"
    scope: Scope = "run"
    step: int | None = None
    steps: int | None = None
    epoch: float | None = None
    epochs: float | None = None
    epoch_base: int = 1
    loss: float | None = None
    speed: Speed | None = None
    step_seconds: float | None = None
    elapsed: float | None = None
    left: float | None = None
    at: float | None = None
    rank: int | None = None
    label: str = ""
    throughput: Speed | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """A line that tells of something beside the steps: a start, an evaluation, a checkpoint, the end."""

    kind: MarkKind
    place: Place
    text: str
    step: int | None = None
    at: float | None = None


@dataclass(frozen=True, slots=True)
class Announced:
    """A number that was told once, with its place: a total, a count of epochs."""

    name: Literal["steps", "epochs"]
    value: int
    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file tells. *modified*: when it was last written; *bytes*: how long it is; *wrong*: why it was not read.

    Observations and marks stand in the order of the file. *rank*: of a file that is one rank's.
    """

    file: str
    observations: tuple[Observation, ...] = ()
    marks: tuple[Mark, ...] = ()
    announced: tuple[Announced, ...] = ()
    modified: float = 0.0
    bytes: int = 0
    rank: int | None = None
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """One moment of a course. *step* counts over the whole run. *clock*: seconds; only differences mean something."""

    step: float
    clock: float | None
    loss: float | None
    at: Observation


@dataclass(frozen=True, slots=True)
class Total:
    """How many steps the whole run has. *because*: how that is known, in a phrase; *place*: where it stands.

    *epochs*: of a product of epochs and the steps of one, how many there are; 0 where the total is told as such.
    """

    steps: int
    because: str
    place: Place
    text: str
    epochs: int = 0


@dataclass(frozen=True, slots=True)
class Course:
    """How a training went, as far as the read ends of its files tell it.

    *last*: the line that counts for the step. *step*: over the whole run, None where only the place in an epoch is
    known. *total*: None where nothing tells it; none is ever made up. *points*: since the last start, the oldest first.
    *began*: step at which the last start took the run up. *last_at*, *alive_at*: seconds since 1970 of the last step,
    and of anything at all that the program did (an evaluation's bar, a checkpoint); None not known. *losses*: step and
    loss, also of other lines. *ranks*: last step of each rank that tells its own. *epochs*: the same run counted in
    epochs, where lines tell those alone; its steps are epochs and shares of them.
    """

    last: Observation | None = None
    step: float | None = None
    total: Total | None = None
    points: tuple[Point, ...] = ()
    began: float | None = None
    starts: int = 1
    marks: tuple[Mark, ...] = ()
    losses: tuple[tuple[float, float, Observation], ...] = ()
    ranks: tuple[tuple[int, float, Observation], ...] = ()
    last_at: float | None = None
    alive_at: float | None = None
    ended: Mark | None = None
    busy: Observation | None = None
    epochs: Course | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What follows from a course. Times in seconds; *ends_at* since 1970; None: it cannot be told.

    *step_seconds*: median of the last steps, pauses left out. *pause_share*: seconds for evaluations and checkpoints
    that come with each step on the average. *guessed*: seconds of *left* that rest on one pause that nothing explains.
    *because*: why there is no time left, in a phrase.
    """

    step_seconds: float | None = None
    pause_seconds: float = 0.0
    pauses: int = 0
    usual_gap: float | None = None
    longest_gap: float | None = None
    left: float | None = None
    guessed: float = 0.0
    ends_at: float | None = None
    earlier_step_seconds: float | None = None
    epoch_seconds: float | None = None
    because: str = ""


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that a user wants to hear of. *says*: one sentence; *at*: the line that shows it, None for none."""

    kind: AlarmKind
    says: str
    at: Observation | Mark | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """The job around a course, as its scheduler knows it. Times since 1970; *limit* in seconds; None not known."""

    job: str = ""
    name: str = ""
    state: str = "unknown"
    started: float | None = None
    ended: float | None = None
    limit: float | None = None
    gpus: int | None = None
    restarts: int = 0
    nodes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ends_at(self) -> float | None:
        """Return when the scheduler ends it."""
        return self.started + self.limit if self.started is not None and self.limit is not None else None


@dataclass(frozen=True, slots=True)
class Progress:
    """All that is known of one job's progress, at the moment *now*."""

    run: Run
    readings: tuple[Reading, ...]
    course: Course
    estimate: Estimate
    alarms: tuple[Alarm, ...]
    now: float
    notes: tuple[str, ...] = ()
