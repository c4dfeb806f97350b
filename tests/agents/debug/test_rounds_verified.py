"""A verification that failed, explained as a job that failed: by its output, and by what its ranks said."""

from __future__ import annotations

import pytest
from maple_agents.ask.schedulers import Ending, EndReason, Job, JobState
from maple_agents.ask.submission import site_of
from maple_agents.diagnose.retry.verification import RANKS, explain_verified
from maple_agents.diagnose.values import Diagnosis
from maple_agents.verify.judge.verdicts import Kind, Reason, verdict_of
from maple_agents.verify.verification import Verified

from tests.agents.debug.made import submission

OVER = Job("7", JobState.FINISHED, ending=Ending(EndReason.CANCELLED), nodes=("n1", "n2"))


def explained(output: bytes, *reasons: Reason) -> Diagnosis:
    """Return why a verification failed that said this."""
    made = Verified(verdict_of(reasons), job=OVER, output=output)
    return explain_verified(made, submission(), site_of("generic-slurm"))


@pytest.mark.parametrize(
    ("kind", "output", "name"),
    [
        (Kind.DUPLICATE, b"", "wrong_world_size_or_rank"),
        (Kind.WORLD, b"step 1\n", "wrong_world_size_or_rank"),
        (Kind.MASTER, b"", "rendezvous_timeout_master_unreachable"),
        (Kind.PORT, b"", "port_in_use"),
        (Kind.MODULE, b"ModuleNotFoundError: No module named 'deepspeed'\n", "missing_python_module"),
        (Kind.LAUNCHER, b"job.sh: line 3: torchrun: command not found\n", "launcher_not_found"),
        (Kind.CRASHED, b"", "unknown"),
    ],
)
def test_the_cause_of_a_verification(kind: Kind, output: bytes, name: str) -> None:
    """What ranks prove is the cause; else what the output says; else nothing is claimed."""
    assert explained(output, Reason(kind, "as seen")).causes[0].cause == name


def test_what_our_own_cancelling_said_is_no_evidence() -> None:
    """The job is cancelled when all was said: neither that line nor that state is a cause."""
    output = b"slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T10:00:00 ***\nMAPLE-FACTS {}\n"
    found = explained(output, Reason(Kind.CRASHED, "it crashed"))
    assert found.causes[0].cause == "unknown"
    assert found.case.ended.state == "failed"


def test_a_time_limit_stays_one() -> None:
    """Where the scheduler itself ended it, its words count."""
    output = b"slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T10:00:00 DUE TO TIME LIMIT ***\n"
    assert explained(output, Reason(Kind.WALLTIME, "walltime")).causes[0].cause == "time_limit"


def test_no_path_of_ours_is_shown() -> None:
    """The output is gone with its folder: evidence names what it is, not where it was."""
    found = explained(b"ModuleNotFoundError: No module named 'torch'\n", Reason(Kind.MODULE, "no torch"))
    files = {one.file for one in found.causes[0].evidence} | {one.path for one in found.case.logs}
    assert files == {"output of the mini-apps", RANKS}


def test_what_passed_has_no_cause() -> None:
    """A verification that passed is a job that ran."""
    assert explained(b"").causes[0].cause == "none"


def test_hostile_words_of_a_rank_are_made_harmless() -> None:
    """What ranks say is data: no escape and no secret of it is shown."""
    says = "rank \x1b[31m0 token hf_abcdefghijklmnopqrstuvwxyz0123456789"
    first = explained(b"", Reason(Kind.DUPLICATE, says)).causes[0]
    assert "\x1b" not in first.says
    assert "hf_abc" not in first.says
