"""What a request asks for of nodes, time and memory; and whether a change asks for less.

An offer may ask for less where that is the one thing that it is about. Beside other changes it would be taken with
them, by somebody who reads the first line.
"""

from __future__ import annotations

from typing import Dict, Optional

from ..request.scheduler_words import is_pbs
from ..request.slurm import values
from ..types.job import Job

_MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")


def asks_for_less(before: Job, after: Job) -> bool:
    """Return whether *after* names less of anything that *before* names; what is not said any more is none of it."""
    had, has = _amounts(before), _amounts(after)
    return any(has[name] < amount for name, amount in had.items() if name in has)


def _amounts(job: Job) -> Dict[str, int]:
    found = _of_qsub(job) if is_pbs(job) else _of_sbatch(job)
    return {name: amount for name, amount in found.items() if amount is not None}


def _of_sbatch(job: Job) -> Dict[str, Optional[int]]:
    said = values.nodes(job.settings.value("nodes") or b"")
    found = {name: values.mebibytes(job.settings.value(name) or b"") or None for name in _MEMORY}  # 0 is all there is
    return {"nodes": said[0] if said else None, "time": values.seconds(job.settings.value("time") or b""), **found}


def _of_qsub(job: Job) -> Dict[str, Optional[int]]:
    from ..play.pbs_allocation import chunks_of
    from ..request.pbs import resources  # not on the way of a Slurm job

    chunks = chunks_of(job.settings)
    memory = [resources.size(one.value(b"mem") or b"") for one in chunks]
    known = [size * one.count for one, size in zip(chunks, memory) if size is not None]
    return {
        "nodes": sum(one.count for one in chunks) if chunks else None,
        "time": resources.seconds(job.settings.value("walltime") or b""),
        "mem": sum(known) if chunks and len(known) == len(chunks) else None,
    }
