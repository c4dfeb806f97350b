"""A job that was ended while its log was silent may have hung: the sentence says so.

The class is the scheduler's where one process may just have said nothing; of several nodes it is unknown.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.read import read
from maple_agents.diagnose.values import Case, Cause, Ended, LogFile
from maple_agents.templates.knowledge import anchors, entries
from maple_submit_filter.answer.decision import decide
from maple_submit_filter.site.facts import GENERIC_SLURM
from maple_submit_filter.types.submission import Submission

ENDED = "slurmstepd: error: *** JOB 77 ON n1 CANCELLED AT 2026-01-10T15:27:25%s ***\n"
STEPS = "".join(f"step {n} | loss {3 - n / 100:.3f}\n" for n in range(30))


def causes(tmp_path: Path, text: str, state: str, nodes: int | None = None) -> tuple[Cause, ...]:
    path = tmp_path / "job.out"
    path.write_text(text, "utf-8")
    digest = read((LogFile(str(path), "both"),), anchors(entries()))
    script = b"#!/bin/bash\n#SBATCH --nodes=%d\nsrun python train.py\n" % nodes if nodes else None
    asked = Submission("slurm", (b"sbatch", b"job.sh"), script, "file", b"job.sh", b"/", 1000, {}) if script else None
    case = Case(Ended(id="1", state=state), "slurm", GENERIC_SLURM, asked)
    return diagnose(case, digest, decide(asked, GENERIC_SLURM, None) if asked else None, entries()).causes


def first(tmp_path: Path, text: str, state: str) -> Cause:
    return causes(tmp_path, text, state)[0]


@pytest.mark.parametrize("text", ["", "starting\n", "starting\n" + ENDED % " DUE TO TIME LIMIT"])
def test_a_silent_log_at_the_time_limit_may_be_of_a_hang(tmp_path, text):
    """More time is no cure that may be offered for it."""
    told = first(tmp_path, text, "timeout")
    assert told.cause == "time_limit" and "silent" in told.says and "hung" in told.says
    assert all(fix.how != "raise-walltime" for fix in entries()[told.entry].fixes)


def test_a_silent_log_that_was_cancelled_may_be_of_a_hang(tmp_path):
    """Nobody waits for ever: a hang is cancelled as often as it is timed out."""
    told = first(tmp_path, "starting\n" + ENDED % "", "cancelled")
    assert told.cause == "cancelled_by_user" and "silent" in told.says


@pytest.mark.parametrize("state, text", [("timeout", STEPS + ENDED % " DUE TO TIME LIMIT"), ("cancelled", STEPS)])
def test_a_log_of_training_is_not_called_silent(tmp_path, state, text):
    """Where training is seen, the time was too short, or somebody ended it."""
    assert "silent" not in first(tmp_path, text, state).says


@pytest.mark.parametrize(("state", "end"), [("timeout", ENDED % " DUE TO TIME LIMIT"), ("cancelled", ENDED % "")])
def test_of_several_nodes_a_silent_end_is_no_cause(tmp_path, state, end):
    """Nodes that never met look just so: the answer is unknown, says why, and names the scheduler's word second."""
    told = causes(tmp_path, "starting\n" + end, state, nodes=2)
    assert [one.cause for one in told[:2]] == ["unknown", {"timeout": "time_limit"}.get(state, "cancelled_by_user")]
    assert "never have met" in told[0].says and told[0].confidence == 0.0 and "CANCELLED" in told[0].evidence[0].text
    assert all(fix.how != "raise-walltime" for fix in entries()[told[0].entry].fixes)
    assert causes(tmp_path, STEPS + end, state, nodes=2)[0].cause == told[1].cause


def test_noise_of_good_runs_is_silence(tmp_path):
    """A harmless line that sounds like an error says nothing of the job."""
    noise = "E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN factory: again\n"
    assert "silent" in first(tmp_path, "2026-03-17 08:20:29.553422: " + noise, "timeout").says
