"""A script of this very cluster: right as it stands, or mended by the rules of the submit path."""

from __future__ import annotations

from maple_submit_filter.decide import Decision, decide

from ...extraction.script_parts import Foreign
from ...slots import Slots
from ..values import Cluster
from . import judged


def mended(foreign: Foreign, cluster: Cluster, said: Slots, original: bytes) -> bytes | None:
    """Return the script as it should be, None where it has to be made anew: something else was said, or no small
    edit cures it. A script that is right comes back as it is.
    """
    if _says_more(foreign, said):
        return None
    state = judged.state_of(original, foreign, cluster)
    if state is None or not _asks_for_gpus(foreign, cluster):
        return None
    if not state.proven() and not state.job.script.refused:
        return original
    decision: Decision = decide(state.job.submission, cluster.site, state.job.read)
    made = decision.repaired or decision.offered
    if made is None or made.script is None:
        return None
    return made.script if not _still_wrong(made.script, foreign, cluster) else None


def _still_wrong(script: bytes, foreign: Foreign, cluster: Cluster) -> bool:
    state = judged.state_of(script, foreign, cluster)
    if state is None or state.proven() or state.job.script.refused:
        return True
    worlds = [group for step in state.plan.steps for group in step.groups if len(group.processes) > 1]
    return any(group.world_size is None for group in worlds)


def _says_more(foreign: Foreign, said: Slots) -> bool:
    """Tell whether something was said beside the script that it does not say itself."""
    return any(name not in foreign.slots or foreign.slots[name].value != slot.value for name, slot in said.items())


def _asks_for_gpus(foreign: Foreign, cluster: Cluster) -> bool:
    """Tell whether the job gets GPUs: without a request a site that wants one gives none."""
    site = cluster.site
    if site.gpu_request.style in ("whole-node", "unknown", "any") or not any(kind.gpus for kind in site.kinds):
        return True
    return foreign.plan.allocation.gpus_per_node != 0 and _said(foreign)


def _said(foreign: Foreign) -> bool:
    names = ("gpus", "gpus-per-node", "gpus-per-task", "gres", "gpus-per-socket", "tres-per-task", "exclusive")
    chunk = foreign.job.settings.value("select") or b""
    worlds = [one for one in foreign.launches if not one.small]
    return any(name in foreign.job.settings for name in names) or b"ngpus=" in chunk or not worlds
