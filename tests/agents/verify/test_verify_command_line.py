"""What stands on the submit command's line: a short walltime and our own output, whatever the script says."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from maple_agents.ask.verified_runs import CannotVerify
from maple_agents.verify.exchange.command_line import first_index, job_name, limits, minutes
from maple_agents.verify.run.workplace import Workplace

from tests.agents.verify.planned import state


def words(folder: Path, text: str, scheduler: str = "slurm") -> list[str]:
    job = state(b"", ("#!/bin/bash\n" + text).encode(), scheduler).job
    with contextlib.closing(Workplace([str(folder)])) as place:
        return [word.replace(place.path, "@").replace(place.token, "T") for word in limits(job, ["-x"], place, 180)]


def test_the_users_words_come_first_and_ours_win(tmp_path):
    assert words(tmp_path, "#SBATCH --time=24:00:00 --output=/log --mail-type=ALL\n") == [
        "-x", "--time=00:04:00", "--job-name=maple-verify-T", "--output=@/out", "--error=@/err",
        "--open-mode=truncate", "--mail-type=NONE", "--no-requeue",
    ]  # fmt: skip


def test_one_task_of_an_array_stands_for_all(tmp_path):
    assert words(tmp_path, "#SBATCH --array=3-9%2\n")[-1] == "--array=3"


def test_pbs_has_its_own_words_and_output_never_stays_at_home(tmp_path):
    plain = ["-x", "-l", "walltime=00:04:00", "-N", "mv-T", "-o", "@/out", "-e", "@/err", "-j", "n", "-m", "n"]
    assert words(tmp_path, "#PBS -l walltime=24:00:00\n#PBS -m abe\n", "pbs") == plain
    assert words(tmp_path, "#PBS -k oe\n", "pbs") == [*plain, "-k", "doe"]
    assert words(tmp_path, "#PBS -k doe\n", "pbs") == plain


@pytest.mark.parametrize(
    ("text", "scheduler", "says"),
    [
        ("#SBATCH --wait\n", "slurm", "sbatch would wait"),
        ("#PBS -W block=true\n", "pbs", "qsub would wait"),
        ("#PBS -J 1-4\n", "pbs", "job array"),
    ],
)
def test_what_would_not_come_back_is_refused(tmp_path, text, scheduler, says):
    with pytest.raises(CannotVerify, match=says):
        words(tmp_path, text, scheduler)


@pytest.mark.parametrize(("seconds", "whole"), [(1, 1), (30, 1), (31, 2), (180, 4), (3600, 61)])
def test_a_walltime_is_whole_minutes_with_time_to_start(seconds, whole):
    assert minutes(seconds) == whole


def test_times_and_indices_are_written_as_schedulers_read_them():
    assert (first_index(b"5"), first_index(b"2,7-9"), first_index(b"x")) == ("5", "2", "0")


def test_a_name_fits_into_fifteen_signs_under_pbs():
    assert len(job_name("pbs", "0123abcd")) <= 15
