"""Which comments were plausibly meant as directives, and which only begin like one."""

from __future__ import annotations

import os
from typing import Any

import pytest
import tomllib
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.request.unread_directives import misspelled
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "cases", "reading", "comments.toml")
with open(FILE, "rb") as _file:
    CASES: dict[str, dict[str, list[str]]] = tomllib.load(_file)
BODY = {"slurm": b"srun python train.py\n", "pbs": b"mpiexec python train.py\n"}
SITES = {"slurm": GENERIC_SLURM, "pbs": GENERIC_PBS}
COMMANDS = {"slurm": b"sbatch", "pbs": b"qsub"}


def told(scheduler: str, head: str) -> bool:
    """Whether a comment of that head is called a directive that is none."""
    script = b"#!/bin/bash\n" + head.encode() + b"\n" + BODY[scheduler]
    asked = Submission(scheduler, (COMMANDS[scheduler], b"job.sh"), script, "file", b"job.sh", b"/work", 1000, {})
    return any(one.code == "MPL102" for one in decide(asked, SITES[scheduler], None).findings)


def lines(kind: str) -> Any:
    """The lines of a kind, each with its scheduler."""
    return pytest.mark.parametrize(
        ("scheduler", "line"), [(scheduler, line) for scheduler, kinds in CASES.items() for line in kinds[kind]]
    )


@lines("meant")
def test_what_was_meant_as_a_directive_is_told(scheduler: str, line: str) -> None:
    """One slip in the word, and options of the command behind it."""
    assert told(scheduler, line)


@lines("other")
def test_what_only_begins_like_a_directive_is_left_alone(scheduler: str, line: str) -> None:
    """How to call the script, another program's line, one that is switched off, a form, prose."""
    assert not told(scheduler, line)


@pytest.mark.parametrize(
    ("scheduler", "head"),
    [
        ("slurm", "#SBATCH --nodes=2\n# SBATCH --nodes=4"),
        ("slurm", "# SBATCH --time=4:00:00\n#SBATCH -t 1:00:00"),
        ("pbs", "#PBS -l select=2\n# PBS -l select=4"),
        ("pbs", "#PBS -q prod\n# PBS -q debug"),
    ],
)
def test_a_value_beside_the_one_in_force_was_switched_off(scheduler: str, head: str) -> None:
    """People keep what they tried before."""
    assert not told(scheduler, head)


@pytest.mark.parametrize("wanted", [b"SBATCH", b"PBS"])
def test_a_slip_is_no_other_first_letter(wanted: bytes) -> None:
    """That would be another program's name."""
    others = (b"%c%s" % (letter, wanted[1:]) for letter in range(ord("A"), ord("Z") + 1) if letter != wanted[0])
    assert not any(misspelled(other, wanted) for other in others)
    assert misspelled(wanted, wanted)
