"""Mistyped names of every kind are answered with the one that was meant, by one mechanism."""

from __future__ import annotations

import pytest
from maple_agents.base.near_names import meant, near

SITES = ("ncsa-delta", "ncsa-deltaai", "tacc-vista", "generic-slurm")


@pytest.mark.parametrize(
    ("typed", "known", "found"),
    [
        ("chek", ("check", "plan", "explain"), ("check",)),
        ("NCSA_Delta", SITES, ("ncsa-delta",)),
        ("tacc-vsita", SITES, ("tacc-vista",)),
        ("torchrn", ("torchrun-over-srun", "python-over-srun"), ("torchrun-over-srun",)),
        ("MPL30", ("MPL101", "MPL301", "MPL302", "MPL303", "MPL304"), ("MPL301", "MPL302", "MPL303")),
        ("perlmutter", SITES, ()),
        ("", SITES, ()),
        ("x", (), ()),
    ],
)
def test_the_nearest_names_are_found(typed: str, known: tuple[str, ...], found: tuple[str, ...]) -> None:
    """Upper case, signs between words and letters in another order count for little; nothing near is nothing."""
    assert near(typed, known) == found


def test_what_is_meant_is_asked_in_a_sentence() -> None:
    """With one name, or with several."""
    assert meant("chek", ("check", "plan")) == "did you mean check?"
    assert meant("MPL30", ("MPL301", "MPL302", "MPL303")) == "did you mean MPL301, MPL302 or MPL303?"
    assert meant("qqq", ("check",)) == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("chek", "job.sh"), "chek: there is no such command; did you mean check?; see maple --help"),
        (("amdin",), "amdin: there is no such command; did you mean admin?; see maple --help"),
        (("site", "lnt"), "lnt: there is no such command; did you mean lint?; see maple site --help"),
        (("admin", "instal"), "instal: there is no such command; did you mean install?; see maple admin --help"),
        (("templates", "shwo"), "shwo: there is no such command; did you mean show?; see maple templates --help"),
        (("report",), "report: there is no such command; did you mean admin report?; see maple --help"),
        (("lint", "x"), "lint: there is no such command; did you mean site lint or templates lint?; see maple --help"),
        (("qqqqq",), "qqqqq: there is no such command; see maple --help"),
    ],
)
def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(maple, words, said) -> None:
    """Also one of another package, and one of a group."""
    assert maple(*words) == (2, "", f"maple: {said}\n")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("explain", "MPL3010"), "did you mean MPL301 or MPL310?"),
        (("check", "job.sh", "--site", "tacc-vsta"), "did you mean tacc-vista?"),
        (("templates", "list", "--site", "tacc-vsta"), "did you mean tacc-vista?"),
        (("site", "show", "tacc-vsta"), "did you mean tacc-vista?"),
        (("templates", "show", "zero33"), "did you mean zero3?"),
        (("verify", "--site", "ncsa-delta", "--template", "torchrun-over-srn"), "did you mean torchrun-over-srun?"),
        (("new", "train.py", "--set", "nods=3"), "did you mean nodes?"),
        (("fix", "7", "--was", "gpu_om"), "--was gpu_om: there is no such value; did you mean gpu_oom?"),
        (("fix", "7", "--state", "lost"), "--state lost: there is no such value; known are pending, running"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_one_that_was_meant(maple, tmp_path, words, hint) -> None:
    """Sites, rules, templates and slots alike."""
    (tmp_path / "job.sh").write_text("#!/bin/bash\nsrun python t.py\n")
    said = maple(*words)
    assert said.code != 0 and hint in said.err
