"""A job version, one submission of it, and how it ended: remembered of a user's jobs, and shown to nobody else."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

STATES = (
    "pending", "running", "completed", "failed", "cancelled", "timeout", "out-of-memory", "node-failed", "preempted",
    "requeued", "refused", "unknown",
)  # fmt: skip


class Part(NamedTuple):
    """A piece of a job whose content is known by its hash, so that what was read of it holds while the hash does.

    *kind*: "directives", "environment", "setup", "launch", "after" (of the script), "argv", "variables" (of the submit
    command: those that the job depends on), "program", "config" or "requirements" (files). *name*: of the file, "" for
    a piece of the script. *lines*: first and last, 1-based.
    """

    kind: str
    name: str
    hash: str
    lines: Tuple[int, int] = (0, 0)


class Value(NamedTuple):
    """One thing known of a job: *name* ("framework", "world_size", "batch_size" …), and the place it was read from.

    *part*: the hash of the part, so that the value holds while that stands. *by*: "script", "plan", "arguments",
    "program", "config" or "model".
    """

    name: str
    value: str
    file: str
    line: int
    part: str
    by: str


class Version(NamedTuple):
    """One state of a job. *parent*: the version it was made from, "" for the first of its lineage.

    *script* and *argv* have their secrets masked; *script_hash* is of the bytes as the job would run them as written
    (of a `--wrap` command: with the head that sbatch puts before it). *name*, *cwd*: the job's name and work dir, as
    the scheduler will say them. *reader*: hash of the code that read the values. Times: seconds since 1970.
    """

    id: str
    lineage: str
    parent: str
    uid: int
    at: float
    scheduler: str
    path: str
    name: str
    cwd: str
    argv: Tuple[str, ...]
    script: bytes
    script_hash: str
    parts: Tuple[Part, ...] = ()
    values: Tuple[Value, ...] = ()
    reader: str = ""
    read: str = ""  # hashes of the parts that were read for it, between blanks; of others the values were known


class Outcome(NamedTuple):
    """How a job ended. *job*: the scheduler's id. *source*: which hook or command told. Times: seconds since 1970."""

    job: str
    state: str
    uid: int
    source: str
    exit_code: Optional[int] = None
    signal: Optional[int] = None
    nodes: str = ""
    submitted: Optional[float] = None
    started: Optional[float] = None
    ended: Optional[float] = None
    name: str = ""
    workdir: str = ""
    script_hash: str = ""
    record: str = ""  # the record id in the last line of a repaired script, "" where there is none
    output: str = ""
    error: str = ""


class Reached(NamedTuple):
    """How far a job had come when it was over, as its owner's own process read it in the log; None is not known.

    *version*: what ran. *step*, *total* and *began*, the step at which its last start took it up, count over the whole
    run. *step_seconds*: of one of its last steps. *checkpoint*, *checkpoint_at*: step and time of the last one.
    """

    record: str
    version: str
    at: float
    step: Optional[float] = None
    total: Optional[int] = None
    began: Optional[float] = None
    step_seconds: Optional[float] = None
    checkpoint: Optional[int] = None
    checkpoint_at: Optional[float] = None


TRIAL_SCRIPT = b"#!/bin/sh\nexit 0\n: srun python -c pass\n"  # of `maple admin doctor --job`; Maple is asked about it


class Record(NamedTuple):
    """One submission of a version.

    *verdict*: "repaired" (so it was handed over), "known-good" (what the user once said yes to was), "accepted" (the
    user said yes to an offer; known once the job has ended), "declined" (the user was asked, and what ran is as it was
    written), "taken-back" (a change was left out, because a job failed at once with it), "would-repair", "rule-mode",
    "findings", "clean", "unread" or "trial" (an administrator's trial of the service, which is in no list), "" not
    known;
    *codes*: of the rules. *how*: "memory", "decided", "helper" or "late" (the helper's answer is not known;
    "late-" and its verdict, where the front's own audit line tells it).
    *pid*, *pid_started*: of the front, which the real command has after it. *joined*: how *job* is known: "filter"
    (the scheduler's own hook named the pid), "record" (by the script's last line), "times" (time, name and work dir,
    and the stored script's hash), "none" (the hook tells of that host's jobs, and told none of this; only in
    the service's answers), "" not known. *decision*: the key under which the store has what was decided, secrets
    masked, "" where nothing was found.
    """

    id: str
    version: str
    uid: int
    at: float
    host: str
    pid: int
    pid_started: int
    mode: str
    verdict: str
    codes: Tuple[str, ...]
    how: str
    submitted_hash: str = ""  # of the script that was handed over, "" where it went as written
    job: str = ""
    joined: str = ""
    outcome: Optional[Outcome] = None
    offered_hash: str = ""  # of the script that would be handed over if the user says yes, "" for none
    decision: str = ""
    change: str = ""  # id of what was proposed (`earlier.change_of`), "" for nothing, or where it cannot be recognised
    grounds: str = ""  # hash of what it was proposed for
    place: str = ""  # the partition, if the site names it; "other" for another, "" for none
    keys: Tuple[Tuple[str, str], ...] = ()  # rule, and the template revision or site key that spoke with it, or ""
    reached: Optional[Reached] = None
