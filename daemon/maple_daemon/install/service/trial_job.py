"""One job of a second through the front, to see that the service hears of its id and its end: `doctor --job`."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from maple_agents.ask.memory import service
from maple_agents.ask.memory.versions import submission
from maple_submit_filter.host import configuration
from maple_submit_filter.types.job_records import TRIAL_SCRIPT, Record

from .. import settings
from ..refusals import Check
from ..release.layout import Layout, Receipt, Release
from . import hooks
from .state import start
from .written import File

NAME = "hooks"
PATIENCE = 120.0  # seconds that the job may wait in the queue, by default
AFTER_END = 15.0  # that a service which looks every five seconds may take
_OWN = {
    "sbatch": ("--parsable", "--job-name=maple-doctor", "--time=1", "--output=/dev/null"),
    "qsub": ("-N", "maple-doctor", "-l", "walltime=00:01:00", "-j", "oe", "-o", "/dev/null"),
}


def tried(where: Layout, receipt: Receipt, words: Sequence[str], patience: float = PATIENCE) -> Iterator[Check]:
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
