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
from ..spelling import alike

_LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "srun")
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
    Wrong: accelerate launch --multi_gpu --use_deepspeed; deepspeed --include localhost:0,1 --num_gpus=2
    Why:   they say: unrecognized arguments, or: you can only use one of them at a time. Maple speaks of an option
           where one letter makes it one that there is, and only shows the change: a release may have more.
    """
    for step in plan.steps:
        for link in step.links if not step.maybe else ():
            launcher = LAUNCHERS.get(link.name) if link.name in _LAUNCHERS else None
            if launcher is not None and launcher.table is not None:
                yield from _unknown(link, launcher.table, job)
                yield from _both(link)


def _unknown(link: Link, table: Table, job: Job) -> Iterator[Finding]:
    spelled = [name for name in table.rows if name[:2] == b"--"]
    for word in _own_words(link, table):
        name = word.raw.split(b"=")[0]
        if name in table.rows or any(other.startswith(name) for other in spelled):
            continue
        near = [other for other in spelled if _near(name, other)]
        if near:
            best = min(near, key=lambda other: (other.count(b"_") != name.count(b"_"), len(other)))
            span = _span(word, name)
            fixes = (Fix((Edit(span, best, "MPL335"),), Safety.ASK, best.decode()),) if span is not None else ()
            yield Finding("MPL335", "%s has no option %s" % (link.name, name.decode("utf-8", "replace")),
                          span or link.name_span, fixes=fixes, help="did you mean %s?" % best.decode())  # fmt: skip


def _own_words(link: Link, table: Table) -> List[Text]:
    """Return the words with two dashes that the launcher reads as options, and not as values of those before."""
    taken = {index for option in link.options for index in range(option.words[0] + 1, sum(option.words))}
    return [word for index, word in enumerate(link.argv) if index not in taken and word.raw[:2] == b"--" != word.raw]


def _near(name: bytes, other: bytes) -> bool:
    spelled, known = (word.decode("utf-8", "replace").replace("_", "-") for word in (name, other))
    return spelled != known and len(spelled) > 6 and alike(spelled, known)


def _span(word: Text, name: bytes) -> Optional[Span]:
    piece = word.pieces[0] if word.pieces else None
    if piece is None or piece.start is None or not piece.text.startswith(name):
        return None
    return Span(piece.start, piece.start + len(name))


def _both(link: Link) -> Iterator[Finding]:
    for first, second in _ONE_OF.get(link.name, ()):
        option, other = link.option(*first), link.option(*second)
        if option is not None and other is not None:
            says = "%s takes %s or %s, and not both" % (link.name, option.spelling.decode(), other.spelling.decode())
            yield Finding("MPL335", says, other.span or option.span or link.name_span, help="leave one of them out")
