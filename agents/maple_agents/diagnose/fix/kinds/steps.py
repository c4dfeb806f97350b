"""A step asks for no more than its job has."""

from __future__ import annotations

from collections.abc import Iterator

from maple_submit_filter.cures import launch_edits
from maple_submit_filter.types.edits import Edit, Fix, Safety
from maple_submit_filter.types.launch_plan import Allocation, Step

from ....base import quantities
from ..registry import Given, concerned, fix


@fix("step-of-whole-allocation")
def step_of_whole_allocation(given: Given) -> Fix | None:
    """Lower what srun asks for to what the job has on a node: CPUs of a task, GPUs of a node or task, memory.

    Only numbers that stand on the line, and only where what the job has is known: its CPUs where it says how many for a
    task, and no node that it may have to itself gives as many. Nodes and tasks are the rules' own.
    """
    edits: list[Edit] = []
    options: list[str] = []
    for step in concerned(given):
        for name, most in _most(given, given.plan.allocation, step).items():
            for link in (srun for srun in step.links if srun.name == "srun"):
                option = link.option(name)
                raw = option.value.raw if option is not None and option.value is not None else b""
                if most and raw.isdigit() and int(raw) > most:
                    edits += launch_edits.change(option, b"%d" % most, "step-of-whole-allocation") or []
                    options.append("--%s=%d" % (name, most))
        for edit, says in _memory(given, step):
            edits.append(edit)
            options.append(says)
    return Fix(tuple(edits), Safety.ASK, "srun " + " ".join(dict.fromkeys(options))) if edits else None


def _memory(given: Given, step: Step) -> Iterator[tuple[Edit, str]]:
    """Yield the edit that gives a step the memory of the job in place of more, where both say how much."""
    asked = given.job.settings.value("mem")
    has = quantities.size(asked.decode("ascii", "replace"), "M") if asked else None
    for link in step.links:
        option = link.option("mem") if link.name == "srun" else None
        raw = option.value.raw if option is not None and option.value is not None else b""
        wants = quantities.size(raw.decode("ascii", "replace"), "M") if raw else None
        if has and wants and wants > has and asked:
            for edit in launch_edits.change(option, asked, "step-of-whole-allocation") or []:
                yield edit, "--mem=%s" % asked.decode()


def _most(given: Given, has: Allocation, step: Step) -> dict[str, int]:
    """Return the most that each option can be; 0 where that is not known."""
    tasks = step.tasks_per_node or 0
    counted = "cpus-per-task" in given.job.settings and has.cpus_per_task and has.tasks_per_node
    cpus = (has.cpus_per_task or 0) * (has.tasks_per_node or 0) if counted else 0
    if has.shared is not True:  # the node may be the job's own: then all its CPUs are
        cpus = (
            max([cpus, *((node_kind.cores or 0) * (node_kind.threads_per_core or 1) for node_kind in has.node_kinds)])
            if cpus
            else 0
        )
    gpus = has.gpus_per_node or 0
    return {
        "cpus-per-task": cpus // tasks if tasks and has.shared is not False else 0,
        "gpus-per-node": gpus,
        "gpus-per-task": gpus // tasks if tasks else 0,
        "gpus": gpus * (step.nodes or 0),
    }
