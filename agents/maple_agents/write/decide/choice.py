"""Which paradigm and which launch template: as was said, or by what the GPUs can hold.

Which launch template it is, among those that start the paradigm here.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import TYPE_CHECKING, NamedTuple

from maple_submit_filter.launchers.registry import AGENTS, NAMED, OUTER
from maple_submit_filter.site.facts import NodeKind

from ...base.slots import Assumed, Missing, Refused, Slots
from ...templates.cluster import Cluster

if TYPE_CHECKING:
    from ...ask.sites.launch_templates import LaunchFile
    from ...templates.model_facts import Family, Member
    from ...templates.paradigms import Paradigm

_OF_LAUNCHER = {"accelerate": "accelerate-ddp", "deepspeed": "zero3"}
_SHARDED = ("fsdp", "zero3", "3d")  # what shares a model over its ranks, the simplest first


class Load(NamedTuple):
    """What has to fit where: *parameters* of the model, None not known; *gpu*: GB (10^9 bytes) of one device.

    *ranks*: how many share it, None not known yet.
    """

    parameters: int | None
    gpu: float | None
    ranks: int | None

    def fits(self, paradigm: Paradigm) -> bool | None:
        """Tell whether weights, gradients and optimizer states fit; None where that is not known."""
        if self.parameters is None or self.gpu is None or (self.ranks is None and paradigm.divides):
            return None
        if paradigm.processes != "gpu":
            return None  # how such a program holds its model, nobody knows
        return gigabytes(self.parameters, paradigm, self.ranks or 1) <= self.gpu


class Chosen(NamedTuple):
    """*missing*: what has to be asked first, because the model would not fit."""

    paradigm: Paradigm
    model: tuple[Family, Member] | None
    assumed: tuple[Assumed, ...] = ()
    missing: tuple[Missing, ...] = ()
    advice: tuple[str, ...] = ()


def choose(slots: Slots, cluster: Cluster, wishes: Set[str], gpu: float | None, ranks: int | None,
           nodes: int | None, hints: tuple[Assumed, ...] = ()) -> Chosen:  # fmt: skip
    """Return the paradigm: the one said, else the one hinted at, else DDP where that fits, else a sharded one.

    *gpu*: memory of a device in GB, *ranks*: of the world, *nodes*: None, each, where it is not known yet.
    Raises `Refused` where the repository has no such paradigm.
    """
    model = known(slots.text("model"), cluster) if "model" in slots else None
    load = Load(parameters(slots.text("model"), model), gpu, ranks)
    name = slots.text("paradigm")
    if name not in cluster.paradigms and lighter({name}):  # how the program trains, and no way to divide it
        slots, wishes, name = Slots(slot for slot in slots.values() if slot.name != "paradigm"), {*wishes, name}, ""
    if lighter(wishes):
        load = load._replace(parameters=None)
    if name == "single" and slots.text("launcher") in AGENTS:
        name = ""  # "one process" of a launcher that starts the ranks itself
    if name:
        return _named(_known(name, cluster), slots, load, cluster)._replace(model=model)
    return _unsaid(slots, load, cluster, nodes, hints)._replace(model=model)


def _known(name: str, cluster: Cluster) -> Paradigm:
    if name not in cluster.paradigms:
        raise Refused("no template trains by %s; there are %s" % (name, ", ".join(cluster.paradigms)))
    return cluster.paradigms[name]


def _named(paradigm: Paradigm, slots: Slots, load: Load, cluster: Cluster) -> Chosen:
    """Return the paradigm that was said; where it cannot fit, it wants the user's own word once more."""
    if load.fits(paradigm) is not False:
        return Chosen(paradigm, None)
    why = _too_much(load, paradigm)
    if slots["paradigm"].origin.by in ("prompt", "option"):
        return Chosen(paradigm, None, advice=(why,))
    fitting = tuple(name for name in _SHARDED if name in cluster.paradigms and load.fits(cluster.paradigms[name]))
    says = "%s; %s" % (why, _instead(fitting, load, cluster))
    anyway = "; %s, said here, is written all the same" % slots.text("paradigm")
    choices = (*fitting, *_lora(load, fitting), slots.text("paradigm"))
    return Chosen(paradigm, None, missing=(Missing("paradigm", says + anyway, choices),))


def _unsaid(slots: Slots, load: Load, cluster: Cluster, nodes: int | None, hints: tuple[Assumed, ...]) -> Chosen:
    hinted = next(
        (assumed for assumed in hints if assumed.slot == "paradigm" and assumed.value in cluster.paradigms), None
    )
    first = hinted or _by_launcher(slots) or _alone(slots, load, cluster, nodes)
    first = first or Assumed("paradigm", "ddp", _fitting_ddp(load, cluster))
    paradigm = cluster.paradigms[str(first.value)]
    if load.fits(paradigm) is not False:
        return Chosen(paradigm, None, (first,), advice=_once_a_gpu(slots, first, load))
    why = _too_much(load, paradigm)
    for name in _SHARDED:
        if (
            name in cluster.paradigms
            and _startable(name, slots, cluster)
            and load.fits(cluster.paradigms[name]) is not False
        ):
            return Chosen(cluster.paradigms[name], None, (Assumed("paradigm", name, why),))
    sharded = cluster.paradigms[_SHARDED[0]]
    says = "%s; %s" % (why, _instead((), load, cluster))
    slot = Missing("paradigm", says, _lora(load, ())) if nodes is not None else Missing("nodes", says)
    return Chosen(sharded, None, missing=(slot,))


def _once_a_gpu(slots: Slots, first: Assumed, load: Load) -> tuple[str, ...]:
    """Return that a plain command is started once for each GPU, where nobody said how it is divided."""
    command = " ".join(slots.text("program").split()[:2])
    if first.value != "ddp" or (load.ranks or 1) == 1 or not _PLAIN.match(command) or "launcher" in slots:
        return ()
    return ("%s is started once for each GPU; for one process that has them all, say paradigm=single." % command,)


_PLAIN = re.compile(r"(?:\S*/)?python[\d.]*\s")


def _startable(name: str, slots: Slots, cluster: Cluster) -> bool:
    try:
        choose_launcher(slots, name, cluster, 2)
    except Refused:
        return False
    return True


def _by_launcher(slots: Slots) -> Assumed | None:
    launcher = slots.text("launcher")
    if launcher not in _OF_LAUNCHER:
        return None
    return Assumed("paradigm", _OF_LAUNCHER[launcher], "%s was said" % launcher)


# Commands that divide themselves over the GPUs of a node.
_SERVER = re.compile(r"(?:vllm|sglang|ollama)\s|python3? -m (?:vllm|sglang)\.")


def _alone(slots: Slots, load: Load, cluster: Cluster, nodes: int | None) -> Assumed | None:
    """Return that the program is one process: for one rank, or where it divides itself over the GPUs of a node."""
    if "single" not in cluster.paradigms or slots.text("launcher") not in ("", "srun"):
        return None
    if "launcher" in slots and (load.ranks != 1 or not _startable("single", slots, cluster)):
        return None
    if nodes == 1 and "ranks_per_node" not in slots and _SERVER.match(slots.text("program")):
        return Assumed("paradigm", "single", "it starts its own processes")
    if load.ranks == 1 and load.fits(cluster.paradigms["ddp"]) is not False:
        return Assumed("paradigm", "single", "there is one rank")
    return None


def _fitting_ddp(load: Load, cluster: Cluster) -> str:
    if load.parameters is None or load.gpu is None:
        return "none was given"
    needs = gigabytes(load.parameters, cluster.paradigms["ddp"], 1)
    about = "about %.0f GB" % needs if needs >= 0.5 else "less than 1 GB"
    return "%s need %s a GPU, and these have %.0f" % (_counted(load.parameters), about, _printed(load.gpu))


def _too_much(load: Load, paradigm: Paradigm) -> str:
    assert load.parameters is not None and load.gpu is not None
    needs = gigabytes(load.parameters, paradigm, load.ranks or 1)
    says = (
        "%s with %s need about %.0f GB a GPU in mixed precision with Adam, plus activations; the GPUs here have %.0f GB"
    )
    return says % (_counted(load.parameters), paradigm.title, needs, _printed(load.gpu))


def _instead(fitting: tuple[str, ...], load: Load, cluster: Cluster) -> str:
    """Return what would fit, in words."""
    assert load.parameters is not None and load.gpu is not None
    if fitting:
        needs = gigabytes(load.parameters, cluster.paradigms[fitting[0]], load.ranks or 1)
        return "%s would fit: about %.0f GB on %d GPUs" % (" or ".join(fitting), needs, load.ranks or 1)
    fewest = fewest_ranks(load.parameters, cluster.paradigms[_SHARDED[0]], load.gpu)
    says = "divided over all GPUs it takes at least %d of them" % (fewest or 0)
    if not _lora(load, fitting):
        return says
    return says + "; LoRA, where your program trains so, about %.0f GB (paradigm lora)" % _weights(load)


def _lora(load: Load, fitting: tuple[str, ...]) -> tuple[str, ...]:
    """Return "lora" where nothing else fits and the weights alone do: it trains few parameters besides them."""
    assert load.gpu is not None
    return ("lora",) if not fitting and _weights(load) <= load.gpu else ()


def _weights(load: Load) -> float:
    """Return the gigabytes of the parameters alone."""
    assert load.parameters is not None
    return BYTES["parameters"] * load.parameters / 1e9


def _counted(count: int) -> str:
    return "%.3gB parameters" % (count / 1e9) if count >= 1e9 else "%.0fM parameters" % (count / 1e6)


def _printed(gigabytes: float) -> float:
    """Return a card's memory as the centres print it, which counts 2^30 bytes."""
    return gigabytes * 1e9 / 2**30


# How much of a GPU's memory a model needs while it is trained.

BYTES = {"parameters": 2, "gradients": 2, "optimizer": 12}
"""Bytes for each parameter: mixed precision with Adam, as section 3.1 of the ZeRO paper (arXiv 1910.02054) counts.

Weights and gradients in 16 bits, and in 32 bits the weights once more with Adam's two moments.
"""
LIGHTER = frozenset((
    "lora", "qlora", "dora", "peft", "adapter", "adapters", "8bit", "4bit", "quantized", "frozen", "linear-probe",
    "inference", "evaluation", "generate", "offload", "cpu-offload", "sgd", "adafactor",
))  # fmt: skip
"""Wishes under which the formula does not hold: not every parameter is trained, or not with Adam in memory."""
_SIZE = re.compile(r"(?<![A-Za-z0-9.])(\d+(?:\.\d+)?) ?([BbMm])(?![A-Za-z])")
_UNITS = {"b": 10**9, "m": 10**6}


def known(model: str, cluster: Cluster) -> tuple[Family, Member] | None:
    """Return the family and member of a model's normal name, its hub name or any other name of its own."""
    wanted = _plain(model)
    for family in cluster.families:
        for member in family.members:
            if wanted in {_plain(other) for other in (member.name, member.hub, *member.phrases) if other}:
                return family, member
    return None


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "-", name.strip().lower())


def parameters(model: str, facts: tuple[Family, Member] | None) -> int | None:
    """Return how many parameters a model has: by its facts, else by the size in its name ("7B"); None not known."""
    if facts is not None:
        return facts[1].parameters
    sizes = _SIZE.findall(re.sub(r"[_-]", " ", model))
    return int(float(sizes[-1][0]) * _UNITS[sizes[-1][1].lower()]) if sizes else None


def lighter(wishes: Set[str]) -> bool:
    """Tell whether the request says something by which less memory is needed than the formula says."""
    return not LIGHTER.isdisjoint(wish.lower().replace("_", "-").replace("-bit", "bit") for wish in wishes)


def gigabytes(count: int, paradigm: Paradigm, ranks: int) -> float:
    """Return the GB (10^9 bytes) that weights, gradients and optimizer states take on each GPU, without activations.

    What *paradigm* divides is divided by *ranks*, the rest is there whole. For tensor and pipeline parallelism with
    data parallel replicas this is the least that it can be.
    """
    each = sum(size / ranks if part in paradigm.divides else size for part, size in BYTES.items())
    return count * each / 1e9


def fewest_ranks(count: int, paradigm: Paradigm, memory: float) -> int | None:
    """Return on how many ranks a model of *count* parameters fits, with *memory* GB each; None on no number."""
    whole = sum(size for part, size in BYTES.items() if part not in paradigm.divides) * count / 1e9
    shared = sum(size for part, size in BYTES.items() if part in paradigm.divides) * count / 1e9
    if not shared:
        return 1 if whole <= memory else None
    return max(1, int(-(-shared // (memory - whole)))) if whole < memory else None


def of_device(cluster: Cluster, kinds: tuple[NodeKind, ...]) -> float | None:
    """Return the memory of one device in GB (10^9 bytes), of the smallest of *kinds*; None where one is not known.

    Where a card counts as several devices, each has its part of the card's memory.
    """
    sizes = [_of_kind(cluster, kind) for kind in kinds]
    return min((size for size in sizes if size is not None), default=None) if None not in sizes else None


def _of_kind(cluster: Cluster, kind: NodeKind) -> float | None:
    node = cluster.file.node.get(kind.name) if cluster.file is not None else None
    if node is None or node.gpu_memory_gib is None:
        return None
    shares = node.devices / node.gpus if node.devices and node.gpus else 1
    return node.gpu_memory_gib / shares * 2**30 / 1e9


def choose_launcher(slots: Slots, paradigm: str, cluster: Cluster, ranks: int) -> LaunchFile:
    """Return the best template that starts *paradigm* on *ranks* ranks by the launcher that was said, or by any.

    Raises `Refused` where there is none.
    """
    launcher = slots.text("launcher")
    launch_files = tuple(
        launch_file for launch_file in cluster.launches.get(paradigm, ()) if ranks > 1 or launch_file.when.ranks != ">1"
    )
    fitting = [launch_file for launch_file in launch_files if not launcher or _is(launch_file, launcher)]
    if not fitting:
        raise Refused(_none(launcher, paradigm, launch_files, cluster))
    if launcher in OUTER:  # it starts the ranks itself, where the paradigm lets it
        return next((launch_file for launch_file in fitting if launch_file.when.launcher == "python"), fitting[0])
    return fitting[0]


def _is(launch_file: LaunchFile, launcher: str) -> bool:
    over = launch_file.when.over
    return launch_file.when.launcher == launcher or over in NAMED and NAMED[over].name == launcher


def _none(launcher: str, paradigm: str, launch_files: tuple[LaunchFile, ...], cluster: Cluster) -> str:
    facts = {launcher_fact.name: launcher_fact for launcher_fact in cluster.site.launchers}
    if launcher in facts and facts[launcher].state == "absent":
        says = facts[launcher].says or "it is not there"
        return "%s is no launcher of %s: %s" % (launcher, cluster.site.id, says)
    names = ", ".join(
        dict.fromkeys(
            launch_file.when.launcher if launch_file.when.launcher != "python" else launch_file.when.over
            for launch_file in launch_files
        )
    )
    by = " by %s" % launcher if launcher else ""
    says = "no launch template starts %s%s on %s; there are %s" % (paradigm, by, cluster.site.id, names or "none")
    nobodys = [name for name in ("mpirun", "mpiexec") if name in facts and not facts[name].maker]
    if names or not nobodys:
        return says
    return "%s; whose %s is, its site file does not say (implementation)" % (says, " and ".join(nobodys))


def launcher_advice(launch: LaunchFile, paradigm: Paradigm, cluster: Cluster) -> tuple[str, ...]:
    """Return what to know of the launch: what the site says against it, and what the program needs besides."""
    facts = {launcher_fact.name: launcher_fact for launcher_fact in cluster.site.launchers}
    against = [facts[name] for name in (launch.when.launcher, launch.when.over) if name in facts]
    notes = tuple(
        "%s: %s" % (launcher_fact.name, launcher_fact.says)
        for launcher_fact in against
        if launcher_fact.state == "discouraged"
    )
    return (*notes, *paradigm.around)
