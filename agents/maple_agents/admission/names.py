"""The names of what is known of a job, and how programs, configs and libraries spell them.

Several places speak of one name: which of them the program would take, and where that is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from maple_submit_filter.types.job_records import Part, Value

from ..base.secrets.masking import MASK, masked
from ..base.secrets.names import is_secret

# Whoever stands first wins: a program takes its arguments over its config, and that over what it has built in.
ORDER = ("arguments", "script", "plan", "config", "program")

MOST_VALUE = 1000  # characters
UNSAID = ("", "none", "null", "auto", "???", "~")  # of any value: nothing is said
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")

# The most telling spelling first. Each is a last word of a key or an option, dashes as underscores.
SPELLINGS: dict[str, tuple[str, ...]] = {
    "batch_size_per_device": (
        "per_device_train_batch_size", "train_micro_batch_size_per_gpu", "micro_batch_size", "per_gpu_train_batch_size",
        "batch_size_per_gpu", "device_batch_size", "per_device_batch_size", "per_gpu_batch_size",
        "batch_size_per_device", "micro_batch_size_per_gpu", "train_batch_size_per_gpu", "samples_per_gpu",
        "local_batch_size",
    ),
    "batch_size_global": ("global_batch_size", "total_batch_size", "effective_batch_size"),
    "batch_size": (
        "batch_size", "train_batch_size", "batchsize", "train_bs", "bs", "batch", "batch_size_train", "train_batch",
        "ims_per_batch",
    ),
    "learning_rate": (
        "learning_rate", "lr", "base_lr", "max_lr", "init_lr", "initial_lr", "initial_learning_rate", "peak_lr",
        "base_learning_rate",
    ),
    "epochs": (
        "num_train_epochs", "max_epochs", "num_epochs", "n_epochs", "nb_epochs", "epochs", "max_epoch", "epoch",
        "num_epoch", "end_epoch", "n_epoch", "nepoch", "nepochs", "number_of_epochs", "total_epochs", "train_epochs",
    ),
    "steps": (  # of an environment too there are `max_steps`, where the training says its own
        "total_timesteps", "num_timesteps", "max_train_steps", "max_steps", "train_iters", "max_iters", "train_steps",
        "num_train_steps", "total_steps", "num_steps", "training_steps", "max_train_iters", "total_iters", "max_update",
        "num_iterations", "max_iterations", "max_iter", "niter", "num_iter", "num_iters", "n_iters", "total_iter",
    ),
    "gradient_accumulation": (
        "gradient_accumulation_steps", "accumulate_grad_batches", "grad_accum", "accum_steps", "accum_iter",
        "accumulation_steps", "grad_accumulation_steps", "grad_accum_steps", "grad_acc_steps",
        "gradient_accumulate_every", "gradient_accumulation", "gradient_accumulation_step", "accum_grad_iters",
    ),
    "sequence_length": (
        "max_seq_length", "max_seq_len", "seq_length", "seq_len", "sequence_length", "max_sequence_length",
        "model_max_length", "block_size", "cutoff_len", "context_length", "seqlen", "max_length",
    ),
    "seed": ("seed", "random_seed", "manual_seed", "rng_seed", "global_seed"),
    "model": (
        "model_name_or_path", "pretrained_model_name_or_path", "model_name", "model_id", "model", "arch", "base_model",
        "model_path",
    ),
    "data": (
        "dataset_name", "dataset", "data_path", "dataset_path", "data_dir", "train_file", "data", "train_data",
        "datadir", "data_root", "dataset_dir", "train_dataset_name", "train_data_path", "train_data_dir",
        "train_set_path", "train_path", "train_files", "training_data", "datapath", "dataroot", "data_folder",
        "train_data_file", "training_file",
    ),
    "checkpoint": ("checkpoint_dir", "ckpt_dir", "checkpoint_path", "ckpt_path", "checkpoint", "ckpt"),
    "resume": ("resume_from_checkpoint", "resume_from", "resume", "resume_path", "resume_checkpoint", "auto_resume"),
    "output": (
        "output_dir", "out_dir", "save_dir", "default_root_dir", "work_dir", "output_path", "results_dir", "outdir",
        "output", "output_folder", "results_folder", "save_folder", "dump_folder",
    ),
    "logs": ("logging_dir", "log_dir", "tensorboard_dir", "logdir", "log_file"),
    "precision": ("mixed_precision", "precision", "torch_dtype", "dtype"),
    "optimizer": ("optimizer", "optim", "opt"),
    "tensor_parallel": (
        "tensor_model_parallel_size", "tensor_parallel_size", "tensor_parallel", "tp_size", "tensor_parallel_degree",
    ),
    "pipeline_parallel": (
        "pipeline_model_parallel_size", "pipeline_parallel_size", "pipeline_parallel", "pp_size",
        "pipeline_parallel_degree",
    ),
    "zero_stage": ("zero_stage",),
}  # fmt: skip
FLAGS = {"bf16": ("precision", "bf16"), "fp16": ("precision", "fp16"), "amp": ("precision", "amp")}
_BY_SPELLING = {word: (name, at) for name, words in SPELLINGS.items() for at, word in enumerate(words)}
# The key above says what a plain key is of: `model: {name: …}`.
_ABOVE = {"model": "model", "data": "data", "dataset": "data", "datasets": "data", "train_dataset": "data",
          "optimizer": "optimizer", "optim": "optimizer"}  # fmt: skip
_PLAIN = ("name", "name_or_path", "id", "path")
# A section of the data, or of all: `datasets: {train: {name: …}}`, `training: {steps: …}`.
_TRAINING = ("train", "training")
# What lies below a part of a model is that part's: `model: {quantizer: {ckpt_path: …}}`.
_MODELS = ("model", "network", "net")
_PLACES = ("checkpoint", "resume", "output", "logs")
_APART = re.compile(r"(?:^|_)(?:eval|evaluate|evaluation|val|valid|validate|validation|test|testing|predict|inference|"
                    r"infer|generate|generation|rollout|profiling|profiler|scheduler|sampler|warmup|discriminator|"
                    r"generator|teacher|critic|reward|ref|reference|ema)(?:_|$)")  # fmt: skip
_WHOLE = re.compile(r"\d{1,12}(?:_\d{3})*|[1-9](?:\.0*)?e\+?\d{1,2}", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
_WHOLES = ("batch_size", "batch_size_per_device", "batch_size_global", "steps", "gradient_accumulation", "seed",
           "sequence_length", "tensor_parallel", "pipeline_parallel", "zero_stage")  # fmt: skip
_FILE = re.compile(r"\.(?:ya?ml|json|toml|py|cfg|ini)$")
_NUMBERS = ("learning_rate", "epochs")


class Known(NamedTuple):
    """What a key is of. *rank*: 0 for the most telling spelling. *fixed*: the value where the key is a flag."""

    name: str
    rank: int
    fixed: str = ""


def plain(key: str) -> str:
    """Return a key as spellings have it: small, dashes as underscores."""
    return key.strip("-+").replace("-", "_").lower()


def known(key: str) -> Known | None:
    """Return what a key such as `--lr` or `optimizer.lr` is of; None where it is none of these, or of something else.

    A value for evaluation, a teacher or a schedule is not the training's.
    """
    *above, last = plain(key).split(".")
    if any(_APART.search(part) for part in above) or is_secret(last):
        return None
    if last in FLAGS:
        return Known(FLAGS[last][0], 0, FLAGS[last][1])
    if above and last in _PLAIN:
        of = above[-2] if above[-1] in _TRAINING and len(above) > 1 else above[-1]
        return Known(_ABOVE[of], 5) if of in _ABOVE else None
    if above and above[-1] in _TRAINING and last == "steps":
        return Known("steps", len(SPELLINGS["steps"]))
    spelling = _BY_SPELLING.get(last)
    of_a_part = len(above) > 1 and above[0] in _MODELS
    return Known(*spelling) if spelling and not (of_a_part and spelling[0] in _PLACES) else None


def kept_value(what: Known, value: str) -> str | None:
    """Return the value as it is kept, None where it says nothing or is not of the kind that its name wants."""
    value = value.strip()
    if what.fixed:
        return what.fixed if value.lower() not in _FALSE and value.lower() not in UNSAID[1:] else None
    if value.lower() in UNSAID or not allowed(what.name, value):
        return None
    return _KINDS.get(what.name, _text)(value)


def allowed(name: str, value: str) -> bool:
    """Return whether a text may be kept: it is whole, short, printable, and no secret."""
    if len(value) > MOST_VALUE or not value.isprintable() or "${" in value or MASK in value:
        return False
    return masked(value) == value and masked("%s=%s" % (name, value)) == "%s=%s" % (name, value)


def same(value: str, other: str) -> bool:
    """Return whether two values are one: 1e-4 and 0.0001 are."""
    if value == other:
        return True
    return bool(_NUMBER.fullmatch(value) and _NUMBER.fullmatch(other)) and float(value) == float(other)


def _whole(value: str) -> str | None:
    return value.replace("_", "") if _WHOLE.fullmatch(value) else None


def _number(value: str) -> str | None:
    return value if _NUMBER.fullmatch(value) else None


def _resume(value: str) -> str | None:
    return "false" if value.lower() in _FALSE else "true" if value.lower() in _TRUE else value


def _precision(value: str) -> str | None:
    return value.split(".")[-1] if value.lower() not in (*_TRUE[:1], *_FALSE[:1]) else None


def _optimizer(value: str) -> str | None:
    """Return the name of an optimizer: `--opt options/train.yml` is none."""
    is_name = re.fullmatch(r"[A-Za-z][\w-]*(?:\.[A-Za-z]\w*)*", value) and not _FILE.search(value)
    return _text(value) if is_name else None


def _text(value: str) -> str | None:
    return None if value.lower() in ("true", "false") or _NUMBER.fullmatch(value) or value[:1] in "([{" else value


_KINDS: dict[str, Callable[[str], "str | None"]] = {
    **{name: _whole for name in _WHOLES},
    **{name: _number for name in _NUMBERS},
    "resume": _resume,
    "precision": _precision,
    "optimizer": _optimizer,
}


class Candidate(NamedTuple):
    """A place that speaks of a name. *value* None: it does, and what it says is not known. *rank*: of the spelling."""

    name: str
    value: str | None
    file: str
    line: int
    part: str
    by: str
    rank: int = 0


def of_key(key: str, value: str | None, file: str, line: int, part: str, by: str) -> list[Candidate]:
    """Return what a key with its value says: nothing where the key is not known, or it is a flag that is off."""
    what = known(key)
    if what is None:
        return []
    kept = kept_value(what, value) if value is not None else None
    if value is not None and kept is None and (what.fixed or value.strip().lower() in UNSAID):
        return []
    return [Candidate(what.name, kept, file, line, part, by, what.rank)]


def settled(candidates: Iterable[Candidate]) -> tuple[Value, ...]:
    """Return one value for each name: of the first place in order that speaks of it, if it says one thing."""
    by_name: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_name.setdefault(candidate.name, []).append(candidate)
    values = (_one(group) for group in by_name.values())
    return tuple(sorted((value for value in values if value is not None), key=lambda value: value.name))


def _one(group: Sequence[Candidate]) -> Value | None:
    first = min((ORDER.index(candidate.by), candidate.rank) for candidate in group)
    candidates = [candidate for candidate in group if (ORDER.index(candidate.by), candidate.rank) == first]
    value = candidates[0].value
    if value is None or any(other.value is None or not same(other.value, value) for other in candidates):
        return None
    candidate = candidates[0]
    return Value(candidate.name, value, candidate.file, candidate.line, candidate.part, candidate.by)


def part_at(line: int, parts: Sequence[Part], *kinds: str) -> str:
    """Return the hash of the part of the script that holds a line, looked for among *kinds* first; "" none.

    The lines of parts overlap (an assignment between two launches), so the kind that a thing belongs to decides.
    """
    order = (*kinds, "launch", "setup", "environment", "directives", "after")
    own = [part for part in parts if part.kind in order and part.lines[0] <= line <= part.lines[1]]
    return min(own, key=lambda part: order.index(part.kind)).hash if own else ""
