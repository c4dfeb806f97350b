"""GPUs that no node has."""

from __future__ import annotations

import re
from typing import Iterator, Optional, Sequence, Tuple

from ...cures.launch_edits import change
from ...cures.option_edits import at, restate
from ...cures.places import moves, needs_of
from ...request.slurm import values
from ...site.facts import NodeKind, Site
from ...types.edits import Fix, Safety
from ...types.findings import Finding, counted
from ...types.job import Job, Setting
from ...types.launch_plan import LaunchPlan
from ...types.text import NUL
from .. import rule
from ..limits import gpu_count, gpu_items, judged, most_of

_MOST_OFFERS = 4


@rule("MPL204", "more GPUs than a node has, or of a type it has not", "slurm")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """A request for GPUs must fit the nodes that it may land on.

    Wrong: #SBATCH --gpus-per-node=8, in a partition whose nodes have 4
    Right: #SBATCH --gpus-per-node=4
    Why:   Slurm 22.05 says: Requested node configuration is not available. Maple asks first: fewer GPUs mean fewer
           ranks, or more nodes, and only you know which was meant. Where the nodes have none, the only feature of those
           that have, or the one partition that such an account pays for, is named unasked.
    """
    if not judged(job, site):
        return
    most = most_of(plan.allocation.node_kinds, "gpus")
    if most is not None:
        for finding in (_per_node(plan, job, most), _per_task(job, most), _total(job, most)):
            if finding is not None:
                yield finding if most else finding._replace(fixes=_with_gpus(job, site))
                return
        yield from _of_steps(plan, most)
    yield from _types(plan, job)


def _per_node(plan: LaunchPlan, job: Job, most: int) -> Optional[Finding]:
    from ...cures.counts import fewer_on_a_node  # few submissions need it

    counts = {name: count for name in ("gpus-per-node", "gres") if (count := gpu_count(job.settings, name)) is not None}
    if not counts or min(counts.values()) <= most:
        return None  # of two that differ one wins
    name = next(iter(counts))
    finding = _finding(job.settings.get(name), "%d GPUs per node" % counts[name], most, most, job)
    if not finding.fixes:
        return finding
    everywhere = tuple(fewer_on_a_node(counts[name], most, plan, job, "MPL204", finding.fixes[0].says))
    return finding._replace(fixes=everywhere or finding.fixes)


def _per_task(job: Job, most: int) -> Optional[Finding]:
    each, tasks = gpu_count(job.settings, "gpus-per-task"), values.whole(job.settings.value("ntasks-per-node") or b"")
    if each is None or tasks is None or each * tasks <= most:
        return None
    says = "%d tasks per node with %d GPU%s each" % (tasks, each, "s"[: each != 1])
    finding = _finding(job.settings.get("gpus-per-task"), says, most, most // tasks, job)
    return finding if finding.fixes or not most else finding._replace(fixes=_fewer_tasks(job, tasks, most // each))


def _fewer_tasks(job: Job, tasks: int, most: int) -> Tuple[Fix, ...]:
    """Start as many tasks on a node as have their GPUs there: on more nodes all of them, or fewer in all."""
    each, nodes = job.settings.get("ntasks-per-node"), job.settings.get("nodes")
    made = restate(job, each, b"%d" % most, "MPL204") if each is not None and most else None
    if made is None or "ntasks" in job.settings:
        return ()
    fewer = made.fix(Safety.ASK, "--ntasks-per-node=%d" % most)
    total = int(nodes.value) * tasks if nodes is not None and nodes.value.isdigit() else 0
    if nodes is None or not total or total % most:
        return (fewer,)
    more = restate(job, nodes, b"%d" % (total // most), "MPL204")
    says = "the %d tasks on %d nodes" % (total, total // most)
    return (fewer, (made + more).fix(Safety.ASK, says)) if more is not None else (fewer,)


def _total(job: Job, most: int) -> Optional[Finding]:
    total = gpu_count(job.settings, "gpus")
    if total is None:
        return None
    nodes = values.nodes(job.settings.value("nodes") or b"")
    if nodes is not None and total > nodes[1] * most:
        says = "%d GPUs on %s" % (total, counted(nodes[1], "node"))
        return _finding(job.settings.get("gpus"), says, most, nodes[1] * most, job)
    return None


def _finding(setting: Optional[Setting], says: str, most: int, better: int, job: Job) -> Finding:
    sentence = "%s, but the nodes it may run on have %s" % (says, most if most else "no GPU")
    fix = _fewer(setting, better, job) if better else None
    advice = "request no more GPUs per node than a node has" if most else "choose a partition with GPUs"
    return Finding("MPL204", sentence, at(setting), True, fixes=(fix,) if fix is not None else (), help=advice)


def _with_gpus(job: Job, site: Site) -> Tuple[Fix, ...]:
    """Choose a partition with so many GPUs on a node, in place of one that has none."""
    counts = [gpu_count(job.settings, name) for name in ("gpus-per-node", "gres")]
    wanted = max((count for count in counts if count), default=1)
    feature, constraint = _of_gpus(site), job.settings.get("constraint")
    if constraint is not None and feature:
        made = restate(job, constraint, feature.encode(), "MPL204")
        return (made.fix(Safety.ASK, "--constraint=%s" % feature),) if made is not None else ()
    return tuple(moves(job, site, needs_of(job, wanted), (), "MPL204"))[:1]


def _of_gpus(site: Site) -> str:
    """Return the feature that all nodes with GPUs have, and no other, "" where there is none."""
    have = [set(kind.features) for kind in site.kinds if kind.gpus]
    lack = {feature for kind in site.kinds if not kind.gpus for feature in kind.features}
    common = set.intersection(*have) - lack if have else set()
    return min(common, key=len, default="")


def _fewer(setting: Optional[Setting], count: int, job: Job) -> Optional[Fix]:
    if setting is None or b"," in setting.value or b"(" in setting.value:
        return None
    head, colon, last = setting.value.rpartition(b":")
    if not last.isdigit():
        return None
    value = head + colon + b"%d" % count
    made = restate(job, setting, value, "MPL204")
    says = "--%s=%s" % (setting.name, value.decode("utf-8", "replace"))
    return made.fix(Safety.ASK, says) if made is not None else None


def _types(plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    """Where the types of all nodes are known, one that none of them has is refused."""
    kinds = [kind for kind in plan.allocation.node_kinds if kind.gpus != 0]
    there = sorted({kind.gpu_type for kind in kinds})
    if not there or "" in there:
        yield from _models(kinds, job)
        return
    for name in ("gpus-per-node", "gres", "gpus", "gpus-per-task"):
        for item in gpu_items(job.settings, name):
            kind = item.type.decode("utf-8", "replace")
            if kind and kind.lower() not in [name.lower() for name in there]:
                yield _wrong_type(job, job.settings.get(name), kind, there)
                return


_MODEL = re.compile(r"[a-z]{1,3}\d{2,4}[a-z]{0,2}(?=\Z|[-_])")  # a100, mi250x, l40s, gh200


def _models(kinds: Sequence[NodeKind], job: Job) -> Iterator[Finding]:
    """A type that is the name of another card than those of the nodes, where these go by no type."""
    models = sorted({kind.gpu_model for kind in kinds})
    for name in ("gpus-per-node", "gres", "gpus", "gpus-per-task") if models and "" not in models else ():
        for item in gpu_items(job.settings, name):
            card = _MODEL.match(item.type.decode("utf-8", "replace").lower())
            if card is not None and not any(card.group() in model.lower() for model in models):
                setting = job.settings.get(name)
                value = setting.value.replace(item.type + b":", b"") if setting is not None else b""
                made = restate(job, setting, value, "MPL204") if setting is not None else None
                says = "the nodes it may run on have no GPUs of type %s" % item.type.decode("utf-8", "replace")
                untyped = "--%s=%s" % (name, value.decode("utf-8", "replace"))
                yield Finding("MPL204", says, at(setting), help="there: %s" % ", ".join(models),
                              fixes=(made.fix(Safety.ASK, untyped),) if made is not None else ())  # fmt: skip
                return


def _of_steps(plan: LaunchPlan, most: int) -> Iterator[Finding]:
    """What the line of a step asks for on each node must be there as well."""
    for step in plan.steps:
        link = step.links[0] if step.links and step.links[0].name == "srun" and not step.maybe else None
        option = link.option("gpus-per-node", "gres") if link is not None else None
        value = option.value.raw if option is not None and option.value is not None else NUL
        items = None if NUL in value else values.gres(value) if b"gpu" in value else values.gpus(value)
        count = sum(item.amount for item in items or () if item.name == b"gpu")
        if option is not None and count > most:
            edits = change(option, value.replace(b"%d" % count, b"%d" % most), "MPL204") if most else None
            fixes = (Fix(tuple(edits), Safety.ASK, "%d GPUs on each node" % most),) if edits else ()
            yield Finding("MPL204", "the step asks for %d GPUs per node, but the nodes it may run on have %s" % (
                count, most or "no GPU"), option.span or step.span, True, fixes=fixes,
                help="request no more GPUs per node than a node has")  # fmt: skip


def _wrong_type(job: Job, setting: Optional[Setting], kind: str, there: "list[str]") -> Finding:
    near = [name for name in there if name.startswith(kind) or kind.startswith(name)] or there
    fixes = tuple(_typed(job, setting, kind, near)) if setting is not None else ()
    return Finding("MPL204", "no node that it may run on has GPUs of type %s" % kind, at(setting), True,
                   fixes=fixes, help="available: %s" % ", ".join(there))  # fmt: skip


def _typed(job: Job, setting: Setting, kind: str, near: "list[str]") -> Iterator[Fix]:
    """Yield the request with each type that there is, those first that begin alike."""
    if setting.value.count(kind.encode()) != 1:
        return
    for name in near[:_MOST_OFFERS]:
        made = restate(job, setting, setting.value.replace(kind.encode(), name.encode()), "MPL204")
        if made is not None:
            yield made.fix(Safety.ASK, "use the type %s" % name)
