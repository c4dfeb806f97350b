"""Options that a launcher does not have, and options of which it takes one."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional, Tuple

from ...launchers.grammar import Table
from ...launchers.registry import LAUNCHERS
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety, Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Link
from ...types.text import Text
from .. import rule
from ..program_text import name_in_called_file
from ..spelling import alike

_LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "srun")
_OLDER = (b"--use_env", b"--use-env", b"--logdir")  # of torch.distributed.launch, which is read like torchrun
_CLOSED = ("torchrun", "accelerate", "deepspeed")  # none of them takes options by plug-ins
# What other launchers call it, and torchrun, accelerate or deepspeed does.
_RANKS, _NODES = (b"nproc-per-node", b"num-gpus", b"num-processes"), (b"nnodes", b"num-nodes", b"num-machines")
_MEANT: Dict[Tuple[bytes, ...], Tuple[bytes, ...]] = {
    (b"gpu", b"num"): _RANKS, (b"num", b"proc"): _RANKS, (b"nproc",): _RANKS, (b"gpu",): _RANKS,
    (b"num", b"processe"): _RANKS, (b"gpu", b"node", b"per"): _RANKS, (b"node", b"nproc", b"per"): _RANKS,
    (b"node", b"num"): _NODES, (b"node",): _NODES, (b"nnode",): _NODES, (b"machine", b"num"): _NODES,
    (b"machine", b"rank"): (b"node-rank",), (b"node", b"rank"): (b"machine-rank",),
    (b"ip", b"main", b"proces"): (b"master-addr",), (b"addr", b"master"): (b"main-process-ip",),
    (b"main", b"port", b"proces"): (b"master-port",), (b"master", b"port"): (b"main-process-port",),
    (b"hostfile",): (b"hostfile",), (b"machinefile",): (b"hostfile",),
}  # fmt: skip
# Of each launcher: options of which it takes one kind. accelerate 1.15 and deepspeed 0.18 say so (their sources).
_ONE_OF: Dict[str, Tuple[Tuple[Tuple[str, ...], Tuple[str, ...]], ...]] = {
    "accelerate": ((("multi-gpu",), ("use-deepspeed", "use-fsdp", "cpu", "tpu")), (("use-deepspeed",), ("use-fsdp",))),
    "deepspeed": ((("include", "exclude"), ("num-gpus", "num-nodes")), (("include",), ("exclude",))),
}


@rule("MPL335", "the launcher has no such option, or takes one of two")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """torchrun, accelerate, deepspeed and srun end at a word with dashes that is none of their options.

    Wrong: torchrun --nproc_per_nodes=4 train.py; accelerate launch --multi_gpus train.py; srun --ntask-per-node=1
    Right: torchrun --nproc_per_node=4 train.py; accelerate launch --multi_gpu train.py; srun --ntasks-per-node=1
    Wrong: torchrun --num_gpus=4 train.py, which is an option of deepspeed; srun --gpu-per-tasks=1
    Wrong: accelerate launch --multi_gpu --use_deepspeed; deepspeed --include localhost:0,1 --num_gpus=2
    Why:   they say: unrecognized arguments, or: you can only use one of them at a time. Of srun's,
           to which a plug-in may add, Maple speaks where one letter, or the order of its words, makes it one that there
           is; of the others' always. It only shows the change: a release may have more.
    """
    for step in plan.steps:
        for link in step.links if not step.maybe else ():
            launcher = LAUNCHERS.get(link.name) if link.name in _LAUNCHERS else None
            if launcher is not None and launcher.table is not None:
                yield from _unknown(link, launcher.table, plan, job)
                yield from _both(link)


def _unknown(link: Link, table: Table, plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    spelled = [name for name in table.rows if name[:2] == b"--"]
    for word in _own_words(link, table):
        name = word.raw.split(b"=")[0]
        if name in table.rows or name in _OLDER or any(other.startswith(name) for other in spelled):
            continue
        near = [other for other in spelled if _near(name, other)] or [
            other for other in spelled if other.lstrip(b"-").replace(b"_", b"-") in _MEANT.get(_words(name), ())
        ]
        if near or link.name in _CLOSED and name.replace(b"-", b"").isascii() and not word.open:
            best = min(near, key=lambda other: ((b"_" in other) != (b"_" in name), len(other)), default=b"")
            span = _span(word, name)
            fixes = (
                (Fix((Edit(span, best, "MPL335"),), Safety.ASK, best.decode()),) if span is not None and best else ()
            )
            yield Finding("MPL335", "%s has no option %s" % (link.name, name.decode("utf-8", "replace")),
                          span or link.name_span, fixes=fixes,
                          elsewhere=name_in_called_file(plan, job, name, best) if best and not fixes else (),
                          help="did you mean %s?" % best.decode() if best else "")  # fmt: skip


def _own_words(link: Link, table: Table) -> List[Text]:
    """Return the words with two dashes that the launcher reads as options, and not as values of those before."""
    taken = {index for option in link.options for index in range(option.words[0] + 1, sum(option.words))}
    return [word for index, word in enumerate(link.argv) if index not in taken and word.raw[:2] == b"--" != word.raw]


def _near(name: bytes, other: bytes) -> bool:
    spelled, known = (word.decode("utf-8", "replace").replace("_", "-") for word in (name, other))
    return spelled != known and len(spelled) > 6 and (alike(spelled, known) or _words(name) == _words(other))


def _words(name: bytes) -> Tuple[bytes, ...]:
    """Return the words of an option without their order and plurals: gpus-per-task is gpu, per, task."""
    return tuple(sorted(word.rstrip(b"s") for word in name.strip(b"-").replace(b"_", b"-").lower().split(b"-")))


def _span(word: Text, name: bytes) -> Optional[Span]:
    return word.span(0, len(name)) if word.raw.startswith(name) else None


def _both(link: Link) -> Iterator[Finding]:
    for first, second in _ONE_OF.get(link.name, ()):
        option, other = link.option(*first), link.option(*second)
        if option is not None and other is not None:
            says = "%s takes %s or %s, and not both" % (link.name, option.spelling.decode(), other.spelling.decode())
            yield Finding("MPL335", says, other.span or option.span or link.name_span, help="leave one of them out")
