"""GPUs of a node that are given all together, or in halves."""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

from ...cures.option_edits import at, restate
from ...request.scheduler_words import option
from ...request.slurm import values
from ...site.facts import Partition, Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import gpu_count, judged, rows_in_force


@rule("MPL220", "a part of a node where nodes are given whole", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Some partitions and QOS give the GPUs of a node in multiples of a number, or all of them.

    Wrong: #SBATCH --qos=regular --gpus-per-node=3, on Perlmutter; -N 2 -p GPU --gpus=v100-32:8, on Bridges-2
    Right: #SBATCH --qos=regular --gpus-per-node=4; -N 2 -p GPU --gpus=v100-32:16
    Why:   the site refuses the job: Job request does not match any supported policy. Maple asks first: more GPUs may
           mean more ranks, and a larger global batch.
    """
    row = next((partition for partition in rows_in_force(job, site) if partition.gpus_multiple), None)
    if row is None or not row.gpus_multiple or not judged(job, site):
        return
    for name in ("gpus-per-node", "gres", "gpus"):
        count, setting = gpu_count(job.settings, name), job.settings.get(name)
        nodes = values.nodes(job.settings.value("nodes") or b"1") if name == "gpus" else (1, 1)
        if setting is None or not count or nodes is None or nodes[0] != nodes[1]:
            continue
        wanted = -(-count // (row.gpus_multiple * nodes[0])) * row.gpus_multiple * nodes[0]
        if wanted != count:
            yield _finding(job, setting, row, count, wanted)
            return


def _finding(job: Job, setting: Setting, row: Partition, count: int, wanted: int) -> Finding:
    each = "%d on a node" % (row.gpus_multiple or 0)
    says = "%d GPUs, but %s gives them in multiples of %s" % (count, row.name, each)
    return Finding("MPL220", says, at(setting), fixes=_whole(job, setting, count, wanted),
                   help="request whole nodes, or a partition or QOS that shares them",
                   site_fact="%s.%s" % (row.selector, row.name))  # fmt: skip


def _whole(job: Job, setting: Setting, count: int, wanted: int) -> Tuple[Fix, ...]:
    head, last = setting.value[: -len(b"%d" % count)], setting.value[-len(b"%d" % count) :]
    value: Optional[bytes] = head + b"%d" % wanted if last == b"%d" % count else None
    made = restate(job, setting, value, "MPL220") if value else None
    return (
        (made.fix(Safety.ASK, option(job, setting.name, value.decode("utf-8", "replace"))),) if made and value else ()
    )
