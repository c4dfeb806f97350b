"""What a diagnosis is made of: the job that ended, its logs, what was read there, and what is concluded."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from maple_submit_filter.site.facts import Site
from maple_submit_filter.types.edits import Fix
from maple_submit_filter.types.submission import Submission

Safeness = Literal["safe", "ask", "tell"]  # of a cure: applied when told to, asked for each time, left to people
Author = Literal["rule", "case", "model"]  # who names a cause


class Severity(IntEnum):
    """How bad a line sounds, by its own words; not whether the job died of it."""

    NOTE = 0
    WARNING = 1
    ERROR = 2
    FATAL = 3  # after it, this process is no more


@dataclass(frozen=True, slots=True)
class LogFile:
    """A file that may hold evidence. *about*: why it is read. *rank*, *node*: None or "" where the file is of many."""

    path: str
    role: Literal["stdout", "stderr", "both", "rank", "error-file", "trace", "scheduler"]
    rank: int | None = None
    node: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a file, counted from 1 as `sed -n Np` does (by line feeds); 0: the file as a whole."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a log tells, with the lines that tell it.

    *text*: the telling line, cleaned as every shown line (`reading.cleaned`: no terminal escapes, no control
    characters, what a carriage return overwrote left out, secrets masked, at most 2,000 characters); of a traceback,
    the line of the exception. *unit*: all its lines in order, cleaned, the telling one among them, at most 400.
    *unit_at*: the line numbers of *unit*. *exception*: "ValueError", with its module where it was said; "" for no
    exception. *frame*: file and line of the innermost frame that is the user's own (not in site-packages, dist-
    packages, the standard library or a launcher). *innermost*: of the innermost frame whatever it is. *chained*: how
    many exceptions came before it in its chain; the first of a chain stands first. *at*: seconds since 1970 or since
    midnight, None where no time was said (*dated* tells which). *count*: how often the same thing was said (numbers
    aside), by *ranks* and *nodes*; *last*: where it was said the last time. *behind*: how many ordinary lines of the
    same stream follow it, so that one can see whether life went on. *run*: which run of the file said it last, 0 for
    the first: a log that an earlier job wrote to, or the same job before it was requeued, holds several.
    """

    place: Place
    text: str
    severity: Severity
    unit: tuple[str, ...] = ()
    unit_at: tuple[int, ...] = ()
    exception: str = ""
    frame: tuple[str, int] | None = None
    innermost: tuple[str, int] | None = None
    chained: int = 0
    rank: int | None = None
    node: str = ""
    at: float | None = None
    dated: bool = False
    count: int = 1
    ranks: frozenset[int] = frozenset()
    nodes: frozenset[str] = frozenset()
    last: Place | None = None
    behind: int = 0
    run: int = 0


@dataclass(frozen=True, slots=True)
class Stream:
    """A file as it was read. *wrong*: why it was not, or not whole, in one line; "" for all well."""

    file: LogFile
    bytes: int = 0
    lines: int = 0
    head: tuple[str, ...] = ()  # the first 20 lines, cleaned
    tail: tuple[str, ...] = ()  # the last 40
    tail_from: int = 0  # line number of the first of *tail*
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Digest:
    """What was read in all logs of a job.

    *events*: the first in time stands first, as far as it can be known (by time where said, else by line); at most
    2,000, of which the first ones and the last ones are kept. *dropped*: how many more there were. *ranks*: those that
    said anything, with the place of each one's last line. *ordinary*: lines that are no part of an event. *progress*:
    lines that tell of training that goes on (steps, epochs, losses), and where the last stands. *ended_well*: a line
    near the end says that all is done, *closed*: where such a line stands first, no training behind it; *planned*: that
    this end was meant; "" for none. *doubled*: lines in which two
    processes say that they are the same rank; *absent*: those that tell of fewer tasks than members; *frozen*: those
    by which one node rank went to several nodes.
    """

    streams: tuple[Stream, ...] = ()
    events: tuple[Event, ...] = ()
    dropped: int = 0
    ranks: dict[int, Place] = field(default_factory=dict)
    ordinary: int = 0
    progress: int = 0
    last_progress: Place | None = None
    ended_well: str = ""
    closed: Place | None = None
    planned: str = ""
    doubled: tuple[Evidence, ...] = ()
    absent: tuple[Evidence, ...] = ()
    frozen: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """How the job ended, as scheduler or record tell; None or "" is not known.

    *state*: one of `job_records.STATES`. *reason*: the scheduler's own words (Reason, comment).
    Times: seconds since 1970, *elapsed* and *limit* in seconds; memory in bytes, of one node: what was asked for
    (*memory*) and the most that one task used (*used_memory*).
    """

    id: str = ""
    state: str = "unknown"
    exit_code: int | None = None
    signal: int | None = None
    reason: str = ""
    submitted: float | None = None
    started: float | None = None
    ended: float | None = None
    elapsed: float | None = None
    limit: float | None = None
    memory: int | None = None
    used_memory: int | None = None
    gpus_memory: int | None = None  # of one GPU of the node kind, bytes
    restarts: int = 0
    nodes: tuple[str, ...] = ()
    failed_steps: tuple[str, ...] = ()  # "0: OUT_OF_MEMORY 0:125 on n3", in the scheduler's words


@dataclass(frozen=True, slots=True)
class Case:
    """All that is known of a job that ended. *asked*: the submission as it was handed to the scheduler, None where
    there is no script.

    *before*: the script as the user wrote it, where Maple submitted another. *missing*: what was looked for and not
    found or not readable, a line each.
    """

    ended: Ended
    scheduler: str
    site: Site
    asked: Submission | None = None
    name: str = ""  # the script as people call it
    logs: tuple[LogFile, ...] = ()
    before: bytes | None = None
    missing: tuple[str, ...] = ()
    site_known_by: str = ""  # from where it is known which site this is, as a phrase
    notes: tuple[str, ...] = ()  # what a reader should know, a line each: which task of an array, a script that changed


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line that stands so in a log or script (after cleaning)."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Cure:
    """What would make the job run. *kind*: see `causes.FIX_KINDS`. *safety*: "safe", "ask" or "tell".

    *script*, *argv*: the whole of what to submit instead, None where only *steps* are to be taken by people. *fix*: the
    edits that it was made with, against the submitted script. *held_back*: why an attempted fix is not offered, ""
    where it is.
    """

    kind: str
    says: str
    safety: Safeness = "tell"
    script: bytes | None = None
    argv: tuple[bytes, ...] | None = None
    fix: Fix | None = None
    steps: tuple[str, ...] = ()
    held_back: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause that may be the one. *entry*: of the knowledge base. *score*: before calibration; *confidence*: 0 to 1,
    calibrated.

    *values*: what the signature's named groups caught. *named*: what its lines and the scheduler name, by what each is:
    "port", "memory asked for". *by*: "rule", "case" or "model". *likely*: it is no more than
    that; *voters*: who names it, "entries" (of the knowledge base), "lines" (labelled ones that the log's are like),
    "script" (a launch line that a rule has proven wrong), "sentence" (what a line says of what kind of thing).
    """

    entry: str
    cause: str
    says: str
    score: float
    confidence: float
    evidence: tuple[Evidence, ...] = ()
    values: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    by: Author = "rule"
    likely: bool = False
    voters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cited:
    """A passage of a document of the site that fits: where it stands, the heading above it, and its words."""

    file: str
    line: int
    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """*causes*: the likeliest first; never empty: "none" and "unknown" are causes too. *cascade*: what only followed.

    *script*: the lines of the submitted script that have a say in it, where none is among the evidence. *excerpt*: the
    shortest useful piece of the log where the cause is unknown. *cited*: what the site's own documents
    say of it. *advice*: at most two sentences of a model, "" for none.
    """

    case: Case
    causes: tuple[Cause, ...]
    cascade: tuple[Evidence, ...] = ()
    cures: tuple[Cure, ...] = ()
    script: tuple[Evidence, ...] = ()
    excerpt: tuple[Evidence, ...] = ()
    cited: tuple[Cited, ...] = ()
    advice: str = ""
