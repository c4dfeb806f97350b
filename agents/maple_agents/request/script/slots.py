"""What a script says of its job, slot by slot, each with the line it was read from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from maple_submit_filter.launchers.agents import AGENTS
from maple_submit_filter.request.slurm.values import seconds
from maple_submit_filter.types.job import Job
from maple_submit_filter.types.launch_plan import LaunchPlan
from maple_submit_filter.types.script import line_of
from maple_submit_filter.types.settings import Setting

from ...base.quantities import clock
from ...base.slots import Name, Origin, Slot, Slots
from .paradigm import paradigm
from .parts import Launch
from .walk import Found, bare

_OPTIONS: dict[str, dict[str, Name]] = {
    "slurm": {"account": "account", "partition": "partition", "qos": "qos", "array": "array"},
    "pbs": {"account": "account", "queue": "queue", "array": "array", "filesystems": "filesystems"},
}
_TIME = {"slurm": "time", "pbs": "walltime"}
_NODES = {"slurm": ("nodes", "ntasks", "gpus"), "pbs": ("select", "nodes")}
_ENVIRONMENT = re.compile(rb"^(?:source|\.)[ \t]+(\S*?)/bin/activate\b|^(?:conda|mamba)[ \t]+activate[ \t]+(\S+)")
_IMAGES = ("image", "container-image")


def slots(job: Job, plan: LaunchPlan, launches: tuple[Launch, ...], commands: list[Found], site: str) -> Slots:
    """Return the slots that the script says. *site*: the cluster it was written for, "" unknown."""
    found = [*_of_request(job), *_of_layout(job, plan), *_of_program(job, launches), *_of_shell(job, commands)]
    where = [Slot("site", site, Origin("script", "the script's own signs"))] if site else []
    return Slots([*where, *found])


def main(launches: tuple[Launch, ...]) -> Launch | None:
    """Return the launch line of the training: the one with the largest world, the first of equals."""
    worlds = [one for one in launches if not one.small]
    return max(worlds or launches, key=lambda one: _world(one), default=None)


def _world(launch: Launch) -> int:
    groups = [group for step in launch.steps for group in step.groups]
    return max((group.world_size or group.declared or 1 for group in groups), default=0)


def _of_request(job: Job) -> Iterator[Slot]:
    scheduler = job.submission.scheduler
    for option, name in _OPTIONS[scheduler].items():
        said = job.settings.get(option)
        if said is not None and said.value:
            yield Slot(name, said.value.decode("utf-8", "replace").strip("\"'"), _place(said))
    time = job.settings.get(_TIME[scheduler])
    length = seconds(time.value) if time is not None else None
    if time is not None and length:
        yield Slot("walltime", clock(_clocked(time.value, scheduler, length)), _place(time))


def _clocked(value: bytes, scheduler: str, length: int) -> int:
    """PBS counts a bare number in seconds, and two numbers as minutes and seconds, where Slurm counts minutes."""
    return int(value) if scheduler == "pbs" and value.strip().isdigit() else length


def _of_layout(job: Job, plan: LaunchPlan) -> Iterator[Slot]:
    given = plan.allocation
    said = next((one for one in map(job.settings.get, _NODES[job.submission.scheduler]) if one is not None), None)
    if said is not None and given.nodes:
        yield Slot("nodes", given.nodes, _place(said))
    if given.gpus_per_node and _asks_gpus(job) is not None:
        yield Slot("gpus_per_node", given.gpus_per_node, _place(_asks_gpus(job)))
    kinds = {kind.name for kind in given.node_kinds}
    if len(kinds) == 1 and said is not None:
        yield Slot("gpu", kinds.pop(), Origin("derived", "the partition, queue or constraint"))


def _asks_gpus(job: Job) -> Setting | None:
    """Return the setting that asks for GPUs, None where none does."""
    names = ("gpus-per-node", "gres", "gpus", "gpus-per-task")
    if job.submission.scheduler == "pbs":
        chunk = job.settings.get("select")
        return chunk if chunk is not None and b"ngpus=" in chunk.value else job.settings.get("ngpus")
    return next((one for one in map(job.settings.get, names) if one is not None), None)


def _of_program(job: Job, launches: tuple[Launch, ...]) -> Iterator[Slot]:
    training = main(launches)
    if training is None:
        return
    step = training.steps[0]
    where = Origin("script", "line %d" % training.line, step.span.start, step.span.end)
    links = [link.name for link in step.links]
    launcher = next((name for name in reversed(links) if name in AGENTS), links[0] if links else "")
    if launcher in ("srun", "mpiexec", "ibrun", *AGENTS):
        yield Slot("launcher", launcher, where)
    group = step.groups[0] if len(step.groups) == 1 else None
    if group is not None and group.ranks_per_node and not training.small:
        yield Slot("ranks_per_node", group.ranks_per_node, where)
    way = paradigm(step, job.source, job.read)
    if way:
        yield Slot("paradigm", way, where)
    if training.program is not None:
        start, end = training.program
        text = job.source[start:end].decode("utf-8", "replace")
        yield Slot("program", text, Origin("script", "line %d" % line_of(job.source, start), start, end))


def _of_shell(job: Job, commands: list[Found]) -> Iterator[Slot]:
    for name in _IMAGES:
        said = job.settings.get(name)
        if said is not None and said.value:
            yield Slot("container", said.value.decode("utf-8", "replace"), _place(said))
    for one in commands:
        text = job.source[one.command.span.start : one.command.span.end]
        match = _ENVIRONMENT.match(text)
        if match is not None:
            value = (match[1] or match[2]).decode("utf-8", "replace").strip("\"'")
            yield Slot("environment", value, _at(job, one))
        image = _image(one)
        if image:
            yield Slot("container", image.decode("utf-8", "replace"), _at(job, one))


def _image(one: Found) -> bytes:
    """Return the image that a container runtime of the command is told, b"" none."""
    words = [bare(b"", word) for word in one.command.words]
    for word in words:
        name, equals, value = word.partition(b"=")
        if name in (b"--image", b"--container-image") and equals:
            return value
        if word.endswith((b".sif", b".sqsh")) and any(each in words for each in (b"apptainer", b"singularity")):
            return word
    return b""


def _at(job: Job, one: Found) -> Origin:
    start, end = one.command.span
    return Origin("script", "line %d" % line_of(job.source, start), start, end)


def _place(said: Setting | None) -> Origin:
    if said is None or said.origin.kind != "directive":
        return Origin("script")
    span = said.origin.value_span or said.origin.span
    return Origin("script", "line %d" % said.origin.line, *(span or (0, 0)))
