"""Trials of an installation: a dry run of the front, and one job of a second through it (`doctor --job`).

The dry run has the same program, helper and facts, in front of a command that submits nothing. The job shows that the
service hears of its id and its end.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from maple_agents.ask.memory import service
from maple_agents.ask.memory.versions import submission
from maple_submit_filter.host import configuration
from maple_submit_filter.types.job_records import TRIAL_SCRIPT, Record

from . import settings
from .refusals import Check
from .release.layout import Layout, Receipt, Release
from .service import hooks
from .service.hooks import File
from .service.state import start

SCRIPTS = {
    "sbatch": "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=1\nsrun python train.py\n",
    "qsub": "#!/bin/bash\n#PBS -l select=2\n#PBS -l place=scatter\nmpiexec -n 2 python train.py\n",
}
WORD = "maple-self-test"
ANSWER_MS = 15000  # ms; far beyond any deadline: who does not answer by then is not slow but broken
NAME = "hooks"
PATIENCE = 120.0  # seconds that the job may wait in the queue, by default
AFTER_END = 15.0  # that a service which looks every five seconds may take
_OWN = {
    "sbatch": ("--parsable", "--job-name=maple-doctor", "--time=1", "--output=/dev/null"),
    "qsub": ("-N", "maple-doctor", "-l", "walltime=00:01:00", "-j", "oe", "-o", "/dev/null"),
}


class Result(NamedTuple):
    """*state* as in a check. "note": it works, but an answer came later than the deadline allows."""

    state: str
    says: str
    todo: str = ""


def dry_run(release: Release) -> Result:
    """Run the front of a release as each command it stands in for; return the first that fails, else the last.

    Nothing is submitted and no audit line is left.
    """
    for command in commands(release):
        result = run_as(command, release)
        if result.state != "ok":
            break
    return result


def commands(release: Release) -> list[str]:
    """Return the commands that the release stands in for, by its front.conf."""
    values = settings.values(release)
    return [name for name in SCRIPTS if values.get(f"real_{name}")] or ["sbatch"]


def run_as(command: str, release: Release) -> Result:
    """Run the front as *command*; one that is only late gets a second chance."""
    result = attempt(command, release, "")
    if result.state == "ok":
        return result
    patient = attempt(command, release, str(ANSWER_MS))  # a cold disk or a busy machine is no fault of the installation
    if patient.state != "ok":
        return patient
    return Result(
        "note", f"{patient.says}, later than helper_ms allows: submitted as written", "look again when it is quiet"
    )


def attempt(command: str, release: Release, helper_ms: str) -> Result:
    """Run the front once, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="maple-doctor.") as folder:
        front = lay_out(command, release, Path(folder), {"helper_ms": helper_ms} if helper_ms else {})
        begun = time.monotonic()
        try:
            done = subprocess.run([front, "job.sh"], cwd=folder, env=environment(folder), capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=2 * ANSWER_MS / 1000, check=False)  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return Result("wrong", f"the front does not run: {error}", "install again")
        spent = round((time.monotonic() - begun) * 1000)
    printed = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode or WORD not in done.stdout.decode("utf-8", "replace"):
        return Result(
            "wrong", f"the front did not become the real command: {printed or done.returncode}", "install again"
        )
    silent = [
        line for line in printed.splitlines() if "no answer" in line or re.match(r"maple: (helper: )?\w+Error", line)
    ]
    if silent:
        return Result("wrong", f"after {spent} ms: {silent[0]}", f"try {reproduce(release)}")
    return Result("ok", f"answered in {spent} ms")


def lay_out(command: str, release: Release, folder: Path, changed: dict[str, str]) -> Path:
    """Put a copy of the front beside a configuration of its own; return its path."""
    for name in ("bin", "etc"):
        (folder / name).mkdir(mode=0o755)
    front = folder / "bin" / command
    shutil.copyfile(release.front, front)
    (folder / "real").write_text(f"#!/bin/sh\necho {WORD}\n")
    (folder / "job.sh").write_text(SCRIPTS[command])
    values = {key: value for key, value in settings.values(release).items() if key not in ("audit", "socket", "policy")}
    config = folder / "etc" / "front.conf"
    values |= {f"real_{command}": str(folder / "real"), "mode": "observe"}
    config.write_bytes(settings.text({**values, **changed}))
    config.chmod(0o644)
    front.chmod(0o755)
    (folder / "real").chmod(0o755)
    return front


def environment(folder: str) -> dict[str, str]:
    """Return an environment in which the front speaks, and keeps what it writes in *folder*."""
    return {
        "PATH": os.defpath,
        "HOME": folder,
        "XDG_STATE_HOME": folder,
        "XDG_CACHE_HOME": folder,
        "MAPLE": "verbose,observe",
    }


def reproduce(release: Release) -> str:
    """Return a command that shows why the helper does not answer."""
    values = settings.values(release)
    return f"{values.get('python', 'python3')} -IS {values.get('helper', 'helper.py')} {release.config} </dev/null"


def job_of_a_second(
    where: Layout, receipt: Receipt, words: Sequence[str], patience: float = PATIENCE
) -> Iterator[Check]:
    """Yield what became of a job submitted with these *words*: is it known, and is its end?"""
    front = next((Path(placed.path) for placed in receipt.placed if Path(placed.path).name in _OWN), None)
    values = settings.values(Release(where.current))
    socket = values.get("socket", "")
    if front is None or not socket:
        says = "no job was submitted: there is no service that could hear of it"
        yield Check(NAME, "note", says, "maple admin install --daemon --hooks")
        return
    uid = values.get("service_uid", "")
    with service.at(socket, int(uid) if uid.isdigit() else -1):
        answers = _answers()
    if not answers:
        says = "no job was submitted: the service does not answer"
        yield Check(NAME, "wrong", says, f"start it first:\n    {start(receipt, uid)}")
        return
    job, why = _submitted(front, words)
    if not job:
        yield Check(NAME, "wrong", f"{front.name} took no job: {why}", _wanted(Release(where.current), front.name))
        return
    with service.at(socket, int(uid) if uid.isdigit() else -1):
        yield from _followed(job, patience, _brought_into_force(receipt))


def _wanted(release: Release, command: str) -> str:
    """Return what to name: what the facts in force say that this site wants of every job."""
    try:
        demands = configuration.in_force(settings.values(release))[1].demands
    except (OSError, ValueError):
        demands = ()
    says = [demand.says for demand in demands if demand.effect == "refused" and demand.applies == "always"]
    example = "--account=abcd" if command == "sbatch" else "-A abcd -q debug"
    return "\n".join([f"name behind -- what it wants, as in -- {example}", *says])


def _submitted(front: Path, words: Sequence[str]) -> tuple[str, str]:
    with tempfile.TemporaryDirectory(prefix="maple-doctor-") as folder:
        script = Path(folder, "doctor.sh")
        script.write_bytes(TRIAL_SCRIPT)
        done = subprocess.run([front, *_OWN[front.name], *words, script], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=60, check=False)  # fmt: skip
    match = re.match(r"(?:Submitted batch job )?(\d+[\w.\[\]-]*)", done.stdout.strip())
    if match and not done.returncode:
        return match[1], ""
    return "", (done.stderr.strip() or "it said nothing").splitlines()[-1]


def _brought_into_force(receipt: Receipt) -> str:
    """Return what the scheduler's configuration has to say for its hooks, or how to get them."""
    placed = hooks.lines(File(Path(file.path), b"") for file in receipt.written)
    return (
        "\n".join(["see that the scheduler calls them, and was restarted since", *placed])
        if placed
        else "place them: maple admin install --daemon --hooks"
    )


def _followed(job: str, patience: float, todo: str) -> Iterator[Check]:
    """A job that waits in the queue is no fault of the hooks."""
    until, known = time.monotonic() + patience, None
    while time.monotonic() < until:
        known = _known(job) or known
        if known is not None and known.outcome is not None:
            yield Check(NAME, "ok", f"job {job}: the service heard of its id and of its end ({known.outcome.state})")
            return
        time.sleep(0.5)
    if known is None:
        yield Check(NAME, "wrong", f"job {job} was submitted, and no hook told the service of it", todo)
    else:
        says = f"job {job} is known, and nothing was heard of its end within {patience:.0f} s"
        yield Check(NAME, "wrong", says, f"where it has ended by now, {todo}")


def _answers() -> bool:
    """Return whether the service can be asked."""
    try:
        submission("0")
    except service.NoService:
        return False
    except service.Refused:
        return True
    return True


def _known(job: str) -> Record | None:
    try:
        return submission(job)
    except (service.NoService, service.Refused):
        return None
