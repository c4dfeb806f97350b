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
    return [write(one).encode() for one in directives(plan)]


def _slurm(one: Directive) -> str:
    return "#SBATCH --%s=%s" % (one.option, one.value) if one.value else "#SBATCH --%s" % one.option


def _pbs(one: Directive) -> str:
    if one.option in _PBS:
        letter = _PBS[one.option]
        return "#PBS %s%s%s" % (letter, "" if letter.endswith("=") else " ", one.value)
    return "#PBS -l %s=%s" % (one.option, one.value)


def directives(plan: Plan) -> list[Directive]:
    """Return the directives of a plan. Raises `Refused` as `lines` does."""
    found = _of_pbs(plan) if plan.cluster.site.scheduler == "pbs" else _of_slurm(plan)
    for one in found:
        if re.search(r"[\s#;]", one.value) or one.value.startswith("-"):
            raise Refused("%s %r: a directive cannot hold that" % (one.option, one.value))
    return [one for one in found if not any(refuses(refusal, one) for refusal in plan.cluster.site.refusals)]


def refuses(refusal: Demand, one: Directive) -> bool:
    """Tell whether the site is against this option with this value."""
    if one.option not in refusal.options or refusal.effect not in ("refused", "may-run-wrongly"):
        return False
    if refusal.values:
        return any(_is(one.value, value) for value in refusal.values)
    return not any(_is(one.value, value) for value in refusal.except_values)


def _is(value: str, pattern: str) -> bool:
    return value.startswith(pattern[:-1]) if pattern.endswith("*") else value == pattern


def _of_slurm(plan: Plan) -> list[Directive]:
    layout = plan.layout
    found = [_name(plan), *_said(plan, "account"), *_place(plan)]
    gpus = _gpus(plan)
    found += [one for one in gpus if one.option == "constraint"]
    found += [
        Directive("nodes", str(layout.nodes), "nodes"),
        Directive("ntasks-per-node", str(layout.tasks_per_node), plan.launch.name),
    ]
    if layout.cpus_per_task is not None:
        because = "the node's cores" if not {"cpus_per_task", "cpus_per_node"} & {*plan.said} else "cpus_per_task"
        found.append(Directive("cpus-per-task", str(layout.cpus_per_task), because))
    found += [one for one in gpus if one.option != "constraint"]
    found += [*_of_environment(plan), *_image(plan), *_time(plan, "time"), *_said(plan, "array"), *_besides(plan)]
    return found


def _of_pbs(plan: Plan) -> list[Directive]:
    found = [_name(plan, 15), *_said(plan, "account"), *_place(plan)]
    found += [Directive("select", _chunks(plan), "nodes"), *_of_environment(plan)]
    if not any(one.option == "place" for one in found) and plan.layout.nodes > 1:
        found.append(Directive("place", "scatter", "one chunk on each node"))
    return [*found, *_time(plan, "walltime"), *_said(plan, "filesystems"), *_array_of_pbs(plan), *_besides(plan)]


_LETTERS = {"FAIL": "a", "BEGIN": "b", "END": "e"}  # of the events of a mail, for PBS


def _besides(plan: Plan) -> list[Directive]:
    """The log file, mails and the job that is waited for."""
    pbs = plan.cluster.site.scheduler == "pbs"
    slots: tuple[tuple[str, Name], ...] = (
        ("output", "output"), ("mail-user", "mail"), ("mail-type", "mail_on"), ("dependency", "dependency"),
    )  # fmt: skip
    found = [Directive(option, plan.said.text(slot), slot) for option, slot in slots if slot in plan.said]
    if "mail" in plan.said and "mail_on" not in plan.said:
        found.append(Directive("mail-type", "END,FAIL", "mail"))
    return [one._replace(value=_letters(one.value)) if pbs and one.option == "mail-type" else one for one in found]


def _letters(events: str) -> str:
    return "".join(_LETTERS[one] for one in events.split(",") if one in _LETTERS) or "abe"


def _name(plan: Plan, most: int = 40) -> Directive:
    """The program's name: squeue and the output files are read by people."""
    if "job_name" in plan.said:
        return Directive("job-name", plan.said.text("job_name")[:most], "job_name")
    target = launch_line.read_program(plan.text("program").encode("utf-8", "surrogateescape"))
    word = target.rest[target.target :].split(None, 1)[0].decode("utf-8", "replace").strip("\"'")
    stem = os.path.basename(word).removesuffix(".py").removesuffix(".sh")
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.")[:most]
    return Directive("job-name", name if name[:1].isalpha() else "train", "program")


def _said(plan: Plan, slot: str) -> list[Directive]:
    value = plan.text(slot)  # type: ignore[arg-type]
    return [Directive(slot, value, slot)] if value else []


def _place(plan: Plan) -> list[Directive]:
    """The partition or queue, and a QOS beside a partition."""
    own = places.selector(plan.cluster)
    name = places.named(plan.said, plan.cluster) or plan.text(own)
    found = [Directive(own, name, own)] if name else []
    return found if own == "qos" or plan.cluster.site.scheduler == "pbs" else [*found, *_said(plan, "qos")]


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
    found = [Directive(*_option(word), "gpu_request") for word in filled.split()]
    return _with_feature(plan, found)


def _option(word: str) -> tuple[str, str]:
    name, _, value = word.removeprefix("--").partition("=")
    return name, value


def _with_feature(plan: Plan, found: list[Directive]) -> list[Directive]:
    """Add the feature of the one kind that is wanted, where the place has others too."""
    behind = plan.place.node_kinds if plan.place is not None else ()
    among = tuple(one for one in plan.cluster.site.kinds if one.name in behind)
    wanted = places.feature_of(plan.kind, among)
    if not wanted:
        return found
    at = next((index for index, one in enumerate(found) if one.option == "constraint"), None)
    if at is None:
        return [Directive("constraint", wanted, "gpu"), *found]
    joined = found[at]._replace(value="%s&%s" % (found[at].value, wanted))
    return [*found[:at], joined, *found[at + 1 :]]


def _of_environment(plan: Plan) -> list[Directive]:
    """What every training job of the site says; a job of part of a node asks for its part only."""
    part = plan.cluster.environment
    found = [Directive(one.option, one.value, one.fact or one.why) for one in part.directives] if part else []
    own = [Directive("mem", plan.said.text("memory"), "memory")] if "memory" in plan.said else []
    if own:
        found = [one for one in found if one.option != "mem"]
    own = own if plan.cluster.site.scheduler == "slurm" else []
    share = _share(plan)
    if share is None:
        return [*found, *own]
    return own + [
        one._replace(value=_memory(plan, share)) if (one.option, one.value) == ("mem", "0") else one
        for one in found
        if one.option != "exclusive" and not (one.option == "mem" and not _memory(plan, share))
    ]


def _share(plan: Plan) -> float | None:
    """Return which part of its nodes' GPUs the job has, None where it has whole nodes."""
    most = min((kind.gpus for kind in plan.kinds if kind.gpus), default=0)
    shares = plan.place is not None and not places.whole_nodes(plan.place, plan.cluster)
    return plan.layout.gpus_per_node / most if shares and plan.layout.gpus_per_node < most else None


def _memory(plan: Plan, share: float) -> str:
    """Return that part of a node's memory, less a tenth that cannot be asked for; "" where it is not known."""
    sizes = [kind.memory_gib for kind in plan.kinds if kind.memory_gib]
    return "%dG" % (min(sizes) * share * 0.9) if sizes else ""


def _image(plan: Plan) -> list[Directive]:
    image = plan.said.text("container")
    return (
        [Directive("image", image, "container")] if image and launch_line.container_runtime(plan) == "shifter" else []
    )


def _chunks(plan: Plan) -> str:
    """Return the chunks: nodes that are given whole come with all they have."""
    layout = plan.layout
    if plan.cluster.site.gpu_request.style == "whole-node":
        return str(layout.nodes)
    chunk = "%d:ngpus=%d:mpiprocs=%d" % (layout.nodes, layout.gpus_per_node, layout.tasks_per_node)
    cpus, memory = plan.said.number("cpus_per_node"), plan.said.text("memory")
    cpus = cpus or (plan.said.number("cpus_per_task") or 0) * layout.tasks_per_node
    return chunk + (":ncpus=%d" % cpus if cpus else "") + (":mem=%sb" % memory.lower() if memory else "")


def _array_of_pbs(plan: Plan) -> list[Directive]:
    value = plan.text("array")
    if value and not re.fullmatch(r"\d+-\d+(:\d+)?(%\d+)?", value):
        raise Refused("array %s: PBS takes one range, such as 1-10 or 0-8:2" % value)
    return [Directive("array", value, "array")] if value else []
