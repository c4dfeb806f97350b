"""Fractions, corrections and quoted names are read alike in every language that has a lexicon."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomllib
from maple_agents.base.slots import Slot
from maple_agents.request.words import read


def _value(words: str, slot: str) -> object:
    found: Slot | None = read(words).slots.get(slot)  # type: ignore[call-overload]
    return found.value if found is not None else None


@pytest.mark.parametrize(
    ("words", "time"),
    [
        ("train.py, 2 nodes, 4 hours and half", "04:30:00"),
        ("train.py, 2 hours and three quarters, 2 nodes", "02:45:00"),
        ("train.py on 2 nodes for the full hour", "01:00:00"),
        ("10 nœuds, trois heures et quart, programme : essai.py", "03:15:00"),
        ("zwei Knoten, siebeneinhalb Stunden, train.py, das Konto ist abc123", "07:30:00"),
        ("dos nodos, trece horas y cuarto, programa train.py, cuenta abc123", "13:15:00"),
        ("4 nodi per train.py, diciassette ore e mezza, progetto abc", "17:30:00"),
        ("dois nós, onze horas e meia, programa train.py, projeto abc123", "11:30:00"),
        ("два узла, девять с половиной часов, программа train.py", "09:30:00"),
    ],
)
def test_what_stands_behind_a_length_is_added_to_it(words, time):
    """The fraction was dropped without a word."""
    assert _value(words, "walltime") == time


@pytest.mark.parametrize(
    ("words", "nodes"),
    [
        ("train.py on 6 nodes... no, five are enough", 5),
        ("6 Knoten, nein, fünf genügen, train.py, Laufzeit 3 Stunden", 5),
        ("6 nœuds pour essai.py, non, cinq suffisent, durée 3 heures", 5),
        ("6 nodos, no, mejor cinco, programa train.py, cuenta abc123", 5),
    ],
)
def test_a_correction_holds_whatever_says_that_it_suffices(words, nodes):
    """The first number stood."""
    assert _value(words, "nodes") == nodes


def test_more_gpus_than_the_request_gives_a_node_contradict_it():
    """What a node has is a fact there, and no count to be dropped."""
    assert read("our cluster's nodes are alike: each node has 2 GPUs. one node and 3 gpus, train.py").contradictions
    assert not read("each node has 2 GPUs. two nodes and 4 gpus, train.py").contradictions


def test_a_name_in_angle_quotes_is_a_name():
    """Blanks stand inside them in French."""
    assert _value("2 nœuds, 3 heures, essai.py, le travail doit s'appeler « fusion »", "job_name") == "fusion"


_JOBS = tomllib.loads(Path(__file__).with_name("languages.toml").read_text("utf-8"))
_SAID = {
    "sizes": {
        "nodes": 4, "gpus_per_node": 4, "walltime": "02:30:00", "account": "m1234", "memory": "200G",
        "cpus_per_task": 32, "job_name": "abc_x", "output": "logs/%j.out", "mail": "a@b.org",
        "environment": "conda activate my_env",
    },
    "around": {
        "nodes": 2, "gpus_per_node": 4, "walltime": "01:30:00", "account": "bbka-delta-gpu", "array": "0-9",
        "dependency": "afterok:12345", "environment": "module load cuda/12.4", "container": "/work/a.sif",
        "partition": "gpuA100x4", "program": "python train.py",
    },
}  # fmt: skip


@pytest.mark.parametrize(("job", "language"), [(job, name) for job, names in _JOBS.items() for name in names])
def test_the_same_job_is_read_in_every_language(job, language):
    """Half of a size was dropped in three of them, and names, logs and arrays in most."""
    slots = read(_JOBS[job][language]).slots
    assert {name: slots[name].value for name in _SAID[job] if name in slots} == _SAID[job]
