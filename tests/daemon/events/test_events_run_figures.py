"""What a job asked for and used: as hooks tell it, and asked for where they do not."""

from __future__ import annotations

import json
import os
import pwd

import pytest
from maple_agents.ask.schedulers import SchedulerError
from maple_agents.forecast.runs import Asked, Run, Work
from maple_daemon.outcomes.events import Ended, ended
from maple_daemon.outcomes.run_figures import Figures, of_event, of_events

from tests.daemon.events.test_events_pbs_hook import Job, left, run

SLURM = Ended("slurm", "jobcomp/script", "7", 1000, "COMPLETED", "0:0", submitted=100.0, started=110.0, ended=170.0,
              name="sft", workdir="/p", script_hash="ab" * 32, limit="12:00:00", node_count="2")  # fmt: skip
GIB = 1 << 30


def test_slurms_controller_tells_the_limit_and_no_memory():
    """And the script by its hash, so that the run is known to be of that version."""
    asked = Asked("", "sft", "/p", 100.0, 43200.0, None, "ab" * 32, Work((), 2))
    assert of_event(SLURM) == Run("7", asked, 170.0, 60.0, "completed")


@pytest.mark.parametrize("limit, seconds", [("UNLIMITED", None), ("", None), ("5", 300.0), ("1-00:00:01", 86401.0)])
def test_a_limit_that_is_none(limit, seconds):
    """Nothing is made of it."""
    found = of_event(SLURM._replace(limit=limit))
    assert found is not None and found.asked.limit == seconds


@pytest.mark.parametrize(
    "event", [SLURM._replace(started=None), SLURM._replace(ended=None), SLURM._replace(state="PENDING"),
              SLURM._replace(started=180.0)],
)  # fmt: skip
def test_what_never_ran_or_goes_on_is_no_run(event):
    """Nor one whose end is before its start."""
    assert of_event(event) is None


def test_a_user_that_this_host_does_not_know_has_no_run_here():
    """PBS tells a name, and nobody has it."""
    assert of_events([SLURM._replace(uid=-1)]) == []


def test_pbs_tells_its_hook_what_was_asked_for_and_used(tmp_path):
    """Memory of all nodes asked for is one node's here; what PBS does not set is not told."""
    asked = {"walltime": "02:00:00", "nodect": 2, "mem": "128gb"}
    used = {"walltime": "00:00:09", "mem": "3145728kb"}
    run(Job(Resource_List=asked, resources_used=used, Exit_status=0), spool=str(tmp_path))
    found = of_event(left(str(tmp_path))._replace(uid=0))
    assert found is not None
    assert (found.asked.limit, found.asked.memory, found.asked.work) == (7200.0, 64 * GIB, Work((), 2))
    assert (found.seconds, found.memory, found.state) == (9.0, 3 * GIB, "completed")


def test_a_hook_from_before_tells_nothing_of_it():
    """Its events are read as ever."""
    told = {"v": 1, "event": "ended", "scheduler": "slurm", "job": "7", "uid": "1000"}
    assert ended(json.dumps(told).encode()).limit == ""


def test_jobs_without_memory_are_asked_for_at_once_and_only_their_users_hear():
    """One question; a job of that id which is another's is nobody's run."""
    me = pwd.getpwuid(os.getuid()).pw_name
    questions = []

    def told(ids):
        questions.append(list(ids))
        asked = [Asked(me, "a", submitted=1.0), Asked("nobody-here", "b", submitted=1.0), Asked(me, "c", submitted=1.0)]
        return [Run(job, one, 9.0, 5.0, "completed", GIB) for job, one in zip(("1", "2", "9"), asked)]

    figures = Figures(told)
    silent = Run("1", Asked(me, "a"), 9.0, 5.0, "completed")
    figures.wanted([(os.getuid(), silent), (os.getuid(), silent._replace(job="2")),
                    (os.getuid(), silent._replace(job="3", memory=GIB))])  # fmt: skip
    assert [(uid, run.job) for uid, run in figures.ask()] == [(os.getuid(), "1")]
    assert figures.ask() == [] and questions == [["1", "2"]]


def test_a_scheduler_that_does_not_answer_ends_nothing():
    """It is said, and the jobs are not asked for again and again."""

    def away(ids):
        raise SchedulerError("asking sacct", "away", "try later")

    figures = Figures(away)
    figures.wanted([(1, Run("1", Asked("", "a"), 9.0, 5.0, "completed"))])
    assert figures.ask() == [] == figures.ask()
