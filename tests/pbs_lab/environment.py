"""The environment of a job: the list that was measured on a real OpenPBS, and nothing of the submitter's own.

`-V` and `-v` are the two ways by which a submitter's variables follow.
"""

from __future__ import annotations

import os
import pwd
from typing import Mapping, Sequence

from tests.pbs_lab.chunks import Placed
from tests.pbs_lab.request import Refused, Request, split

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
FOLLOW = ("HOME", "LANG", "LOGNAME", "MAIL", "PATH", "SHELL", "TZ")  # of the submitter, as PBS_O_*


def login(directory: str) -> dict[str, str]:
    """Return the environment of a login on any host of the lab in *directory*."""
    user = pwd.getpwuid(os.getuid()).pw_name
    return {
        "HOME": f"{directory}/home",
        "LOGNAME": user,
        "USER": user,
        "SHELL": "/bin/bash",
        "PATH": f"{directory}/bin:{SYSTEM_PATH}",
    }


def exported(request: Request, submitter: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that `-V` and `-v` carry into the job. Raises `Refused` for one that is not set."""
    found = dict(submitter) if "V" in request.letters else {}
    for part in split(request.letters.get("v", "")):
        name, given, value = part.partition("=")
        if not given and name not in submitter:
            raise Refused("qsub: cannot send environment with the job", 1)
        found[name] = value.strip("\"'") if given else submitter[name]
    return found


def outside(submitter: Mapping[str, str], cwd: str, queue: str) -> dict[str, str]:
    """Return the PBS_O_* variables."""
    found = {f"PBS_O_{name}": submitter[name] for name in FOLLOW if name in submitter}
    return {**found, "PBS_O_HOST": "login1", "PBS_O_QUEUE": queue, "PBS_O_SYSTEM": "Linux", "PBS_O_WORKDIR": cwd}


def of_job(
    directory: str, job: str, request: Request, found: Sequence[Placed], carried: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment in which the login shell of the job starts."""
    own = login(directory)
    first = found[0].chunk
    cpus = str(first.number("ncpus", 1))
    return {
        **carried,
        **own,
        "PWD": own["HOME"],
        "TMPDIR": f"{directory}/tmp/pbs.{job}",
        "NCPUS": cpus,
        "OMP_NUM_THREADS": first.resources.get("ompthreads", cpus),
        "ENVIRONMENT": "BATCH",
        "PBS_ENVIRONMENT": "PBS_BATCH",
        "PBS_JOBCOOKIE": "00000000000000000000000000000000",
        "PBS_JOBDIR": own["HOME"],
        "PBS_JOBID": job,
        "PBS_JOBNAME": request.job_name,
        "PBS_MOMPORT": "15003",
        "PBS_NODEFILE": f"{directory}/aux/{job}",
        "PBS_NODENUM": "0",
        "PBS_QUEUE": request.letters.get("q", "workq").split("@")[0],
        "PBS_TASKNUM": "1",
        **({"PBS_ACCOUNT": request.letters["A"]} if "A" in request.letters else {}),
    }
