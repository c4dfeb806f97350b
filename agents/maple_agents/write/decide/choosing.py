"""Which paradigm and which launch template: as was said, or by what the GPUs can hold."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING, NamedTuple

from ...base.missing import Assumed, Missing, Refused
from ...base.slots import Slots
from ...templates.cluster import Cluster
from ..compose import launchers
from . import memory

if TYPE_CHECKING:
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
        return memory.gigabytes(self.parameters, paradigm, self.ranks or 1) <= self.gpu


class Chosen(NamedTuple):
    """*missing*: what has to be asked first, because the model would not fit."""

    paradigm: Paradigm
    model: tuple[Family, Member] | None
    assumed: tuple[Assumed, ...] = ()
    missing: tuple[Missing, ...] = ()
    advice: tuple[str, ...] = ()


def choose(said: Slots, cluster: Cluster, wishes: Set[str], gpu: float | None, ranks: int | None,
           nodes_said: bool, hints: tuple[Assumed, ...] = ()) -> Chosen:  # fmt: skip
    """Return the paradigm: the one said, else the one hinted at, else DDP where that fits, else a sharded one.

    *gpu*: memory of a device in GB, None not known. *ranks*: of the world, None not known yet. Raises `Refused` where
    the repository has no such paradigm.
    """
    model = memory.known(said.text("model"), cluster) if "model" in said else None
    load = Load(memory.parameters(said.text("model"), model), gpu, ranks)
    if memory.lighter(wishes):
        load = load._replace(parameters=None)
    name = said.text("paradigm")
    if name:
        return _said(_known(name, cluster), said, load, cluster)._replace(model=model)
    return _unsaid(said, load, cluster, nodes_said, hints)._replace(model=model)


def _known(name: str, cluster: Cluster) -> Paradigm:
    if name not in cluster.paradigms:
        raise Refused("no template trains by %s; there are %s" % (name, ", ".join(cluster.paradigms)))
    return cluster.paradigms[name]


def _said(paradigm: Paradigm, said: Slots, load: Load, cluster: Cluster) -> Chosen:
    """Return the paradigm that was said; where it cannot fit, it wants the user's own word once more."""
    if load.fits(paradigm) is not False:
        return Chosen(paradigm, None)
    why = _too_much(load, paradigm)
    if said["paradigm"].origin.by in ("prompt", "option"):
        return Chosen(paradigm, None, advice=(why,))
    fitting = tuple(name for name in _SHARDED if name in cluster.paradigms and load.fits(cluster.paradigms[name]))
    return Chosen(
        paradigm, None, missing=(Missing("paradigm", "%s; %s" % (why, _instead(fitting, load, cluster)), fitting),)
    )


def _unsaid(said: Slots, load: Load, cluster: Cluster, nodes_said: bool, hints: tuple[Assumed, ...]) -> Chosen:
    hinted = next((one for one in hints if one.slot == "paradigm" and one.value in cluster.paradigms), None)
    first = hinted or _by_launcher(said) or Assumed("paradigm", "ddp", _fitting_ddp(load, cluster))
    paradigm = cluster.paradigms[str(first.value)]
    if load.fits(paradigm) is not False:
        return Chosen(paradigm, None, (first,))
    why = _too_much(load, paradigm)
    for name in _SHARDED:
        if (
            name in cluster.paradigms
            and _startable(name, said, cluster)
            and load.fits(cluster.paradigms[name]) is not False
        ):
            return Chosen(cluster.paradigms[name], None, (Assumed("paradigm", name, why),))
    sharded = cluster.paradigms[_SHARDED[0]]
    slot = Missing("paradigm" if nodes_said else "nodes", "%s; %s" % (why, _instead((), load, cluster)))
    return Chosen(sharded, None, missing=(slot,))


def _startable(name: str, said: Slots, cluster: Cluster) -> bool:
    try:
        launchers.choose(said, name, cluster, 2)
    except Refused:
        return False
    return True


def _by_launcher(said: Slots) -> Assumed | None:
    launcher = said.text("launcher")
    if launcher not in _OF_LAUNCHER:
        return None
    return Assumed("paradigm", _OF_LAUNCHER[launcher], "%s was said" % launcher)


def _fitting_ddp(load: Load, cluster: Cluster) -> str:
    if load.parameters is None or load.gpu is None:
        return "none was given"
    needs = memory.gigabytes(load.parameters, cluster.paradigms["ddp"], 1)
    return "%s need about %.0f GB a GPU, and these have %.0f" % (_counted(load.parameters), needs, _printed(load.gpu))


def _too_much(load: Load, paradigm: Paradigm) -> str:
    assert load.parameters is not None and load.gpu is not None
    needs = memory.gigabytes(load.parameters, paradigm, load.ranks or 1)
    says = (
        "%s with %s need about %.0f GB a GPU in mixed precision with Adam, plus activations; the GPUs here have %.0f GB"
    )
    return says % (_counted(load.parameters), paradigm.title, needs, _printed(load.gpu))


def _instead(fitting: tuple[str, ...], load: Load, cluster: Cluster) -> str:
    """Return what would fit, in words."""
    assert load.parameters is not None and load.gpu is not None
    if fitting:
        needs = memory.gigabytes(load.parameters, cluster.paradigms[fitting[0]], load.ranks or 1)
        return "%s would fit: about %.0f GB on %d GPUs" % (" or ".join(fitting), needs, load.ranks or 1)
    fewest = memory.fewest_ranks(load.parameters, cluster.paradigms[_SHARDED[0]], load.gpu)
    return "divided over all GPUs it takes at least %d of them, or training with LoRA" % (fewest or 0)


def _counted(count: int) -> str:
    return "%.3gB parameters" % (count / 1e9) if count >= 1e9 else "%.0fM parameters" % (count / 1e6)


def _printed(gigabytes: float) -> float:
    """Return a card's memory as the centres print it, which counts 2^30 bytes."""
    return gigabytes * 1e9 / 2**30
