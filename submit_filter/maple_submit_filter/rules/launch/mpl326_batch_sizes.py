"""The batch sizes of a configuration of DeepSpeed, and the ranks that start."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional

from ...site.facts import Site
from ...types.edits import Span
from ...types.findings import Finding
from ...types.job import Job
from ...types.launch_plan import LaunchPlan, Step
from .. import rule
from ..program_text import Named, beside, is_rank, line_of_file, named_values, place_of

_OPTIONS = ("deepspeed", "deepspeed_config", "ds_config", "deepspeed_config_file")
_SIZE = re.compile(
    rb'"(train_batch_size|train_micro_batch_size_per_gpu|gradient_accumulation_steps)"\s*:\s*(\d{1,7})\s*[,}\n]'
)
_DIVIDES = re.compile(r"parallel|\A(?:tp|pp|cp|sp)(?:_size)?\Z")


class _Sizes(NamedTuple):
    """Samples of a step over all ranks, of one pass on one rank, and the passes of a step."""

    whole: int
    micro: int
    passes: int


@rule("MPL326", "DeepSpeed's batch sizes do not fit the ranks")
def check(plan: LaunchPlan, job: Job, site: Site) -> Iterator[Finding]:
    """DeepSpeed demands train_batch_size = micro batch x accumulation steps x ranks, where all three are said.

    Wrong: "train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, on 16 ranks
    Right: "train_batch_size": 128; or leave one of the three out, and DeepSpeed computes it
    Why:   every rank ends with: Check batch related parameters. Which of the three is meant only its author knows, so
           Maple shows the line and leaves the file alone; the file is looked for in the folder of submission.
    """
    for step in plan.steps:
        world = _world(step)
        if not world or step.maybe or step.breaches:
            continue
        for named in named_values(step.program):
            text = beside(job, named.value, step) if named.last in _OPTIONS and named.value.endswith(b".json") else None
            sizes = _sizes(text) if text is not None else None
            if sizes is not None and sizes.whole != sizes.micro * sizes.passes * world:
                yield _finding(sizes, world, named, step, text or b"")


def _world(step: Step) -> int:
    """Return the ranks that share the data, 0 where that is not known: parts of one model share a sample."""
    if not is_rank(step) or len(step.groups) != 1:
        return 0
    if any(_DIVIDES.search(named.last) and named.value != b"1" for named in named_values(step.program)):
        return 0
    return step.groups[0].world_size or 0


def _sizes(text: bytes) -> Optional[_Sizes]:
    """Return the three sizes where each is said once, as a number."""
    matches = _SIZE.findall(text)
    values = {name: int(value) for name, value in matches}
    if len(matches) != 3 or len(values) != 3 or b"parallel" in text:
        return None
    return _Sizes(values[b"train_batch_size"], values[b"train_micro_batch_size_per_gpu"],
                  values[b"gradient_accumulation_steps"])  # fmt: skip


def _finding(sizes: _Sizes, world: int, named: Named, step: Step, text: bytes) -> Finding:
    product = sizes.micro * sizes.passes * world
    says = "%s says a batch of %d, but %d x %d x %d ranks are %d" % (
        named.value.decode("utf-8", "replace"), sizes.whole, sizes.micro, sizes.passes, world, product)  # fmt: skip
    help_ = "train_batch_size %d, or one of the three left out" % product
    if sizes.whole % (sizes.micro * world) == 0:
        help_ = "train_batch_size %d, or gradient_accumulation_steps %d" % (
            product,
            sizes.whole // sizes.micro // world,
        )
    whole = next(match for match in _SIZE.finditer(text) if match.group(1) == b"train_batch_size")
    file = named.value.rpartition(b"/")[2].decode("utf-8", "replace")
    change = line_of_file(file, text, Span(*whole.span(2)), b"%d" % product)
    return Finding("MPL326", says, place_of(named, step) or step.span, help=help_, elsewhere=(change,))
