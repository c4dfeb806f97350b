"""The user's program out, a mini-app in: edits of the script, and the proof that nothing else changed by them.

Which mini-app trains as the user's program does, and what the program itself would import.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from maple_submit_filter.bash.check import parses
from maple_submit_filter.repair.search import State
from maple_submit_filter.types import edits
from maple_submit_filter.types.edits import Edit
from maple_submit_filter.types.launch_plan import Link, Step
from maple_submit_filter.types.text import NUL

from ...ask.verified_runs import CannotVerify
from .launch_lines import Line, edits_of, lines_of

TRAINING = ("ddp", "fsdp", "zero3", "accelerate_ddp", "three_d")
APPS = (*TRAINING, "dry", "probe")
CHOICES = ("auto", *APPS)
FRAMEWORKS = {"zero3": ("torch", "deepspeed"), "accelerate_ddp": ("torch", "accelerate")}  # the others: torch

_MESH = re.compile(
    rb"(tensor|pipeline)[-_](model[-_])?parallel|--(tp|pp)(-size)?[= ]|parallelize_module|megatron", re.I
)
_SHARDED = re.compile(rb"fully_shard|FullyShardedDataParallel|--(use_)?fsdp\b|FSDPStrategy|strategy=.fsdp", re.I)
_ZERO = re.compile(
    rb"--deepspeed\b|^[ \t]*(?:import|from)[ \t]+deepspeed\b|deepspeed\.initialize|DeepSpeedStrategy", re.M
)
_IMPORTS = re.compile(rb"^[ \t]*(?:import|from)[ \t]+(torch|deepspeed|accelerate|transformers|lightning)\b", re.M)
# What makes a program find its rank where torch's own variables are not set.
_OTHER_RANKS = re.compile(
    rb"SLURM_PROCID|PMI_RANK|PMIX_RANK|PALS_RANKID|OMPI_COMM_WORLD_RANK|MPI_LOCALRANKID|mpi4py|lightning|submitit|ezpz"
    rb"|horovod|deepspeed|jax"
)
_BY_ENVIRONMENT = re.compile(rb"init_process_group|Accelerator\(|os\.environ.{0,3}[\"']RANK[\"']")

SAFE = re.compile(rb"[A-Za-z0-9._/+@-]+")  # no shell, no launcher and no `--output` reads anything into these
Again = Callable[[bytes], "State | None"]


class Exchange(NamedTuple):
    """A script that starts mini-apps, and its launch lines."""

    source: bytes
    lines: tuple[Line, ...]


def exchanged(state: State, folder: bytes, again: Again) -> Exchange:
    """Return the script of *state* with `folder/NAME.py` in the place of each program.

    *again* reads a changed script and makes its plan. Raises `CannotVerify` unless the new plan is the old one but for
    the programs.
    """
    if not SAFE.fullmatch(folder):
        raise CannotVerify(
            f"the folder {folder.decode('utf-8', 'backslashreplace')} has signs in its name that a shell would read",
            "start maple from a folder with a plain name",
        )
    lines = lines_of(state.plan)
    made = [edit for line in lines for step in line.steps for edit in edits_of(step, entry(folder, line))]
    source = _applied(state.job.source, made)
    _prove(state, lines, folder, source, again)
    return Exchange(source, tuple(lines))


def entry(folder: bytes, line: Line) -> bytes:
    """Return the path of what takes the place of the program of *line*."""
    return b"%s/%s.py" % (folder, line.name.encode())


def _applied(source: bytes, made: Sequence[Edit]) -> bytes:
    try:
        return edits.apply(source, made)
    except edits.Conflict:
        raise CannotVerify(
            "two launch lines take their program from the same words in different ways", "name the program on each line"
        ) from None


def _prove(state: State, lines: Sequence[Line], folder: bytes, source: bytes, again: Again) -> None:
    if not parses(source):
        raise CannotVerify("bash would not take the changed script", "see bash -n")
    after = again(source)
    paths = {id(step): entry(folder, line) for line in lines for step in line.steps}
    if after is None or len(after.plan.steps) != len(state.plan.steps):
        raise _other(lines[0].number)
    for before, now in zip(state.plan.steps, after.plan.steps):
        if not _same(before, now, paths.get(id(before))):
            raise _other(before.line)


def _other(line: int) -> CannotVerify:
    return CannotVerify(
        f"line {line}: with another program the script would start other processes, as far as can be seen",
        "name the program on its launch line, without a variable",
    )


def _same(before: Step, now: Step, path: bytes | None) -> bool:
    """Tell whether two steps start the same processes, *now* with the program at *path*, None: with its own."""
    right = before.program == now.program if path is None else path in now.program
    shapes = [
        (step.line, step.nodes, step.tasks, step.tasks_per_node, step.workers_per_task, step.background, step.maybe)
        for step in (before, now)
    ]
    groups = [(_timeless(repr(step.groups)), [breach.kind for breach in step.breaches]) for step in (before, now)]
    links = [[_words(link) for link in step.links] for step in (before, now)]
    return right and shapes[0] == shapes[1] and groups[0] == groups[1] and links[0] == links[1]


def _words(link: Link) -> tuple[str, tuple[str, ...]]:
    """Return a launcher and its words, but for the flag that says that the program is a module."""
    module = link.option("module")
    left_out = range(module.words[0], sum(module.words)) if module is not None else ()
    return link.name, tuple(_timeless(repr(text.raw)) for at, text in enumerate(link.argv) if at not in left_out)


def _timeless(shown: str) -> str:
    """Unknown values are named after their place in the script, which the edits have moved."""
    return re.sub(r"\\x00(same|vary|task):.*?\\x00", r"<\1>", shown)


class Fit(NamedTuple):
    """The mini-app *name*; *imports*: frameworks that the program's own text imports; *strict*: it reads RANK only."""

    name: str
    imports: tuple[str, ...]
    strict: bool


def fit(step: Step, wanted: str, read: Callable[[bytes], bytes | None], has_agent: bool) -> Fit:
    """Return the mini-app for a step: *wanted*, or for `auto` what its launcher, words and program's text tell.

    *read* returns the text of a file, None where it cannot be read.
    """
    text = _text(step, read)
    imports = tuple(dict.fromkeys(name.decode() for name in _IMPORTS.findall(text)))
    strict = has_agent or bool(_BY_ENVIRONMENT.search(text) and not _OTHER_RANKS.search(text))
    return Fit(_like(step, text) if wanted == "auto" else wanted, imports, strict)


def needs(app: str) -> tuple[str, ...]:
    """Return the frameworks that a mini-app imports."""
    return FRAMEWORKS.get(app, ("torch",)) if app in TRAINING else ()


def _like(step: Step, text: bytes) -> str:
    launchers = {link.name for link in step.links}
    words = b" ".join((*step.program, *(word.raw for link in step.links for word in link.argv)))
    if _MESH.search(words) or _MESH.search(text):
        return "three_d"
    if "deepspeed" in launchers or _ZERO.search(b" ".join(step.program)) or _ZERO.search(text):
        return "zero3"
    if _SHARDED.search(words) or _SHARDED.search(text):
        return "fsdp"
    return "accelerate_ddp" if "accelerate" in launchers or b"accelerate" in text else "ddp"


def _text(step: Step, read: Callable[[bytes], bytes | None]) -> bytes:
    """Return the program's own text, b"" where no file of the step ends in .py or it cannot be read."""
    path = next((word for word in step.program if word.endswith(b".py") and NUL not in word), None)
    return (read(os.path.normpath(path)) or b"") if path else b""
