"""What a configuration file says: the program's own, DeepSpeed's, Accelerate's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from . import names
from .candidates import Candidate, of_key
from .hydra import Setting
from .opened import Files

_DISTRIBUTED = {"FSDP": "fsdp", "MULTI_GPU": "accelerate-ddp", "MULTI_XPU": "accelerate-ddp", "MEGATRON_LM": "3d"}
_STAGES = ("zero_optimization.stage", "deepspeed_config.zero_stage")


def of_config(settings: Sequence[Setting], files: Files) -> Iterator[Candidate]:
    """Yield what the settings say; a key nearer to the top tells more."""
    by_path = {one.path: one for one in settings}
    for one in settings:
        part = files.parts.get(one.file)
        if part is None:
            continue
        for found in _of_setting(one, by_path, part.name, part.hash):
            yield found._replace(rank=found.rank + 10 * one.path.count("."))


def _of_setting(one: Setting, all_: dict[str, Setting], file: str, part: str) -> Iterator[Candidate]:
    place = (file, one.line, part, "config")
    value = one.value
    if one.path in _STAGES and value in ("0", "1", "2", "3"):
        yield Candidate("zero_stage", value, *place)
        if value != "0":
            yield Candidate("parallelism", "zero" + value, *place)
    elif one.path == "distributed_type" and value in _DISTRIBUTED:
        yield Candidate("parallelism", _DISTRIBUTED[value], *place)
    elif one.path in ("bf16.enabled", "fp16.enabled"):
        if value == "true":
            yield Candidate("precision", one.path[:4], *place)
    elif one.path == "optimizer.type" and value and names.allowed("optimizer", value):
        yield Candidate("optimizer", value, *place)
    elif one.path == "train_batch_size" and "zero_optimization.stage" in all_:
        if value and value.isdigit():
            yield Candidate("batch_size_global", value, *place)
    else:
        yield from of_key(one.path, value, *place)
