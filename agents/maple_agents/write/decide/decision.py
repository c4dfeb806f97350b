"""From what was said to a plan of the job, or to what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from typing import NamedTuple

from maple_submit_filter.launchers.registry import AGENTS
from maple_submit_filter.site.facts import Demand

from ...base.quantities import clock, of_clock
from ...base.slots import GPUS_EACH, NAMES, RANK_A_GPU, Assumed, Lacking, Missing, Name, Refused, Slots
from ...templates.cluster import Cluster
from ..values import Layout, Plan
from . import choice, layouts, place_choice, places
from .places import Job, Spot

PROGRAM = "train.py"


class Asked(NamedTuple):
    """All that was said, for the steps of the decision."""

    slots: Slots
    cluster: Cluster
    wishes: Set[str]
    earlier: Mapping[str, str]
    hints: tuple[Assumed, ...]


def decide_plan(
    slots: Slots,
    cluster: Cluster,
    wishes: Set[str] = frozenset(),
    earlier: Mapping[str, str] = {},
    ranks: int | None = None,
    gpu_kinds: tuple[str, ...] = (),
    hints: tuple[Assumed, ...] = (),
) -> Plan | Lacking:
    """Return the plan that *slots* gives on *cluster*, or all that is missing for one.

    *wishes*: words of the request that change what is needed ("lora", "qlora", "8bit", "frozen", "inference",
    "debug"). *earlier*: the user's own earlier values by slot; only defaults of questions, never taken unasked.
    *ranks*: of the whole job, where they were said. *gpu_kinds*: kinds of node that the GPU said can mean, where they
    are several. *hints*: what somebody has inferred of slots that nobody said (the paradigm, by retrieval).
    Raises `Refused` with one clear line where numbers contradict each other, or the cluster cannot do it.
    """
    asked = Asked(slots, cluster, wishes, earlier, hints)
    job = Job(layouts.sizes(slots, ranks), _seconds(slots), places.kinds_wanted(slots, cluster, gpu_kinds))
    spot, placed, missing = place_choice.settle(job, slots, cluster, wishes, earlier)
    if spot is None:
        return _unplaced(asked, job, placed, missing)
    return _placed(asked, spot, placed)


def _seconds(slots: Slots) -> int | None:
    if "walltime" not in slots:
        return None
    seconds = of_clock(slots.text("walltime"))
    if not seconds:
        raise Refused("walltime %s: is no time; write HH:MM:SS" % slots.text("walltime"))
    return seconds


def _unplaced(asked: Asked, job: Job, placed: tuple[Assumed, ...], missing: tuple[Missing, ...]) -> Lacking:
    """Return what else is missing where even the place is not known: all is asked for at once."""
    follows = {"nodes"} if job.numbers.gpus_total or job.numbers.ranks else set()
    known = {*asked.slots, *(assumed.slot for assumed in placed), *follows}
    more = unsaid(asked.cluster, known, "", asked.earlier)
    able = tuple(
        node_kind
        for node_kind in asked.cluster.site.kinds
        if node_kind.gpus and (not job.kinds or node_kind.name in job.kinds)
    )
    kind = places.kinds_missing(able, asked.cluster)
    return Lacking(_in_order((*missing, *more, *([kind] if kind is not None else []))), placed)


def _placed(asked: Asked, spot: Spot, placed: tuple[Assumed, ...]) -> Plan | Lacking:
    slots, cluster = asked.slots, asked.cluster
    assumed = [*placed, *_derived(slots, spot), *_defaults(slots, spot)]
    known = {*slots, *(value.slot for value in assumed)}
    missing = list(unsaid(cluster, known, spot.row.name if spot.row else "", asked.earlier))
    kind = places.kinds_missing(spot.kinds, cluster)
    missing += [kind] if kind is not None else []
    nodes = spot.fitted.nodes
    if "gpus_per_node" in slots:  # what a site demands of every request the script will say: one node then
        missing = [lack for lack in missing if lack.slot != "nodes"]
    if nodes is None and not any(slot.slot == "nodes" for slot in missing):
        nodes = 1
        assumed += [Assumed("nodes", 1, "no number was given")]
    gpu = choice.of_device(cluster, spot.kinds) if spot.kinds else None
    ranks = nodes * spot.fitted.ranks_per_node if nodes is not None else None
    missing += [*_other_makers(asked, spot), *_other_account(asked, spot)]
    chosen = choice.choose(slots, cluster, asked.wishes, gpu, ranks, spot.fitted.nodes, asked.hints)
    missing += [slot for slot in chosen.missing if slot.slot not in {each.slot for each in missing}]
    spot, reasons = _by_processes(spot, nodes, chosen, asked)
    assumed = [
        *(value for value in assumed if value.slot not in {each.slot for each in reasons}),
        *reasons,
        *chosen.assumed,
    ]
    if {lack.slot for lack in missing} == {"walltime"} and (longest := _longest(spot, cluster)):
        missing, assumed = [], [*assumed, *longest]  # beside other questions it is one more, alone it is none
    if missing or nodes is None:
        return Lacking(_in_order(missing), tuple(assumed), chosen.advice)
    return _plan(asked, spot, nodes, chosen, assumed)


def _other_makers(asked: Asked, spot: Spot) -> list[Missing]:
    """Return the question for other GPUs, or another library, where NCCL or CUDA was said and the GPUs are Intel's."""
    if image := _image_of_others(asked, spot):
        return [image]
    if "nccl" not in asked.wishes or not spot.kinds or any(kind.gpu_vendor != "intel" for kind in spot.kinds):
        return []
    able = tuple(kind.name for kind in asked.cluster.site.kinds if kind.gpus and kind.gpu_vendor != "intel")
    says = "%s nodes have Intel GPUs, where NCCL and CUDA do not run: the program uses xccl there" % spot.kinds[0].name
    return [Missing("gpu", says + ("; or say other nodes" if able else ""), (spot.kinds[0].name, *able))]


def _other_account(asked: Asked, spot: Spot) -> list[Missing]:
    """Return the question for another account, where its name says that it is for CPUs, and the job has GPUs."""
    own, gpus = asked.slots.get("account"), spot.fitted.gpus_per_node
    if own is None or own.origin.by != "request" or not gpus or "cpu" not in re.split("[-_]", str(own.value).lower()):
        return []
    says = "%s is for CPUs by its name, and the job has GPUs" % own.value
    return [Missing("account", says + ": say the one for GPUs, or the same to insist")]


_IMAGES = {
    "nvidia": re.compile(r"(?i)nvcr\.io|nvidia|cuda|(?<![a-z])cu\d{2,3}(?!\d)"),
    "amd": re.compile(r"(?i)rocm|(?<![a-z])amd(?![a-z])"),
    "intel": re.compile(r"(?i)oneapi|(?<![a-z])(?:intel|xpu|ipex)(?![a-z])"),
}


def _image_of_others(asked: Asked, spot: Spot) -> Missing | None:
    """Return the question for another image, where its name says that it was made for other makers' GPUs."""
    image, makers = asked.slots.text("container"), {kind.gpu_vendor for kind in spot.kinds}
    made_for = {maker for maker, names in _IMAGES.items() if names.search(image)}
    if len(made_for) != 1 or not makers or None in makers or made_for & makers or "" in makers:
        return None
    if asked.slots["container"].origin.by != "request":
        return None
    says = "%s is made for %s GPUs, and those of %s are %s" % (
        image, *made_for, spot.kinds[0].name, " or ".join(map(str, makers)),
    )  # fmt: skip
    return Missing("container", says + ": say another image, or the same to insist")


def _by_processes(
    spot: Spot, nodes: int | None, chosen: choice.Chosen, asked: Asked
) -> tuple[Spot, tuple[Assumed, ...]]:
    """Return the place with the ranks of a program that has one process on a node, or one in all, and why.

    Raises `Refused` where other numbers were said.
    """
    processes = chosen.paradigm.processes
    each = "ranks_per_node" in asked.slots or RANK_A_GPU in asked.wishes
    if processes == "gpu" or processes == "node" and each:
        return spot, ()
    if (nodes or 1) * (asked.slots.number("ranks_per_node") or 1) > 1 and processes == "one":
        raise Refused(
            "%s is one process on one node; say how it is divided (ddp, jax), or one node" % chosen.paradigm.title
        )
    fitted = spot.fitted._replace(ranks_per_node=1)
    why = () if "ranks_per_node" in asked.slots else (Assumed("ranks_per_node", 1, chosen.paradigm.title),)
    return spot._replace(fitted=fitted), why


def _plan(asked: Asked, spot: Spot, nodes: int, chosen: choice.Chosen, assumed: list[Assumed]) -> Plan:
    slots, cluster = asked.slots, asked.cluster
    name = next(name for name, paradigm in cluster.paradigms.items() if paradigm is chosen.paradigm)
    launch = choice.choose_launcher(slots, name, cluster, nodes * spot.fitted.ranks_per_node)
    if "launcher" not in slots and launch.when.launcher != "plain":
        shown = launch.when.launcher if launch.when.launcher != "python" else launch.when.over
        assumed.append(Assumed("launcher", shown, "launch template %s, revision %d" % (launch.name, launch.revision)))
    gpus, ranks = spot.fitted.gpus_per_node, spot.fitted.ranks_per_node
    tasks = 1 if launch.when.launcher in AGENTS else ranks
    shared = spot.row is not None and not places.whole_nodes(spot.row, cluster)
    cpus = _cores_said(slots, tasks) or layouts.cores_per_task(
        spot.kinds, gpus, tasks, launch.when.over, cluster, shared
    )
    plan = Plan(
        cluster,
        slots,
        tuple(sorted(assumed, key=lambda value: NAMES.index(value.slot))),
        Layout(nodes, gpus, ranks, tasks, cpus),
        spot.kinds[0] if len(spot.kinds) == 1 else None,
        spot.row,
        chosen.paradigm,
        launch,
        chosen.model,
        kinds=spot.kinds,
    )
    return plan._replace(advice=(*chosen.advice, *_each_nodes(asked, plan), *advice(plan)))


def _each_nodes(asked: Asked, plan: Plan) -> tuple[str, ...]:
    """Return that a bare number of GPUs was taken for each node's, where it might be all."""
    nodes, gpus = plan.layout.nodes, plan.layout.gpus_per_node
    if GPUS_EACH not in asked.wishes:
        return ()
    return ("%d GPUs were taken for each of %d nodes; if they are all, say gpus_per_node=%d." % (
        gpus, nodes, gpus // nodes),)  # fmt: skip


def _cores_said(slots: Slots, tasks: int) -> int | None:
    """Return the CPUs of a task that were said, or those of a node shared among its *tasks*; None where neither was."""
    each, node = slots.number("cpus_per_task"), slots.number("cpus_per_node")
    if each is None and node is not None and node % tasks:
        raise Refused("%d CPUs cannot be divided evenly over %d tasks of a node; say cpus_per_task" % (node, tasks))
    return each if each is not None or node is None else node // tasks


def _derived(slots: Slots, spot: Spot) -> list[Assumed]:
    """Return the numbers that nobody said, with what they follow from."""
    fitted = spot.fitted
    reasons = dict(fitted.because)
    values = (
        ("nodes", fitted.nodes),
        ("gpus_per_node", fitted.gpus_per_node),
        ("ranks_per_node", fitted.ranks_per_node),
    )
    assumed = [
        Assumed(slot, value, reasons.get(slot, "as the other numbers say"))  # type: ignore[arg-type]
        for slot, value in values
        if slot not in slots and value is not None
    ]
    if "gpu" not in slots and len(spot.kinds) == 1:
        assumed.append(Assumed("gpu", spot.kinds[0].name, "the only kind of node there"))
    return assumed


def _defaults(slots: Slots, spot: Spot) -> list[Assumed]:
    defaults = []
    if "walltime" not in slots and spot.row is not None and spot.row.default_walltime:
        because = "%s.%s.default_walltime of the site file" % (spot.row.selector, spot.row.name)
        defaults.append(Assumed("walltime", clock(spot.row.default_walltime), because))
    if "program" not in slots:
        defaults.append(Assumed("program", PROGRAM, "no program was named; train.py is assumed"))
    return defaults


_LONG = 48 * 3600  # seconds: nobody's budget is bound for longer unasked


def _longest(spot: Spot, cluster: Cluster) -> list[Assumed]:
    """Return the longest time that the place gives, where the site demands one and it is not out of the ordinary."""
    most = places.longest(spot.row, spot.fitted.nodes, cluster) if spot.row is not None else None
    if spot.row is None or not most or most > _LONG:
        return []
    return [Assumed("walltime", clock(most), "nobody said a time, and %s gives so much" % spot.row.name)]


def _in_order(missing: Iterable[Missing]) -> tuple[Missing, ...]:
    """Return what is missing, each slot once, in the order of `NAMES`."""
    first: dict[str, Missing] = {}
    for lack in missing:
        first.setdefault(lack.slot, lack)
    return tuple(first[slot] for slot in NAMES if slot in first)


# What to know of a script that is right: what it needs besides, and what the site says of such jobs.


def advice(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each thing that the script cannot see to itself."""
    return (
        *choice.launcher_advice(plan.launch, plan.paradigm, plan.cluster),
        *_other_name(plan),
        *(plan.model[0].around if plan.model is not None else ()),
        *_walltime(plan),
        *_folder(plan),
        *_queue(plan),
        *_caps(plan),
        *_whole(plan),
        *_cards(plan),
        *_without_effect(plan),
    )


def _other_name(plan: Plan) -> tuple[str, ...]:
    """Return that the launcher that was said has another name in the script."""
    over, words = plan.launch.when.over, plan.slots["launcher"].origin.where if "launcher" in plan.slots else ""
    other = next((name for name in ("mpirun", "mpiexec") if name in words.lower() and name != over), "")
    return ("%s is written as %s here; they are the same launcher." % (other, over),) if other else ()


def _walltime(plan: Plan) -> tuple[str, ...]:
    return () if plan.value("walltime") else ("No walltime was given; the scheduler's default applies.",)


def _folder(plan: Plan) -> tuple[str, ...]:
    """Return that the log's folder has to be there: Slurm makes none, and the log is lost (sbatch(1), --output)."""
    folder = plan.slots.text("output").rpartition("/")[0]
    needed = folder and plan.cluster.site.scheduler == "slurm" and "$" not in folder
    return (
        ("The log goes to %s/, which must be there when the job starts: mkdir -p %s" % (folder, folder),)
        if needed
        else ()
    )


def _queue(plan: Plan) -> tuple[str, ...]:
    """Return what decides where the job goes, where it is not named; or that nobody knows the place that was named."""
    if plan.place is not None:
        return ()
    named = places.named(plan.slots, plan.cluster) or str(plan.value(places.selector(plan.cluster)) or "")
    return places.unlisted(named, plan.cluster) if named else places.unnamed(plan.cluster)


def _cards(plan: Plan) -> tuple[str, ...]:
    """Return that a card is several devices there, where what was said counts cards."""
    if plan.kind is None:
        return ()
    cards = places.cards(plan.kind, plan.cluster)
    counts = {plan.slots.number(name) for name in ("gpus_total", "gpus_per_node", "ranks_per_node")}
    if not cards or not counts & {cards, cards * plan.layout.nodes}:
        return ()
    devices = plan.kind.gpus or cards
    return ("%d cards are %d devices here: a rank for each of %d." % (cards, devices, plan.layout.ranks_per_node),)


def _whole(plan: Plan) -> tuple[str, ...]:
    """Return that the rest of a node is given and charged as well, where the job uses a part of whole nodes."""
    has, used = plan.kind.gpus if plan.kind is not None else None, plan.layout.gpus_per_node
    if plan.place is None or has is None or used >= has or plan.place.shared is not False:
        return ()
    if plan.cluster.site.gpu_request.style == "whole-node":
        return ()
    return (
        "%s gives whole nodes of %d GPUs: the job uses %d, and the rest is charged, too."
        % (plan.place.name, has, used),
    )


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
    if pbs and plan.cluster.site.gpu_request.style == "whole-node":
        slots = (*slots, "memory", "cpus_per_task", "cpus_per_node")
    slots = (*slots, *_not_taken(plan))
    if not plan.cluster.site.kinds:
        slots = (*slots, "gpu")
    return tuple(
        "%s %s was said, and it cannot be requested here, so it was left out." % (slot, plan.slots.text(slot))
        for slot in slots
        if slot in plan.slots
    )


_OPTIONS: tuple[tuple[str, Name], ...] = (
    ("mem", "memory"), ("cpus-per-task", "cpus_per_task"), ("cpus-per-task", "cpus_per_node"), ("array", "array"),
    ("mail-user", "mail"), ("output", "output"), ("dependency", "dependency"),
)  # fmt: skip


def _not_taken(plan: Plan) -> tuple[Name, ...]:
    """Return the slots whose option this site refuses whatever its value."""
    refused = {
        option
        for demand in plan.cluster.site.refusals
        if demand.effect in ("refused", "may-run-wrongly") and not demand.values and not demand.except_values
        for option in demand.options
    }
    return tuple(slot for option, slot in _OPTIONS if option in refused)


# What the site demands of a request, and what of it is still unsaid.

# Which slot a directive says, by its long name.
_SLOT: Mapping[str, Name] = {
    "account": "account", "partition": "partition", "queue": "queue", "qos": "qos", "time": "walltime",
    "walltime": "walltime", "nodes": "nodes", "select": "nodes", "filesystems": "filesystems", "array": "array",
    "project": "account",
}  # fmt: skip
# What every script of ours says in the site's own form, once its layout is known.
_ALWAYS = frozenset(("ntasks", "ntasks-per-node", "gpus", "gpus-per-node", "gpus-per-task", "gres", "mpiprocs"))


def unsaid(
    cluster: Cluster, known: Set[str], place: str, earlier: Mapping[str, str], placed: bool = True
) -> tuple[Missing, ...]:
    """Return what the site demands and no slot of *known* says. *place*: the partition or queue, "" not known.

    *placed*: the place is settled, so that a demand for one needs no question.
    """
    demands = [demand for demand in cluster.site.demands if demand.applies in ("always", "gpu", place)]
    asked = [(slot, demand) for demand in demands if (slot := _slot(demand, cluster, known, placed)) is not None]
    first = {slot: demand for slot, demand in reversed(asked)}
    return tuple(_missing(slot, first[slot], cluster, earlier) for slot in NAMES if slot in first)


def _slot(demand: Demand, cluster: Cluster, known: Set[str], placed: bool) -> Name | None:
    """Return the slot to ask for, None where the demand is met or no slot would meet it."""
    slots = [_SLOT[option] for option in demand.options if option in _SLOT]
    if not slots or any(slot in known for slot in slots) or not _ALWAYS.isdisjoint(demand.options):
        return None
    return None if slots[0] in ("partition", "queue", "qos") and placed else slots[0]


def _missing(slot: Name, demand: Demand, cluster: Cluster, earlier: Mapping[str, str]) -> Missing:
    return Missing(slot, demand.says, choices(slot, cluster), earlier.get(slot, ""))


def choices(slot: Name, cluster: Cluster) -> tuple[str, ...]:
    """Return the file systems that the site file lists; of other slots nobody knows all values."""
    if slot != "filesystems" or cluster.file is None:
        return ()
    listed = next((place.value for place in cluster.file.path if place.name == "filesystems values"), "")
    return tuple(name.strip() for name in listed.split(",") if name.strip())
