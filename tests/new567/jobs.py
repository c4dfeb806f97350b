"""The jobs that requests ask for, drawn by a seed: who pays, where, how long, how many nodes, which program line."""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.new567.places import BY_SITE, WHERE, Place, Where, account_of

STRATEGIES = ("ddp", "fsdp", "zero3", "accelerate-ddp")
MODELS = ("gpt2-xl", "llama-3.1-8b", "bert-base", "vit-base", "resnet-18")
BIG = "llama-3.1-8b"  # 16 bytes a parameter are 128 GB: no GPU of the nine holds it unsharded
ENOUGH = 260  # GB over all ranks, from which such a model is comfortable when it is sharded

# Words behind train.py as people type them; what a shell makes of them is for the ranks to say.
ARGUMENTS = (
    '--config configs/base.yaml --run-name "spring run 3"',
    "--lr=3e-4 --betas 0.9,0.95 --tag 'a b'",
    "--data $HOME/data/shards --epochs 3",
    "--files data/part-*.jsonl --seed 17",
    "--files 'data/part-*.jsonl' --seed=17",
    '--prompt "what is 2 + 2?" --beams 4',
    '--output "$HOME/runs/${USER:-nobody}-a" --resume',
    '--overrides model.dim=1024 optim.wd=0.1 "note=x=y"',
    "--filter 'len(x) > 3 and x != \"\"' --workers 8",
    "--batch-size 32 --grad-accum 4 --bf16",
    "--steps 1000 --eval-every=250 --name exp_07",
    '--regex "^[a-z]+$" --limit 100',
    '--spec \'{"a": 1, "b": [2, 3]}\' --debug-level=0',
    "--name it\\'s-mine --out runs/a\\ b",
)
STARTS = ("train.py", "python train.py", "python3 train.py", "python -u train.py")
HUBS = {
    "gpt2-xl": "--model gpt2-xl",
    "llama-3.1-8b": "--model meta-llama/Llama-3.1-8B",
    "bert-base": "--model bert-base-uncased",
    "vit-base": "--arch vit_b_16 --data $HOME/data/imagenet",
    "resnet-18": "--arch resnet18 --data-dir data/imagenet",
}


class Job(NamedTuple):
    """What is wanted, in full. *minutes* of walltime. *paradigm*, *model*: "" where the case has none."""

    where: Where
    place: Place
    nodes: int
    minutes: int
    account: str
    file_systems: str
    program: str
    paradigm: str
    model: str

    @property
    def ranks(self) -> int:
        """The size of the world: a rank on every device."""
        return self.nodes * self.place.ranks

    @property
    def walltime(self) -> str:
        """HH:MM:SS."""
        return f"{self.minutes // 60:02}:{self.minutes % 60:02}:00"


class Case(NamedTuple):
    """One of the 81: a strategy or a model on a cluster."""

    axis: str  # "strategy" or "model"
    name: str
    site: str


def cases() -> list[Case]:
    """Return the 81 cases of the paper."""
    axes = (("strategy", STRATEGIES), ("model", MODELS))
    return [Case(axis, name, where.site) for axis, names in axes for name in names for where in WHERE]


def drawn(case: Case, chance: random.Random, least: int = 1) -> Job:
    """Return a job for the case; *least*: nodes that it has at the least."""
    where = BY_SITE[case.site]
    model = case.name if case.axis == "model" else ""
    fits = [one for one in where.places if model != "gpt2-xl" or one.memory >= 40]
    place = chance.choice([one for one in fits if one.nodes >= least])
    least = max(least, place.least, -(-ENOUGH // (place.memory * place.ranks)) if model == BIG else 1)
    if least > place.nodes:  # this place has too few nodes for the model
        place = max(fits, key=lambda one: one.nodes * one.memory * one.ranks)
    nodes = chance.randint(min(least, place.nodes), place.nodes)
    return Job(
        where,
        place,
        nodes,
        _minutes(place, chance),
        account_of(where, place, chance.choice(where.accounts)),
        chance.choice(where.file_systems) if where.file_systems else "",
        _program(case, chance),
        case.name if case.axis == "strategy" else "",
        model,
    )


def _minutes(place: Place, chance: random.Random) -> int:
    choices = [30, 60, 90, 120, 150, 240, 360, 480, 720, 1440, 2160, 2880]
    return chance.choice([one for one in choices if one <= place.hours * 60])


def _program(case: Case, chance: random.Random) -> str:
    more = [HUBS[case.name]] if case.axis == "model" else []
    if case.name == "zero3":
        more.append(chance.choice(("--deepspeed ds_config.json", "--deepspeed configs/zero3.json")))
    return " ".join([chance.choice(STARTS), *more, chance.choice(ARGUMENTS)])
