"""The labels of public jobs are references and values; the text of a job is nowhere here."""

from __future__ import annotations

import re
from collections import Counter

from tests.agents.admission.public_jobs import FIELDS, PublicJob, Tally, jobs, judged, read


def test_sixty_jobs_are_labelled_by_reference():
    """Each once, with a commit, and with names that the readers know."""
    found = list(jobs())
    assert len({(job.repository, job.path) for job in found}) == len(found) >= 60
    assert len({job.repository for job in found}) >= 45
    for job in found:
        assert re.fullmatch(r"[0-9a-f]{40}", job.commit)
        assert set(job.values) <= FIELDS
        assert all(len(text) < 200 and "\n" not in text for texts in job.values.values() for text in texts)


def test_what_is_said_is_held_against_the_label():
    """Another number is wrong, the same number written otherwise is right, silence is missed."""
    job = PublicJob("a/b", "0" * 40, "job.sh", {"learning_rate": ("1e-4",), "epochs": ("3",), "seed": ("1",)})
    tally = Tally(Counter(), Counter(), Counter(), [])
    said = read(b"#!/bin/bash\nsrun python train.py --lr 0.0001 --epochs 4 --batch-size 8\n")
    judged(job, {name: said[name] for name in ("learning_rate", "epochs", "batch_size")}, tally)
    assert tally.right == {"learning_rate": 1} and tally.missed == {"seed": 1}
    assert tally.wrong == {"epochs": 1, "batch_size": 1} and len(tally.lines) == 2
