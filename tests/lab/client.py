"""Slurm's commands, aimed at one cluster, each under a timeout: a client may wait for ever."""

from __future__ import annotations

import getpass
import os
import re
import subprocess
import time
from typing import Callable, Mapping, NamedTuple, Optional, Sequence

from tests.lab.processes import LabError, folders

POLL = 0.03


class Submitted(NamedTuple):
    """What the submit command did. *id* None: it was refused."""

    id: Optional[int]
    returncode: int
    stdout: str
    stderr: str


class Ended(NamedTuple):
    """How a job ended, as the scheduler's own hook says. *state* as in sacct; *exit_code* 0-255, *signal* 0 if none."""

    id: int
    state: str
    exit_code: int
    signal: int
    facts: Mapping[str, str]


class Client:
    """What one does on a login node of the cluster that lives in *directory*."""

    directory = ""

    def environment(self, doubles_first: bool = True, **more: str) -> dict[str, str]:
        """Return an environment in which Slurm's commands reach this lab, and the stand-ins are found first.

        Jobs inherit the submitter's environment, so this is also what they run in.
        """
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "SRUN", "MAPLE", "PET_"))}
        path = os.pathsep.join([*folders(), kept.get("PATH", "/usr/bin:/bin")])
        kept["PATH"] = f"{self.directory}/bin:{path}" if doubles_first else path
        return {**kept, "SLURM_CONF": f"{self.directory}/etc/slurm.conf", **more}

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float = 20,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: str = "",
        user: Optional[str] = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as on the login node. Raises `subprocess.TimeoutExpired`: a client may wait for ever."""
        return subprocess.run(
            list(argv),
            env=dict(self.environment() if env is None else env),
            cwd=cwd,
            input=stdin,
            user=user,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
            check=False,
        )

    def sbatch(
        self,
        *argv: str,
        timeout: float = 20,
        env: Optional[Mapping[str, str]] = None,
        cwd: Optional[str] = None,
        stdin: str = "",
        command: str = "sbatch",
    ) -> Submitted:
        """Submit with *argv* as written on the command line; *command* may be a wrapped sbatch."""
        done = self.run([command, *argv], timeout=timeout, env=env, cwd=cwd, stdin=stdin)
        found = re.search(r"^(?:Submitted batch job )?(\d+)\b", done.stdout, re.MULTILINE)
        number = int(found.group(1)) if found and done.returncode == 0 else None
        return Submitted(number, done.returncode, done.stdout, done.stderr)

    def wait(self, job: int, timeout: float = 60) -> Ended:
        """Return how *job* ended. Raises `TimeoutError` while it is still there after *timeout* seconds."""
        path = f"{self.directory}/ended/{job}"
        deadline = time.monotonic() + timeout
        while not os.path.exists(path):
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {job} has not ended after {timeout} s")
            time.sleep(POLL)
        with open(path, encoding="utf-8", errors="replace") as file:
            facts = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        code, _, signal = facts.get("EXITCODE", "0:0").partition(":")
        return Ended(job, facts.get("JOBSTATE", ""), int(code or 0), int(signal or 0), facts)

    def ended(self) -> list[int]:
        """Return every job that has ended so far."""
        return sorted(int(name) for name in os.listdir(f"{self.directory}/ended") if name.isdigit())

    def cancel(self, job: int) -> None:
        """Cancel a job; one that has already ended is no mistake."""
        self.run(["scancel", str(job)])

    def script(self, job: int) -> bytes:
        """Return the script as the controller stored it."""
        done = self.run(["scontrol", "write", "batch_script", str(job), "-"])
        return done.stdout.encode("utf-8", "surrogateescape")

    def show(self, job: int) -> dict[str, str]:
        """Return what `scontrol show job` says; only fields whose value has no blank are whole."""
        text = self.run(["scontrol", "-o", "show", "job", str(job)]).stdout
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def quiet(self) -> None:
        """Cancel every job and wait until the nodes are idle again, so that the next test starts on a free cluster."""
        self.run(["scancel", "--user", getpass.getuser()])
        until(lambda: not self.run(["squeue", "-h", "-o", "%i"]).stdout.strip(), 20, "jobs are left")


def eventually(true: Callable[[], object], seconds: float = 20) -> bool:
    """Tell whether it comes true in time."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL / 3)
    return True


def until(true: Callable[[], bool], seconds: float, otherwise: str) -> None:
    """Wait until it is true. Raises `LabError` with *otherwise* where it does not come true in time."""
    if not eventually(true, seconds):
        raise LabError(otherwise)
