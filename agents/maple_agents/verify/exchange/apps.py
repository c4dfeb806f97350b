"""Which mini-app trains as the user's program does, and what the program itself would import."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import NamedTuple

from maple_submit_filter.types.launch_plan import Step
from maple_submit_filter.types.text import NUL

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
