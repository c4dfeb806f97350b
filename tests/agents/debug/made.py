"""Small diagnoses for tests: a script on the generic Slurm site, one cause, one event in its log."""

from __future__ import annotations

from dataclasses import replace

from maple_agents.ask.submission import site_of
from maple_agents.diagnose.values import (
    Case,
    Cause,
    Cure,
    Diagnosis,
    Digest,
    Ended,
    Event,
    Evidence,
    LogFile,
    Place,
    Severity,
    Stream,
)
from maple_submit_filter.types.submission import Submission

SCRIPT = b"#!/bin/bash\n#SBATCH --nodes=2\nsrun python train.py\n"
LOG = "slurm-1.out"


def submission(
    script: bytes = SCRIPT, path: str = "job.sh", cwd: str = "/tmp", argv: tuple[bytes, ...] = ()
) -> Submission:
    """Return `sbatch job.sh`, by user 12345 so that no file is read for it."""
    words = argv or (b"sbatch", path.encode())
    return Submission("slurm", words, script, "file", path.encode(), cwd.encode(), 12345, {})


def event(text: str, line: int = 10, file: str = LOG, severity: Severity = Severity.ERROR, **more: object) -> Event:
    """Return an event of one line."""
    return Event(Place(file, line), text, severity, **more)  # type: ignore[arg-type]


def digest(*events: Event, tail: tuple[str, ...] = ()) -> Digest:
    """Return what was read of one log."""
    stream = Stream(LogFile(LOG, "both"), 100, 100, (), tail, 90)
    return Digest((stream,), events)


def cause(name: str = "port_in_use", text: str = "Address already in use", line: int = 10, **more: object) -> Cause:
    """Return a cause with one line of evidence."""
    given = {"entry": "", "cause": name, "says": name + ".", "score": 5.0, "confidence": 0.7}
    return Cause(**{**given, "evidence": (Evidence(LOG, line, text),), **more})  # type: ignore[arg-type]


def diagnosis(
    *causes: Cause, cures: tuple[Cure, ...] = (), asked: Submission | None = None, job: str = "1"
) -> Diagnosis:
    """Return a diagnosis of a job that failed."""
    given = asked or submission()
    case = Case(Ended(job, "failed", 1), "slurm", site_of("generic-slurm"), given, "job.sh", (LogFile(LOG, "both"),))
    return Diagnosis(case, causes or (cause(),), cures=cures)


def cure(number: int = 1, **more: object) -> Cure:
    """Return a cure that adds a comment to the script."""
    made = Cure("script_launch_line", "fix %d" % number, "safe", SCRIPT + b"# %d\n" % number)
    return replace(made, **more)  # type: ignore[arg-type]
