"""Lightning and the tasks that Slurm starts."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Sequence, Tuple

from ...cures.option_edits import restate
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding, counted
from ...types.job import Job
from ...types.launch_plan import LaunchPlan
from .. import rule
from ..limits import asked, text
from ..program_text import Program, named_values, programs

_LIGHTNING = re.compile(rb"(?m)^\s*(?:import|from)\s+(?:pytorch_lightning|lightning)\b")
_TOLD_OTHERWISE = (b"LightningEnvironment", b"SLURMEnvironment", b"TorchElasticEnvironment", b"plugins")
_DEVICES = re.compile(rb"\bdevices\s*=\s*(\d{1,3})\s*[,)]")
_NODES = re.compile(rb"\bnum_nodes\s*=\s*(\d{1,3})\s*[,)]")
_TRAINER = {b"trainer.devices", b"trainer.num_nodes"}
_OPTIONS = {b"devices", b"strategy"}
_STRATEGY = re.compile(rb"(?:ddp|fsdp|deepspeed)(?:_\w+)?\Z")
_INTERACTIVE = ("bash", "interactive")


@rule("MPL324", "Lightning and srun count different processes", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """Inside a Slurm job Lightning starts no processes: it takes each task of srun for the rank of one device.

    Wrong: #SBATCH --ntasks-per-node=4 ... python train.py, without srun
    Wrong: #SBATCH --ntasks-per-node=1 ... srun python train.py, where train.py says Trainer(devices=4)
    Wrong: #SBATCH --job-name=interactive (or bash): Lightning takes the job for one of salloc
    Right: #SBATCH --ntasks-per-node=4 ... srun python train.py, with Trainer(devices=4, num_nodes=$SLURM_NNODES)
    Why:   without srun it waits at MEMBER: 1/8 for seven others; with other counts it ends with: You set `devices=4`,
           but the number of tasks per node is 1. `maple check` shows the change; at submission Maple only reports it:
           versions differ.
    """
    if b"SLURM_NTASKS" in job.source or b"SLURM_JOB_NAME" in job.source:
        return  # the script speaks to Lightning itself
    for program in (*_by_text(plan, job), *_by_words(plan, job)):
        says = _wrong(program, plan, job)
        if says:
            helps = "one task per device: --ntasks-per-node as many as devices, and srun in front of python"
            yield Finding(
                "MPL324",
                says,
                program.step.program_span or program.step.span,
                fixes=_a_task_each(program, job),
                help=helps,
            )


def _by_text(plan: LaunchPlan, job: Job) -> Iterator[Program]:
    """Yield the programs that import Lightning, and leave its environment to it."""
    for program in programs(plan, job):
        if _LIGHTNING.search(program.text) and not any(word in program.text for word in _TOLD_OTHERWISE):
            yield program


def _by_words(plan: LaunchPlan, job: Job) -> Iterator[Program]:
    """Yield the launch lines that tell a program of Lightning's trainer, whose file is not there to be read."""
    known = {program.step.line for program in programs(plan, job)}
    for step in plan.steps:
        names = {named.name.lstrip(b"-+").replace(b"-", b"_") for named in named_values(step.program)}
        of_trainer = names >= _TRAINER or (names >= _OPTIONS and _splits(step.program))
        if step.line not in known and not step.maybe and not step.unknown and of_trainer:
            yield Program(step, "the program", b"")


def _splits(program: Sequence[bytes]) -> bool:
    """Return whether an option of the name is told one of Lightning's strategies."""
    return any(named.last == "strategy" and _STRATEGY.match(named.value) for named in named_values(program))


def _a_task_each(program: Program, job: Job) -> Tuple[Fix, ...]:
    """One task for each device, where the job's own directive counts the tasks."""
    devices, setting = _devices(program), job.settings.get("ntasks-per-node")
    name = job.settings.get("job-name")
    if name is not None and text(job.settings, "job-name") in _INTERACTIVE:
        made = restate(job, name, b"train", "MPL324")
        return (made.fix(Safety.ASK, "--job-name=train"),) if made is not None else ()
    if not program.step.links and program.step.program_span is not None:
        start = program.step.program_span.start
        return (Fix((Edit(Span(start, start), b"srun ", "MPL324"),), Safety.ASK, "start it by srun"),)
    if [link.name for link in program.step.links] != ["srun"] or not devices:
        return ()
    total, wanted = job.settings.get("ntasks"), _processes(program)
    if (
        total is not None
        and wanted
        and total.value != b"%d" % wanted
        and program.step.tasks_per_node in (None, devices)
    ):
        more = restate(job, total, b"%d" % wanted, "MPL324")
        return (more.fix(Safety.ASK, "--ntasks=%d" % wanted),) if more is not None else ()
    if setting is None or setting.value == b"%d" % devices:
        return ()
    made = restate(job, setting, b"%d" % devices, "MPL324")
    return (made.fix(Safety.ASK, "--ntasks-per-node=%d" % devices),) if made is not None else ()


def _wrong(program: Program, plan: LaunchPlan, job: Job) -> str:
    links = [link.name for link in program.step.links]
    tasks = plan.allocation.tasks or 0
    if not links and tasks > 1 and (asked(job, "ntasks") or asked(job, "ntasks-per-node")):
        return "Lightning would wait for %d processes, and without srun nothing starts them" % tasks
    alone = (program.step.tasks or 0) < 2
    if links != ["srun"] or (alone and not asked(job, "ntasks-per-node")):
        return ""
    if text(job.settings, "job-name") in _INTERACTIVE:
        return "Lightning takes a job of this name for an interactive one, and leaves srun's tasks alone"
    devices, each = _devices(program), program.step.tasks_per_node
    if devices and each and devices != each:
        return "Lightning is told %s per node, but srun starts %s" % (counted(devices, "device"), counted(each, "task"))
    wanted, started = _processes(program), program.step.tasks
    if wanted and started and wanted != started and asked(job, "ntasks"):
        return "Lightning waits for %d processes, but srun starts %s" % (wanted, counted(started, "task"))
    return ""


def _processes(program: Program) -> int:
    """Return how many processes the launch line has Lightning wait for, 0 where it does not say."""
    words = {named.last: named.value for named in named_values(program.step.program)}
    nodes = words.get("num_nodes", b"")
    counts = _NODES.findall(program.text)
    number = int(nodes[:4]) if nodes.isdigit() else int(counts[0]) if len(set(counts)) == 1 else 0
    return (_devices(program) or 0) * number


def _devices(program: Program) -> Optional[int]:
    """Return the devices that the launch line, else the program, names as a number."""
    value = next((named.value for named in named_values(program.step.program) if named.last == "devices"), b"")
    if value.isdigit():
        return int(value[:4])
    counts = {int(count) for count in _DEVICES.findall(program.text)}
    return counts.pop() if len(counts) == 1 else None
