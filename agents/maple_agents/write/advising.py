"""What to know of a script that is right: what it needs besides, and what the site says of such jobs."""

from __future__ import annotations

from ..base.slots import Name
from .compose import launchers
from .values import Plan


def advice(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each thing that the script cannot see to itself."""
    return (
        *launchers.advice(plan.launch, plan.paradigm, plan.cluster),
        *(plan.model[0].around if plan.model is not None else ()),
        *_walltime(plan),
        *_caps(plan),
        *_without_effect(plan),
    )


def _walltime(plan: Plan) -> tuple[str, ...]:
    return () if plan.value("walltime") else ("No walltime was given; the scheduler's default applies.",)


def _caps(plan: Plan) -> tuple[str, ...]:
    """Return what one user can have at a time, where the job wants more: it would wait for ever."""
    file, place = plan.cluster.file, plan.place
    if file is None or place is None:
        return ()
    tables = {"partition": file.partition, "qos": file.qos, "queue": file.queue}[place.selector]
    most = tables[place.name].max_gpus_per_user if place.name in tables else None
    wanted = plan.layout.nodes * plan.layout.gpus_per_node
    if most is None or wanted <= most:
        return ()
    return (
        "A user can have %d GPUs at a time in %s, and this job wants %d: it may never start."
        % (most, place.name, wanted),
    )


def _without_effect(plan: Plan) -> tuple[str, ...]:
    """Return what was said and cannot be asked for there: nothing is left out unsaid."""
    pbs = plan.cluster.site.scheduler == "pbs"
    slots: tuple[Name, ...] = ("qos",) if pbs else ("filesystems",)
    if not plan.cluster.site.kinds:
        slots = (*slots, "gpu")
    return tuple(
        "%s %s was said, and it cannot be requested here, so it was left out." % (slot, plan.said.text(slot))
        for slot in slots
        if slot in plan.said
    )
