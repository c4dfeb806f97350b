"""The labels of public jobs are references and values; the text of a job is nowhere here."""

from __future__ import annotations

import re
from collections import Counter

from tests.agents.admission.public_jobs import FIELDS, PublicJob, Tally, jobs, judged, read, read_with_files


def test_sixty_jobs_are_labelled_by_reference():
    """Each once, with a commit, and with names that the readers know."""
    found = list(jobs())
    assert len({(job.repository, job.path) for job in found}) == len(found) >= 60
    assert len({job.repository for job in found}) >= 45
    for job in found:
        assert all(re.fullmatch(r"[0-9a-f]{40}", commit) for commit in (job.commit, job.files_at or job.commit))
        assert set(job.values) | set(job.also) <= FIELDS
        texts = [text for values in (job.values, job.also) for each in values.values() for text in each]
        assert all(len(text) < 200 and "\n" not in text for text in texts)
        assert job.files or not (job.also or job.folder or job.files_at)
    assert sum(bool(job.files) for job in found) >= 60


def test_a_job_is_read_with_its_repository(tmp_path):
    """From the folder that it is submitted in; where a file is not there, it is no job to measure."""
    job = PublicJob("a/b", "0" * 40, "run/job.sh", {"epochs": ("3",)}, "src", ("src/ds.json",), {"zero_stage": ("2",)})
    top = job.top(tmp_path)
    for path, text in (("run/job.sh", "deepspeed train.py --epochs 3 --deepspeed_config ds.json\n"),
                       ("src/ds.json", '{"zero_optimization": {"stage": 2}}')):  # fmt: skip
        assert read_with_files(job, tmp_path) is None
        (top / path).parent.mkdir(parents=True)
        (top / path).write_text(text)
    said = read_with_files(job, tmp_path)
    assert said is not None and (said["epochs"], said["zero_stage"]) == ("3", "2")
    assert job.with_files.values == {"epochs": ("3",), "zero_stage": ("2",)}


def test_what_is_said_is_held_against_the_label():
    """Another number is wrong, the same number written otherwise is right, silence is missed."""
    job = PublicJob("a/b", "0" * 40, "job.sh", {"learning_rate": ("1e-4",), "epochs": ("3",), "seed": ("1",)})
    tally = Tally(Counter(), Counter(), Counter(), [])
    said = read(b"#!/bin/bash\nsrun python train.py --lr 0.0001 --epochs 4 --batch-size 8\n")
    judged(job, {name: said[name] for name in ("learning_rate", "epochs", "batch_size")}, tally)
    assert tally.right == {"learning_rate": 1} and tally.missed == {"seed": 1}
    assert tally.wrong == {"epochs": 1, "batch_size": 1} and len(tally.lines) == 2
