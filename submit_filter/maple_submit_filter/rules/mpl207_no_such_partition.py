"""A partition that the cluster has not."""

from __future__ import annotations

from typing import Iterator, List, Sequence

from ..edits import Safety
from ..findings import Finding
from ..job import Job
from ..launch import LaunchPlan
from ..limits import judged, text
from ..saying import at, restate
from ..site import Site
from . import rule


@rule("MPL207", "no such partition")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A partition must exist, letter for letter.

    Wrong: #SBATCH --partition=gpu-A100, where the queue is called gpu-a100
    Right: #SBATCH --partition=gpu-a100
    Why:   Slurm says: invalid partition specified. It is proven only where the site file lists every partition; else
           a name that is one letter off is pointed out, for there may be partitions that the file does not know.
    """
    known = [one.name for one in site.partitions if one.selector == "partition"]
    said = [name for name in text(job.settings, "partition").split(",") if name and "$" not in name]
    if not judged(job) or not known:
        return
    for name in said:
        near = [one for one in known if alike(name, one)]
        if name not in known and (site.partitions_complete or len(near) == 1):
            yield _finding(job, name, near, known, site.partitions_complete)


def _finding(job: Job, name: str, near: List[str], known: Sequence[str], proven: bool) -> Finding:
    setting = job.settings.get("partition")
    fixes = []
    if proven and setting is not None and len(near) == 1:
        words = [near[0] if one == name else one for one in text(job.settings, "partition").split(",")]
        made = restate(job, setting, ",".join(words).encode(), "MPL207")
        fixes = [made.fix(Safety.ASK, "--partition=%s" % ",".join(words))] if made is not None else []
    says = "there is no partition %s" if proven else "the site file knows no partition %s"
    helps = "did you mean %s?" % near[0] if len(near) == 1 else "there are %s" % ", ".join(known)
    return Finding("MPL207", says % name, at(setting), proven, "partition", tuple(fixes), helps, "partition")


def alike(one: str, other: str) -> bool:
    """Return whether two names differ in case only, or in one letter, one left out, or two exchanged."""
    one, other = one.lower(), other.lower()
    if one == other:
        return True
    if len(one) == len(other):
        apart = [index for index in range(len(one)) if one[index] != other[index]]
        swapped = len(apart) == 2 and one[apart[0]] == other[apart[1]] and one[apart[1]] == other[apart[0]]
        return swapped or (len(apart) == 1 and not (one[apart[0]] + other[apart[0]]).isdigit())
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return len(longer) - len(shorter) == 1 and any(
        longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer))
    )
