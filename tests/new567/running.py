"""Scripts run on labs in the shape of their sites, with the mini-app in the place of train.py."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from tests.lab.shape import Shape
from tests.lab.sites import scheduler_of, shape_of_site
from tests.reality import field, pbs_field
from tests.reality.corpus import Case
from tests.reality.field import Ran, Work

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PATIENCE = "25"  # seconds that stand-ins wait for each other: all is expected to run right, on a machine that is busy
NODES = 4
LABS = 3
MPI = {"tacc-vista": "openmpi"}
ENVIRONMENT = {
    "MAPLE_ROLE": "plain",
    "MAPLE_MINIAPP_TIMEOUT": "40",
    "MAPLE_MINIAPP_ENV_ONLY": "1",
    "LOGNAME": "ada",
    "HF_TOKEN": "hf_of-the-lab",
}
_RANKED = "MAPLE_MINIAPP_ENV_ONLY"  # only what a launcher exports says who a process is
FILES = {
    "configs/base.yaml": b"lr: 3e-4\n",
    "configs/zero3.json": b'{"zero_optimization": {"stage": 3}}\n',
    "ds_config.json": b'{"zero_optimization": {"stage": 3}}\n',
    "data/part-000.jsonl": b"{}\n",
    "data/part-001.jsonl": b"{}\n",
    "hf_token": b"hf_of-the-script\n",
}


class Script(NamedTuple):
    """One to run: *site*'s, called *name* in reports. *alone*: no launcher tells it of a rank."""

    name: str
    site: str
    text: bytes
    alone: bool = False


@cache
def shape_of(site: str) -> Shape:
    """Return the site's shape with nodes enough of every kind of GPU."""
    shape = shape_of_site(site, nodes=NODES, others=NODES)
    return shape._replace(mpi=MPI[site]) if site in MPI else shape


def run(scripts: Sequence[Script], labs: int = LABS) -> list[Ran]:
    """Return what each script did, in order; Slurm first, then PBS, *labs* labs at a time."""
    done: dict[int, Ran] = {}
    works = {number: _work(one) for number, one in enumerate(scripts)}
    slurm = [number for number, one in enumerate(scripts) if scheduler_of(one.site) == "slurm"]
    pbs = [number for number in works if number not in slurm]
    if slurm:
        ran = field.run_all([works[number] for number in slurm], shape_of, labs=labs, deadline=PATIENCE)
        done.update(zip(slurm, ran))
    if pbs:
        done.update(zip(pbs, pbs_field.run_all([works[number] for number in pbs], labs=labs, deadline=PATIENCE)))
    return [done[number] for number in works]


def _work(one: Script) -> Work:
    more = tuple((name, value) for name, value in ENVIRONMENT.items() if not (one.alone and name == _RANKED))
    case = Case(f"new/{one.name}", one.site, one.text, ("{}",), False, "", True, more)
    return Work(case, {"train.py": program(), **FILES})


@cache
def program() -> bytes:
    """Return the mini-app as train.py of a job's folder."""
    with open(os.path.join(HERE, "training.py"), "rb") as file:
        return file.read().replace(b"@ROOT@", ROOT.encode())
