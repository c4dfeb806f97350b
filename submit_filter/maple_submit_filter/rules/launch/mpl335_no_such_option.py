"""Options that a launcher does not have, and options of which it takes one."""

from __future__ import annotations

from typing import Dict, Iterator, Optional, Tuple

from ...launchers.grammar import DASHES, Table, extended
from ...launchers.mpi.options import TABLES
from ...launchers.registry import LAUNCHERS
from ...plan import breach_kinds
from ...site.facts import Site
from ...types.edits import Edit, Fix, Safety
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Link, Step
from ...types.text import Text
from .. import rule
from ..program_text import name_in_called_file
from ..spelling import option_alike

_LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "horovodrun", "srun", "mpiexec")
_CLOSED = ("torchrun", "accelerate", "deepspeed", "horovodrun")  # none of them takes options by plug-ins
_NO_VALUE, _WANTS = "takes no value", "wants a value"
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
    """A launcher ends at a word with dashes that is none of its options, and at an option that lacks its value.

    Wrong: torchrun --nproc_per_nodes=4 train.py; accelerate launch --multi_gpus train.py; srun --ntask-per-node=1
    Right: torchrun --nproc_per_node=4 train.py; accelerate launch --multi_gpu train.py; srun --ntasks-per-node=1
    Wrong: torchrun --num_gpus=4 train.py, which is an option of deepspeed; srun --gpu-per-tasks=1
    Wrong: torchrun -nnodes=2; torchrun --nnodes --standalone; accelerate launch --multi_gpu=true; srun -nodes=2
    Wrong: accelerate launch --multi_gpu --use_deepspeed; deepspeed --include localhost:0,1 --num_gpus=2
    Why:   they say: unrecognized arguments, expected one argument, or: you can only use one of them at a time. Of those
           of srun and mpiexec, to which a plug-in or a release may add, Maple speaks where one letter, or the order of
           its words, makes it one that there is; of the others' always. It only shows the change: a release may have
           more.
    """
    for step in plan.steps:
        for link in step.links if not step.maybe else ():
            table = _table(link.name) if link.name in _LAUNCHERS else None
            if table is not None:
                yield from _refused(link, table, plan, job, _empty(step))
                yield from _both(link)


def _table(name: str) -> Optional[Table]:
    if name != "mpiexec":
        return LAUNCHERS[name].table if name in LAUNCHERS else None
    makers = list(TABLES.values())
    return extended(makers[0], name, "\n".join(maker.lines for maker in makers[1:]))


def _empty(step: Step) -> bool:
    """Return whether a variable left no value to an option, which is a breach of its own."""
    return any(breach.kind in (breach_kinds.OPTION_EMPTY, breach_kinds.MASTER_EMPTY) for breach in step.breaches)


def _refused(link: Link, table: Table, plan: LaunchPlan, job: Job, empty: bool) -> Iterator[Finding]:
    for index, problem in (*link.refused, *_glued(link, table)):
        word = link.argv[index]
        if problem.endswith(_NO_VALUE):
            yield _flag(link, word, problem)
        elif problem.endswith(_WANTS) and empty:
            continue
        elif problem.endswith(_WANTS):
            says = "%s: %s, and the next word is none" % (link.name, problem)
            yield Finding("MPL335", says, word.span() or link.name_span, help="write the value behind it")
        elif not word.open:
            yield from _unknown(link, word, table, plan, job)


def _glued(link: Link, table: Table) -> Iterator[Tuple[int, str]]:
    """Yield long options with one dash, whose first letter is read as an option and the rest as its value."""
    for option in link.options if table.style != DASHES else ():
        raw = link.argv[option.words[0]].raw.split(b"=")[0]
        if len(raw) > 3 and raw[:1] == b"-" != raw[1:2] and b"-" + raw in table.rows:
            yield option.words[0], "unknown option"


def _flag(link: Link, word: Text, problem: str) -> Finding:
    at = word.raw.find(b"=")
    span = word.span(at, len(word.raw)) if at > 0 else None
    fixes = (Fix((Edit(span, b"", "MPL335"),), Safety.ASK, word.raw[:at].decode()),) if span is not None else ()
    return Finding("MPL335", "%s: %s" % (link.name, problem), word.span() or link.name_span, fixes=fixes,
                   help="leave out what stands behind its name")  # fmt: skip


def _unknown(link: Link, word: Text, table: Table, plan: LaunchPlan, job: Job) -> Iterator[Finding]:
    spelled = [name for name in table.rows if name[:2] == b"--"]
    name = word.raw.split(b"=")[0]
    dashed = name if name[:2] == b"--" else b"-" + name
    near = [dashed] if dashed != name and len(name) > 2 and dashed in table.rows else []
    near = near or [other for other in spelled if _near(dashed, other)]
    near = near or [
        other for other in spelled if other.lstrip(b"-").replace(b"_", b"-") in _MEANT.get(_words(name), ())
    ]
    if near or (link.name in _CLOSED and name.replace(b"-", b"").isascii()):
        best = min(near, key=lambda other: ((b"_" in other) != (b"_" in name), len(other)), default=b"")
        span = word.span(0, len(name))
        fixes = (Fix((Edit(span, best, "MPL335"),), Safety.ASK, best.decode()),) if span is not None and best else ()
        yield Finding("MPL335", "%s has no option %s" % (link.name, name.decode("utf-8", "replace")),
                      span or link.name_span, fixes=fixes,
                      elsewhere=name_in_called_file(plan, job, name, best) if best and not fixes else (),
                      help="did you mean %s?" % best.decode() if best else "")  # fmt: skip


def _near(name: bytes, other: bytes) -> bool:
    return option_alike(name.decode("utf-8", "replace"), other.decode())


def _words(name: bytes) -> Tuple[bytes, ...]:
    """Return the words of an option without their order and plurals: gpus-per-task is gpu, per, task."""
    return tuple(sorted(word.rstrip(b"s") for word in name.strip(b"-").replace(b"_", b"-").lower().split(b"-")))


def _both(link: Link) -> Iterator[Finding]:
    for first, second in _ONE_OF.get(link.name, ()):
        option, other = link.option(*first), link.option(*second)
        if option is not None and other is not None:
            says = "%s takes %s or %s, and not both" % (link.name, option.spelling.decode(), other.spelling.decode())
            yield Finding("MPL335", says, other.span or option.span or link.name_span, help="leave one of them out")
