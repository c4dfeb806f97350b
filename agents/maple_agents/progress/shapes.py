"""The shape of what `maple progress` prints with `--json`. What is unknown is null; times are seconds, or since 1970.

A loss that is no number is the word "nan" or "inf".
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, Optional, TypedDict, Union

Finite = Union[float, str]


class Quote(TypedDict):
    """A line of a log. *line*: null where the file is too long to be counted; *byte*: where it begins."""

    file: str
    line: Optional[int]
    byte: int
    text: str


class Job(TypedDict):
    """The job as its scheduler knows it."""

    id: Optional[str]
    name: Optional[str]
    state: str
    started: Optional[float]
    limit: Optional[float]
    ends_at: Optional[float]
    restarts: int
    nodes: list[str]


class Epoch(TypedDict):
    """The epoch as printed. *first*: what the first one is called; *step*, *steps*: where the line counts these."""

    at: Optional[float]
    of: Optional[float]
    first: int
    step: Optional[int]
    steps: Optional[int]


class Overall(TypedDict):
    """The step of the whole run, and how its total is known."""

    step: Optional[float]
    total: Optional[int]
    because: Optional[str]
    quote: Optional[Quote]


class Steps(TypedDict):
    """How far it is. *step*, *total*: as printed; *total* is null where the printed one counts an epoch."""

    step: Optional[int]
    total: Optional[int]
    fraction: Optional[float]
    epoch: Optional[Epoch]
    overall: Optional[Overall]
    format: Optional[str]
    started_at_step: Optional[float]
    starts: Optional[int]
    quote: Optional[Quote]


class Printed(TypedDict):
    """A speed as it is printed."""

    value: Finite
    unit: str


class Speed(TypedDict):
    """How fast it is."""

    step_seconds: Optional[float]
    steps_per_second: Optional[float]
    printed: Optional[Printed]
    because: Optional[str]
    pauses: int
    pause_seconds_per_step: float
    quote: Optional[Quote]


class Left(TypedDict):
    """How much time is left, and whether the limit allows it."""

    seconds: Optional[float]
    ends_at: Optional[float]
    limit_at: Optional[float]
    before_limit: Optional[float]
    in_time: Optional[bool]
    because: Optional[str]
    quote: Optional[Quote]


class Loss(TypedDict):
    """The last loss, and some of those before: step and loss of each."""

    value: Optional[Finite]
    step: Optional[float]
    curve: Optional[list[list[Optional[Finite]]]]
    quote: Optional[Quote]


class Checkpoint(TypedDict):
    """The last checkpoint, and how old one will be at the limit."""

    step: Optional[int]
    at: Optional[float]
    age: Optional[float]
    age_at_limit: Optional[float]
    quote: Optional[Quote]


class Throughput(TypedDict):
    """Samples or tokens a second."""

    value: Optional[Finite]
    unit: Optional[str]
    per_gpu: Optional[Finite]
    gpus: Optional[int]
    quote: Optional[Quote]


class Alarm(TypedDict):
    """Something that a user wants to hear of."""

    kind: Annotated[str, "silent|limit|loss-not-finite|loss-explodes|rank-behind|slower"]
    says: str
    quote: Optional[Quote]


class Failures(TypedDict):
    """How often it was started anew, and what is odd now."""

    starts_in_log: int
    restarts: int
    alarms: list[Alarm]


class Rank(TypedDict):
    """The last step of a rank that tells its own."""

    rank: int
    step: float
    quote: Optional[Quote]


class File(TypedDict):
    """A file that was read, or why it was not."""

    file: str
    bytes: int
    modified: Optional[float]
    wrong: Optional[str]


class Whole(TypedDict):
    """`maple progress` of one job. *silent*: seconds since anything went on."""

    version: Literal[1]
    at: float
    job: Job
    progress: Steps
    speed: Speed
    left: Left
    loss: Loss
    checkpoint: Checkpoint
    throughput: Throughput
    failures: Failures
    silent: Optional[float]
    ranks: list[Rank]
    alarms: list[Alarm]
    done: bool
    files: list[File]
    notes: list[str]


class Jobs(TypedDict):
    """`maple progress` without a job: those of one's own that run."""

    version: Literal[1]
    jobs: list[Whole]


Answer = Union[Speed, Steps, Left, Loss, Checkpoint, Throughput, Failures]


class Answered(TypedDict):
    """`maple progress --ask QUESTION`; the answer to `eta` is `left`, to others what stands under their name.

    *asked*: the words of the user's own in which a model found the question.
    """

    version: Literal[1]
    at: float
    job: Optional[str]
    question: str
    answer: Answer
    asked: NotRequired[str]
