"""The directives of a plan, each in the scheduler's and the site's own form."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from maple_submit_filter.site.facts import Demand

from ...base.slots import Name, Refused
from ..decide import places
from ..values import Plan
from . import launch_line


class Directive(NamedTuple):
    """An option by its long name without dashes, its value ("" for a flag), and who says so: a slot, a fact."""

    option: str
    value: str
    because: str


_PBS = {
    "job-name": "-N",
    "account": "-A",
    "project": "-P",
    "queue": "-q",
    "array": "-J",
    "output": "-o",
    "mail-user": "-M",
    "mail-type": "-m",
    "dependency": "-W depend=",
}  # all else is a resource of -l


def lines(plan: Plan) -> list[bytes]:
    """Return the directive lines (`#SBATCH --nodes=2`), without newlines, in the order that people write them.

    Never one that the site refuses. Raises `Refused` where a value is none that a directive can hold.
    """
    write = _pbs if plan.cluster.site.scheduler == "pbs" else _slurm
    return [write(directive).encode() for directive in directives(plan)]


def _slurm(directive: Directive) -> str:
    return (
        "#SBATCH --%s=%s" % (directive.option, directive.value)
        if directive.value
        else "#SBATCH --%s" % directive.option
    )


def _pbs(directive: Directive) -> str:
    if directive.option in _PBS:
        letter = _PBS[directive.option]
        return "#PBS %s%s%s" % (letter, "" if letter.endswith("=") else " ", directive.value)
    return "#PBS -l %s=%s" % (directive.option, directive.value)


def directives(plan: Plan) -> list[Directive]:
    """Return the directives of a plan. Raises `Refused` as `lines` does."""
    lines_made = _of_pbs(plan) if plan.cluster.site.scheduler == "pbs" else _of_slurm(plan)
    for directive in lines_made:
        if re.search(r"[\s#;]", directive.value) or directive.value.startswith("-"):
            raise Refused("%s %r: a directive cannot hold that" % (directive.option, directive.value))
    return [
        directive
        for directive in lines_made
        if not any(refuses(refusal, directive) for refusal in plan.cluster.site.refusals)
    ]


def refuses(refusal: Demand, directive: Directive) -> bool:
    """Tell whether the site is against this option with this value."""
    if directive.option not in refusal.options or refusal.effect not in ("refused", "may-run-wrongly"):
        return False
    if refusal.values:
        return any(_is(directive.value, value) for value in refusal.values)
    return not any(_is(directive.value, value) for value in refusal.except_values)


def _is(value: str, pattern: str) -> bool:
    return value.startswith(pattern[:-1]) if pattern.endswith("*") else value == pattern


def _of_slurm(plan: Plan) -> list[Directive]:
    layout = plan.layout
    directives = [_name(plan), *_of_slot(plan, "account"), *_place(plan)]
    gpus = _gpus(plan)
    directives += [directive for directive in gpus if directive.option == "constraint"]
    directives += [
        Directive("nodes", str(layout.nodes), "nodes"),
        Directive("ntasks-per-node", str(layout.tasks_per_node), plan.launch.name),
    ]
    if layout.cpus_per_task is not None:
        because = "the node's cores" if not {"cpus_per_task", "cpus_per_node"} & {*plan.slots} else "cpus_per_task"
        directives.append(Directive("cpus-per-task", str(layout.cpus_per_task), because))
    directives += [directive for directive in gpus if directive.option != "constraint"]
    directives += [
        *_of_environment(plan),
        *_image(plan),
        *_time(plan, "time"),
        *_of_slot(plan, "array"),
        *_besides(plan),
    ]
    return directives


def _of_pbs(plan: Plan) -> list[Directive]:
    directives = [_name(plan, 15), *_charged(plan), *_place(plan)]
    directives += [Directive("select", _chunks(plan), "nodes"), *_of_environment(plan)]
    if not any(directive.option == "place" for directive in directives) and plan.layout.nodes > 1:
        directives.append(Directive("place", "scatter", "one chunk on each node"))
    return [
        *directives,
        *_time(plan, "walltime"),
        *_of_slot(plan, "filesystems"),
        *_array_of_pbs(plan),
        *_besides(plan),
    ]


_LETTERS = {"FAIL": "a", "BEGIN": "b", "END": "e"}  # of the events of a mail, for PBS


def _besides(plan: Plan) -> list[Directive]:
    """The log file, mails and the job that is waited for."""
    pbs = plan.cluster.site.scheduler == "pbs"
    slots: tuple[tuple[str, Name], ...] = (
        ("output", "output"), ("mail-user", "mail"), ("mail-type", "mail_on"), ("dependency", "dependency"),
    )  # fmt: skip
    directives = [Directive(option, plan.slots.text(slot), slot) for option, slot in slots if slot in plan.slots]
    if not pbs:  # qsub(1) takes a folder for -o, sbatch(1) the name of a file
        file = "%x-%A_%a.out" if "array" in plan.slots else "%x-%j.out"
        directives = [
            each._replace(value=each.value + file) if each.option == "output" and each.value.endswith("/") else each
            for each in directives
        ]
    if "mail" in plan.slots and "mail_on" not in plan.slots:
        directives.append(Directive("mail-type", "END,FAIL", "mail"))
    return [
        directive._replace(value=_letters(directive.value)) if pbs and directive.option == "mail-type" else directive
        for directive in directives
    ]


def _letters(events: str) -> str:
    return "".join(_LETTERS[part] for part in events.split(",") if part in _LETTERS) or "abe"


def _name(plan: Plan, most: int = 40) -> Directive:
    """The program's name: squeue and the output files are read by people."""
    if "job_name" in plan.slots:
        return Directive("job-name", plan.slots.text("job_name")[:most], "job_name")
    target = launch_line.read_program(plan.text("program").encode("utf-8", "surrogateescape"))
    word = target.rest[target.target :].split(None, 1)[0].decode("utf-8", "replace").strip("\"'")
    stem = os.path.basename(word).removesuffix(".py").removesuffix(".sh")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.")[:most]
    return Directive("job-name", name if name[:1].isalpha() else "train", "program")


def _of_slot(plan: Plan, slot: str) -> list[Directive]:
    value = plan.text(slot)  # type: ignore[arg-type]
    return [Directive(slot, value, slot)] if value else []


def _charged(plan: Plan) -> list[Directive]:
    """Who pays: -A, or -P where that alone is what the site demands."""
    wanted = [demand.options for demand in plan.cluster.site.demands if demand.slot == "account"]
    option = "project" if wanted and all("account" not in options for options in wanted) else "account"
    return [directive._replace(option=option) for directive in _of_slot(plan, "account")]


def _place(plan: Plan) -> list[Directive]:
    """The partition or queue, and a QOS beside a partition."""
    own = places.selector(plan.cluster)
    name = places.named(plan.slots, plan.cluster) or plan.text(own)
    directives = [Directive(own, name, own)] if name else []
    return directives if own == "qos" or plan.cluster.site.scheduler == "pbs" else [*directives, *_of_slot(plan, "qos")]


def _time(plan: Plan, option: str) -> list[Directive]:
    value = plan.text("walltime")
    return [Directive(option, value, "walltime")] if value else []


def _gpus(plan: Plan) -> list[Directive]:
    """The GPUs in the form of the partition, else of the site; nothing where the nodes come with all they have."""
    request, layout = plan.cluster.site.gpu_request, plan.layout
    form = (plan.place.gpu_request if plan.place is not None else "") or request.form
    if not form and request.style in ("unknown", "any"):
        form = "--gpus-per-node={n}"
    kind = plan.kinds[0].gpu_type if plan.kinds else ""
    if "{type}" in form and not kind:
        form = form.replace("{type}:", "")
    filled = form.format(
        n=layout.gpus_per_node, total=layout.nodes * layout.gpus_per_node, nodes=layout.nodes, type=kind
    )
    directives = [Directive(*_option(word), "gpu_request") for word in filled.split()]
    return _with_feature(plan, directives)


def _option(word: str) -> tuple[str, str]:
    name, _, value = word.removeprefix("--").partition("=")
    return name, value


def _with_feature(plan: Plan, directives: list[Directive]) -> list[Directive]:
    """Add the feature of the one kind that is wanted, where the place has others too."""
    behind = plan.place.node_kinds if plan.place is not None else ()
    among = tuple(node_kind for node_kind in plan.cluster.site.kinds if node_kind.name in behind)
    wanted = places.feature_of(plan.kind, among)
    if not wanted:
        return directives
    at = next((index for index, directive in enumerate(directives) if directive.option == "constraint"), None)
    if at is None:
        return [Directive("constraint", wanted, "gpu"), *directives]
    joined = directives[at]._replace(value="%s&%s" % (directives[at].value, wanted))
    return [*directives[:at], joined, *directives[at + 1 :]]


def _of_environment(plan: Plan) -> list[Directive]:
    """What every training job of the site says; a job of part of a node asks for its part only."""
    part = plan.cluster.environment
    directives = (
        [Directive(directive.option, directive.value, directive.fact or directive.why) for directive in part.directives]
        if part
        else []
    )
    own = [Directive("mem", plan.slots.text("memory"), "memory")] if "memory" in plan.slots else []
    if own:
        directives = [directive for directive in directives if directive.option != "mem"]
    own = own if plan.cluster.site.scheduler == "slurm" else []
    share = _share(plan)
    if share is None:
        return [*directives, *own]
    return own + [
        directive._replace(value=_memory(plan, share))
        if (directive.option, directive.value) == ("mem", "0")
        else directive
        for directive in directives
        if directive.option != "exclusive" and not (directive.option == "mem" and not _memory(plan, share))
    ]


def _share(plan: Plan) -> float | None:
    """Return which part of its nodes' GPUs the job has, None where it has whole nodes."""
    most = min((kind.gpus for kind in plan.kinds if kind.gpus), default=0)
    shares = plan.place is not None and not places.whole_nodes(plan.place, plan.cluster)
    return plan.layout.gpus_per_node / most if shares and plan.layout.gpus_per_node < most else None


def _memory(plan: Plan, share: float) -> str:
    """Return that part of the memory that a node gives, a tenth less than it has where nobody knows; "" not known."""
    sizes = [
        kind.memory_gib * (1 if _is_allocatable(plan, kind.name) else 0.9) for kind in plan.kinds if kind.memory_gib
    ]
    return "%dG" % (min(sizes) * share) if sizes else ""


def _is_allocatable(plan: Plan, kind: str) -> bool:
    """Tell whether the memory of a kind is what a job can ask for, and not what is installed."""
    node = plan.cluster.file.node.get(kind) if plan.cluster.file is not None else None
    return node is not None and node.memory_allocatable_gib is not None


def _image(plan: Plan) -> list[Directive]:
    image = plan.slots.text("container")
    return (
        [Directive("image", image, "container")] if image and launch_line.container_runtime(plan) == "shifter" else []
    )


def _chunks(plan: Plan) -> str:
    """Return the chunks: nodes that are given whole come with all they have."""
    layout = plan.layout
    if plan.cluster.site.gpu_request.style == "whole-node":  # the slots of Open MPI are the lines of the node file
        slots = ":mpiprocs=%d" % layout.tasks_per_node if plan.launch.when.maker == "openmpi" else ""
        return "%d%s" % (layout.nodes, slots)
    chunk = "%d:ngpus=%d:mpiprocs=%d" % (layout.nodes, layout.gpus_per_node, layout.tasks_per_node)
    cpus, memory = plan.slots.number("cpus_per_node"), plan.slots.text("memory")
    cpus = cpus or (plan.slots.number("cpus_per_task") or 0) * layout.tasks_per_node
    return chunk + (":ncpus=%d" % cpus if cpus else "") + (":mem=%sb" % memory.lower() if memory else "")


def _array_of_pbs(plan: Plan) -> list[Directive]:
    value = plan.text("array")
    if value and not re.fullmatch(r"\d+-\d+(:\d+)?(%\d+)?", value):
        raise Refused("array %s: PBS takes one range, such as 1-10 or 0-8:2" % value)
    return [Directive("array", value, "array")] if value else []
