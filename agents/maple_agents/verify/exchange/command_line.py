"""What is put on the submit command's line, where it beats every directive of the script and leaves them as they are.

Sources: sbatch(1) of Slurm 22.05 and later, qsub(1B) of OpenPBS 23.06.

The shortest job that a site takes: some queues refuse one of a few minutes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from maple_submit_filter.types.job import Job, Settings

from ...ask.verified_runs import CannotVerify
from ...base.quantities import clock, of_clock
from ...write.clusters import cluster
from ..run.workplace import Workplace

SELECTORS = ("partition", "qos", "queue")

SPARE = 30  # seconds that a job may take to start and end


def limits(job: Job, words: Sequence[str], place: Workplace, seconds: float) -> list[str]:
    """Return the words before the script: the user's own *words*, then a short walltime, our output, our name, no mail.

    Raises `CannotVerify` for a job that the submit command would wait for, and for an array of PBS.
    """
    name = job_name(job.submission.scheduler, place.token)
    if job.submission.scheduler == "pbs":
        return [*words, *_of_pbs(job, name, place, seconds)]
    return [*words, *_of_slurm(job, name, place, seconds)]


def job_name(scheduler: str, token: str) -> str:
    """Return the name of a verification's job; PBS may take no more than 15 signs."""
    return ("mv-" if scheduler == "pbs" else "maple-verify-") + token


def _of_slurm(job: Job, name: str, place: Workplace, seconds: float) -> list[str]:
    if "wait" in job.settings:
        raise _waits("sbatch", "--wait")
    options = [
        "--time=" + clock(minutes(seconds) * 60),
        "--job-name=" + name,
        "--output=" + place.output,
        "--error=" + place.errors,
        "--open-mode=truncate",
        "--mail-type=NONE",
        "--no-requeue",
    ]
    array = job.settings.value("array")
    return options if array is None else [*options, "--array=" + first_index(array)]


def _of_pbs(job: Job, name: str, place: Workplace, seconds: float) -> list[str]:
    if job.settings.value("block") == b"true":
        raise _waits("qsub", "-W block=true")
    if "array" in job.settings:
        raise CannotVerify("a job array of PBS has at least two members", "take -J out to verify one of them")
    walltime = "walltime=" + clock(minutes(seconds) * 60)
    words = ["-l", walltime, "-N", name, "-o", place.output, "-e", place.errors, "-j", "n", "-m", "n"]
    keeps = job.settings.value("keep") or b""
    return words + (["-k", "doe"] if keeps and b"d" not in keeps else [])  # else it stays in the home folder


def _waits(command: str, option: str) -> CannotVerify:
    return CannotVerify(f"{option}: {command} would wait for the end of the job", f"take {option} out to verify it")


def minutes(seconds: float) -> int:
    """Return the walltime in whole minutes, which is what schedulers count in: time to start and end is added."""
    return max(1, -(-int(seconds + SPARE) // 60))


def first_index(array: bytes) -> str:
    """Return the first index of a job array such as `3-9:2%4`; 0 where it says none."""
    match = re.match(rb"\s*(\d+)", array)
    return match[1].decode() if match else "0"


def least(site_id: str, settings: Settings) -> int:
    """Return the shortest walltime in seconds that the job's queue takes, 0 where nothing is known of one.

    Where the job names none, it is what every queue of the site takes.
    """
    try:
        file = cluster(site_id).file
    except ValueError:
        return 0
    times: dict[tuple[str, str], int] = {}
    for selector in SELECTORS if file is not None else ():
        for name, table in getattr(file, selector).items():
            times[selector, name] = of_clock(str(table.min_walltime or "")) or 0
    named = [(selector, (settings.value(selector) or b"").decode("utf-8", "replace")) for selector in SELECTORS]
    known = [times[selector] for selector in named if selector in times]
    return max(known or times.values(), default=0)


def at_least(seconds_wanted: float, site_id: str, settings: Settings) -> float:
    """Return the seconds to ask a walltime for: those that are wanted, or as many as the queue demands."""
    return max(seconds_wanted, least(site_id, settings) - SPARE)
