"""DeepSpeed's launcher on every node by srun, where the nodes cannot be reached by ssh."""

from __future__ import annotations

import re

from maple_submit_filter.cures import launch_edits
from maple_submit_filter.launchers.rank_words import first_node
from maple_submit_filter.types.edits import Edit, Fix, Safety
from maple_submit_filter.types.launch_plan import Step

from ....request.script.walk import context, texts
from ..registry import Given, concerned, fix

_SSH = re.compile(r"\b(?:ssh|pdsh)\b")
_IN_TASK = b' bash -c \'exec deepspeed --no_ssh --node_rank="$SLURM_NODEID" "$@"\' bash'


@fix("deepspeed-over-srun")
def deepspeed_over_srun(given: Given) -> Fix | None:
    """Start `deepspeed --no_ssh` once on each node, each with its own node rank; the host file stays the script's.

    Under Slurm, where the log speaks of ssh, and the script starts it on the first node alone with a host file.
    """
    words = " ".join(evidence.text for evidence in given.cause.evidence)
    nodes = given.plan.allocation.nodes or 0
    if given.case.scheduler != "slurm" or nodes < 2 or not _SSH.search(words):
        return None
    edits = [edit for step in concerned(given) for edit in _of_step(given, step, nodes)]
    return Fix(tuple(edits), Safety.ASK, "srun starts deepspeed on each node, without ssh") if edits else None


def _of_step(given: Given, step: Step, nodes: int) -> list[Edit]:
    source, link = given.job.source, step.links[0] if len(step.links) == 1 else None
    if link is None or link.name != "deepspeed" or link.name_span is None or link.option("hostfile") is None:
        return []
    at = link.name_span
    if source[slice(*at)] != b"deepspeed" or link.option("no-ssh") or context(texts(source), at.start) is not None:
        return []
    words = launch_edits.srun_words(given.plan, nodes) + _IN_TASK
    if link.option("master-addr") is None:
        words += b" --master_addr=" + first_node(given.site)[0]
    return [Edit(at, words, "deepspeed-over-srun")]
