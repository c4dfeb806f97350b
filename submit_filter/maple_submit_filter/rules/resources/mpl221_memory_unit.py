"""Memory without a unit."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Tuple

from ...cures.option_edits import at, restate
from ...request.scheduler_words import is_pbs
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import asks_for_gpus

_SLURMS = ("mem", "mem-per-gpu", "mem-per-cpu")
_LEAST = {"mem": 1500, "mem-per-gpu": 1500, "mem-per-cpu": 65}  # MiB; importing torch alone takes more than half a GiB
_CHUNK = re.compile(rb"(?m)^#PBS[^\n]*?[:,\s=]mem=(\d{1,6})(?=[:,+\s]|$)")


@rule("MPL221", "memory in a unit that is hardly meant")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A number alone counts megabytes for sbatch (sbatch(1), --mem) and bytes for qsub (pbs_resources(7)).

    Wrong: #SBATCH --mem=200, or #PBS -l select=2:ngpus=4:mem=200
    Right: #SBATCH --mem=200G, or mem=200gb
    Why:   200 MB are less than one Python that imports torch; the job is killed for memory at once. Maple only shows
           the change.
    """
    if not asks_for_gpus(job.settings) and not plan.allocation.gpus_per_node:
        return
    yield from _of_pbs(job) if is_pbs(job) else _of_slurm(job)


def _of_slurm(job: Job) -> Iterator[Finding]:
    for name in _SLURMS:
        setting = job.settings.get(name)
        if setting is None or not setting.value.isdigit() or not 0 < int(setting.value[:9]) < _LEAST[name]:
            continue
        new = setting.value + b"G"
        made = restate(job, setting, new, "MPL221")
        says = "--%s=%s is %s megabytes" % (name, setting.value.decode(), setting.value.decode())
        fixes = (made.fix(Safety.ASK, "--%s=%s" % (name, new.decode())),) if made is not None else ()
        yield Finding("MPL221", says, at(setting), asks_for="mem", fixes=fixes, help="say the unit: %s" % new.decode())


def _of_pbs(job: Job) -> Iterator[Finding]:
    match = _CHUNK.search(job.source)
    count = match.group(1) if match else _on_command_line(job)
    if not count or int(count) == 0:
        return
    where = Span(match.start(1), match.end(1)) if match else None
    fixes: Tuple[Fix, ...] = ()
    if where is not None:
        fixes = (Fix((Edit(where, count + b"gb", "MPL221"),), Safety.ASK, "mem=%sgb" % count.decode()),)
    yield Finding("MPL221", "mem=%s is %s bytes" % (count.decode(), count.decode()), where, asks_for="mem", fixes=fixes,
                  help="say the unit: mem=%sgb" % count.decode())  # fmt: skip


def _on_command_line(job: Job) -> Optional[bytes]:
    value = job.settings.value("mem") or b""
    return value if value.isdigit() and len(value) < 7 else None
