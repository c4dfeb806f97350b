"""Ranks of one node that a launch line does not tell apart, as a task each: workers of an agent whose wrapper binds
every one by its local rank, and ranks that a script starts one by one in the background.

A wrapper is played as any script is, once for each local rank; it is never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from maple_submit_filter.answer.decision import decide
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.launch_plan import LaunchPlan, Process, Step
from maple_submit_filter.types.submission import Submission
from maple_submit_filter.types.text import NUL

from ..size_files import Reads, text_of

_SHELL = re.compile(rb"#![^\n]*\b(?:ba)?sh\b")
_MOST = 16  # workers of a node
_PLAIN = re.compile(rb"[\w./=:,+-]+\Z")


def workers(step: Step, plan: LaunchPlan, source: bytes, read: Reads) -> Step | None:
    """Return an agent's line with a task for each worker, bound as its wrapper binds it; None where none is read."""
    agent = step.links[-1] if step.links else None
    if agent is None or agent.option("no-python") is None or not step.program or len(step.groups) != 1:
        return None
    wrapper = text_of(step.program[0], step, plan, source, read)
    group = step.groups[0]
    here = [process for process in group.processes if process.node == 0]
    if wrapper is None or not _SHELL.match(wrapper[1]) or len(here) != group.ranks_per_node or len(here) > _MOST:
        return None
    bound = [_bound(process, wrapper[1], step.program[1:]) for process in here]
    made = _shared(plan, [process for process in bound if process is not None])
    if len(made) < len(here) or not any(process.pinned for process in made):
        return None
    return step._replace(
        links=(), program=step.program[1:], tasks_per_node=len(made), groups=(group._replace(processes=made),)
    )


def _shared(plan: LaunchPlan, ranks: Sequence[Process]) -> tuple[Process, ...]:
    """Return ranks as tasks, each with its share of the CPUs that one task of the job asks for."""
    asked = plan.allocation.cpus_per_task or 0
    return tuple(
        rank._replace(task=at, cpus=(rank.cpus or asked) // len(ranks) or None) for at, rank in enumerate(ranks)
    )


def _bound(process: Process, wrapper: bytes, program: tuple[bytes, ...]) -> Process | None:
    """Return a worker as its wrapper leaves it, None where that is not known."""
    local = process.local_rank
    if local is None or any(NUL in word or not _PLAIN.match(word) for word in program[:2]):
        return None
    words = b" ".join(word if _PLAIN.match(word) else b"word" for word in program)
    said = b"export LOCAL_RANK=%d RANK=%d WORLD_SIZE=%d MASTER_ADDR=localhost MASTER_PORT=1\nset -- %s\n" % (
        local, local, process.world_size or 1, words)  # fmt: skip
    script = b"#!/bin/bash\n" + said + wrapper
    asked = Submission("slurm", (b"sbatch", b"w.sh"), script, "file", b"w.sh", b"/", 1000, {})
    played = decide(asked, GENERIC_SLURM).plan
    starts = played.steps if played is not None else ()
    found = [one.groups[0].processes[0] for one in starts if len(one.groups) == 1 and one.groups[0].processes]
    if played is None or played.unread or len(found) != 1 or starts[0].maybe or starts[0].unknown:
        return None
    gpus = found[0].gpus if found[0].gpus is not None and len(found[0].gpus) == 1 else process.gpus
    return process._replace(pinned=found[0].pinned, placing=found[0].placing, gpus=gpus)


def one_by_one(plan: LaunchPlan) -> Iterator[Step]:
    """Yield lines that start the ranks of one world one after the other, as a task each on one node."""
    lines: dict[int, list[Step]] = {}
    for step in plan.steps:
        if not step.links and step.background and not step.maybe and not step.unknown and len(step.groups) == 1:
            lines.setdefault(step.line, []).append(step)
    for steps in lines.values():
        ranks = [process for step in steps for process in step.groups[0].processes]
        first = steps[0].groups[0]
        alone = len(ranks) == len(steps) == first.world_size and {rank.node for rank in ranks} == {0}
        if alone and [rank.local_rank for rank in ranks] == list(range(len(ranks))) and len(ranks) > 1:
            made = _shared(plan, ranks)
            yield steps[0]._replace(groups=(first._replace(processes=made),), tasks_per_node=len(made))
