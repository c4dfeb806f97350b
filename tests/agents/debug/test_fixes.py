"""Typed fixes: what each makes of a script, and what it leaves alone. The cases are files (`fix_cases`)."""

from __future__ import annotations

import os

import pytest
from maple_agents.base.quantities import asked
from maple_agents.diagnose.fix import MADE, treatment
from maple_agents.diagnose.fix.treatment import USUAL
from maple_agents.templates.knowledge import entries
from maple_agents.templates.knowledge.entries import CLASSES, FIX_KINDS
from maple_submit_filter.bash.check import parses

from .fix_cases import FixCase, cure_of, cured, difference, fix_cases, site, submission

CASES = fix_cases()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_fix_makes_just_this_change(case: FixCase, monkeypatch):
    """A fix changes the lines that the case says and no others; where it says none, nothing is changed."""
    monkeypatch.delenv("MODULEPATH", raising=False)
    made = cured(case)
    assert difference(case.script, made.script) == case.diff, made
    assert tuple(os.fsdecode(one) for one in made.argv or ()) == case.argv
    wanted = "it would be wrong in another way: " if case.held else case.refused
    assert made.held_back.startswith(wanted) if wanted else not made.held_back
    assert all("(" + code in made.held_back for code in case.held.split(", ") if code)
    if case.diff or case.argv:
        assert made.safety == (case.safety or "ask")
    if made.script is not None:
        assert parses(made.script)


def test_every_fix_has_a_case_that_is_made():
    """No typed fix stands here that was never seen to change anything."""
    elsewhere = {
        "near-path",
        "unix-line-endings",
        "conda-functions",
    }  # they need files, or bytes that a case's file does not hold
    assert {one.how for one in CASES if one.diff or one.argv} | elsewhere == set(MADE)


def test_every_fix_that_the_knowledge_base_names_is_there():
    """What a remedy calls for is made by somebody; the rules' own is no typed fix."""
    named = {fix.how for entry in entries().values() for fix in entry.fixes} - {"", "as-checked"}
    assert named | {one.how for each in USUAL.values() for one in each} <= set(MADE)
    assert set(USUAL) <= set(CLASSES) and {one.kind for each in USUAL.values() for one in each} <= set(FIX_KINDS)


def test_line_ends_of_another_system_go():
    """Carriage returns at line ends go, one inside a line stays."""
    script = b"#!/bin/bash\r\n#SBATCH --nodes=1\r\nprintf 'a\rb'\r\nsrun python a.py"
    made = cure_of("unix-line-endings", {}, {}, submission(script), site("", "slurm"))
    assert made.script == b"#!/bin/bash\n#SBATCH --nodes=1\nprintf 'a\rb'\nsrun python a.py"
    assert made.safety == "safe"


@pytest.mark.parametrize(
    ("text", "slurm", "pbs"),
    [
        ("30", 1800, 30),
        ("30:15", 1815, 1815),
        ("1:00:00", 3600, 3600),
        ("2-0", 172800, None),
        ("1-12:30", 131400, None),
        ("UNLIMITED", None, None),
        ("", None, None),
    ],
)
def test_time_limits_are_read_as_each_scheduler_does(text, slurm, pbs):
    """A bare number is minutes for sbatch and seconds for qsub, which knows no days."""
    assert (asked(text, "slurm"), asked(text, "pbs")) == (slurm, pbs)


def test_every_fix_is_told_of():
    """The folder's README has each by its name."""
    with open(os.path.join(os.path.dirname(treatment.__file__), "README.md"), encoding="utf-8") as file:
        text = file.read()
    assert [name for name in MADE if "`%s`" % name not in text] == []
