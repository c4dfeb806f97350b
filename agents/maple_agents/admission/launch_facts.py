"""What the launch lines say: launcher, world, program, arguments, framework, parallelism."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maple_submit_filter.types.job import Job
from maple_submit_filter.types.job_records import Part
from maple_submit_filter.types.launch_plan import LaunchPlan, Step
from maple_submit_filter.types.script import line_of

from ..request.script.paradigm import paradigm
from . import names
from .names import Candidate, of_key, part_at
from .programs import Argument, Started, main, one_program

_AGENTS = ("deepspeed", "accelerate", "torchrun")
FRAMEWORKS = (  # the more a name says of how the program trains, the earlier
    "megatron", "nemo", "colossalai", "deepspeed", "lightning", "composer", "accelerate", "horovod", "jax",
    "tensorflow", "torch",
)  # fmt: skip
_OF_LAUNCHER = {"deepspeed": "deepspeed", "accelerate": "accelerate", "torchrun": "torch"}
CONFIGS_OF_DEEPSPEED = ("deepspeed", "deepspeed_config", "ds_config")


def of_launches(job: Job, plan: LaunchPlan, parts: Sequence[Part]) -> Iterator[Candidate]:
    """Yield what the launch lines of the job's own program say."""
    found = main(plan)
    if not found:
        return
    for one in found:
        yield from _of_step(one, job, parts)
        if any(each.kind for each in found):
            yield Candidate("job_kind", one.kind or None, "", one.step.line, part_at(one.step.line, parts), "script")
    yield from _allocated(found[0].step, plan, parts)
    if one_program(found):
        yield from _common([list(_of_program(one, job, parts)) for one in found])


def _of_step(one: Started, job: Job, parts: Sequence[Part]) -> Iterator[Candidate]:
    step = one.step
    part = part_at(step.line, parts)
    agent = next((link.name for link in reversed(step.links) if link.name in _AGENTS), "")
    launcher = agent or (step.links[0].name if step.links else "")
    yield Candidate("launcher", launcher or None, "", step.line, part, "script")
    framework = _framework(one, agent)
    if framework:
        yield Candidate("framework", framework, "", step.line, part, "script")
    way = paradigm(step, job.source, None)
    if way:
        yield Candidate("parallelism", way, "", step.line, part, "script")
    world = {group.world_size for group in step.groups}
    size = next(iter(world)) if len(world) == 1 else None
    yield Candidate("world_size", str(size) if size else None, "", step.line, part, "plan")


def _framework(one: Started, agent: str) -> str:
    """Return the framework that a launch line proves."""
    told = {names.plain(each.name) for each in one.given.all if each.form == "option"}
    found = [_OF_LAUNCHER[agent]] if agent else []
    found += ["deepspeed"] if told.intersection(CONFIGS_OF_DEEPSPEED) else []
    return min(found, key=FRAMEWORKS.index, default="")


def _allocated(step: Step, plan: LaunchPlan, parts: Sequence[Part]) -> Iterator[Candidate]:
    granted = plan.allocation
    part = part_at(step.line, parts, "launch")
    counts = {"nodes": granted.nodes, "gpus_per_node": granted.gpus_per_node}
    if granted.nodes and granted.gpus_per_node:
        counts["gpus"] = granted.nodes * granted.gpus_per_node
    for name, count in counts.items():
        if count:
            yield Candidate(name, str(count), "", step.line, part, "plan")


def _common(of_steps: Sequence[list[Candidate]]) -> Iterator[Candidate]:
    """Yield what every one of the lines says; what only some say is not known of the job."""
    said = [{(one.name, one.value) for one in found} for found in of_steps]
    for found in of_steps:
        for one in found:
            yield one if all((one.name, one.value) in other for other in said) else one._replace(value=None)


def _of_program(one: Started, job: Job, parts: Sequence[Part]) -> Iterator[Candidate]:
    line = line_at(one, one.first - 1, job)
    part = part_at(line, parts)
    if names.allowed("program", one.program):
        yield Candidate("program", one.program, "", line, part, "script")
    whole = _whole(one)
    if whole:
        yield Candidate("arguments", whole, "", line, part, "script")
    for each in given(one):
        at = line_at(one, one.first + each.at, job)
        yield from of_key(each.name, _value(each), "", at, part_at(at, parts), "arguments")


def given(one: Started) -> list[Argument]:
    """Return the options and overrides in force: of one that stands there twice, the last."""
    last = {each.name: each for each in one.given.sure() if each.form != "word"}
    unsure = [each._replace(value=None) for each in one.given.all if each.form != "word" and each.name not in last]
    return [*last.values(), *unsure]


def common_arguments(found: Sequence[Started]) -> list[Argument]:
    """Return the options of the first line; what another does not give in the same way is unknown."""
    others = [{(each.name, each.value) for each in given(one)} for one in found]
    same = [each if all((each.name, each.value) in one for one in others) else each._replace(value=None)
            for each in given(found[0])]  # fmt: skip
    known = {each.name for each in same}
    return same + [each._replace(value=None) for one in found[1:] for each in given(one) if each.name not in known]


def _value(each: Argument) -> str | None:
    """Return what an argument says; a sweep (`lr=1e-3,1e-4`) says no one value."""
    swept = each.form == "override" and each.value is not None and "," in each.value
    if swept:
        return None
    return "true" if each.value == "" else each.value


def _whole(one: Started) -> str:
    """Return the arguments as one line, "" where a word is not known, or is a secret."""
    words = one.step.program[one.first :]
    if any(b"\0" in word for word in words):
        return ""
    text = " ".join(word.decode("utf-8", "replace") for word in words)
    return text if text and names.allowed("arguments", text) else ""


def line_at(one: Started, index: int, job: Job) -> int:
    """Return the line of a word of the launch line, that of the whole where the word is not written as such."""
    spans = one.step.program_spans
    span = spans[index] if 0 <= index < len(spans) else None
    return line_of(job.source, span.start) if span is not None else one.step.line
