"""What the readers make of public training jobs, field by field: precision, and how much they see.

The texts are not carried: MAPLE_PUBLIC_JOBS names a folder with repository/commit/path of each job that was fetched.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from tests.agents.admission.public_jobs import Tally, jobs, judged, read, read_with_files
from tests.agents.admission.test_agent import CASES, RIGHT, TRANSCRIPTS, claims

LEAST = 0.98  # of what is said of a field


def test_admission_of_public_jobs():
    """A row a field; what is wrong below. First of scripts alone, then of those whose repositories' files are there."""
    folder = Path(os.environ.get("MAPLE_PUBLIC_JOBS", "/proc/nowhere"))
    texts = [(job, text) for job in jobs() if (text := job.text(folder)) is not None]
    if not texts:
        print("\nMAPLE_PUBLIC_JOBS names no folder with the texts of tests/cases/admission-public/jobs.toml")
        pytest.skip("nobody has fetched the texts")
    alone = Tally(Counter(), Counter(), Counter(), [])
    for job, text in texts:
        judged(job, read(text), alone)
    table("%d scripts, each alone" % len(texts), alone)
    whole = Tally(Counter(), Counter(), Counter(), [])
    read_whole = [(job, said) for job, _ in texts if (said := read_with_files(job, folder)) is not None]
    for job, said in read_whole:
        judged(job.with_files, said, whole)
    table("%d jobs with files of their repositories" % len(read_whole), whole)
    for tally in (alone, whole):
        for name in (*tally.right, *tally.wrong):
            assert tally.right[name] >= LEAST * (tally.right[name] + tally.wrong[name]), name


@pytest.mark.parametrize("kind", ["made up", "true"])
def test_what_is_believed_of_transcripts(kind, tmp_path):
    """Of recorded samples: how many of what models make up is accepted, and how many true values of nine."""
    top = tmp_path / "job"
    shutil.copytree(CASES / "folder", top)
    samples = [case["samples"] for case in TRANSCRIPTS] if kind == "made up" else [[RIGHT]]
    believed = sum(len(claims(top, each)) for each in samples)
    print("\n%s: %d of %d transcripts' values accepted" % (kind, believed, len(samples))
          if kind == "made up" else "\ntrue: %d of %d values accepted" % (believed, len(RIGHT)))  # fmt: skip
    assert believed == (0 if kind == "made up" else len(RIGHT))


def table(title: str, tally: Tally) -> None:
    print(f"\n{title}\n{'field':24} {'said':>5} {'precision':>9} {'recall':>6}")
    for name in sorted({*tally.right, *tally.wrong, *tally.missed}):
        row(name, tally.right[name], tally.wrong[name], tally.missed[name])
    row("all", tally.right.total(), tally.wrong.total(), tally.missed.total())
    print("\n".join(tally.lines))


def row(name: str, right: int, wrong: int, missed: int) -> None:
    said = right + wrong
    precision = f"{right / said:.0%}" if said else "-"
    print(f"{name:24} {said:5} {precision:>9} {right / max(1, right + missed):6.0%}")
