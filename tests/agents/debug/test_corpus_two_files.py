"""Output and errors in two files, as PBS writes them and many Slurm scripts ask for: nobody knows which came first."""

from __future__ import annotations

from pathlib import Path

import pytest
from maple_agents.diagnose.diagnosis import diagnose
from maple_agents.diagnose.gather import by_files
from maple_agents.diagnose.read import read
from maple_agents.diagnose.read.progress import ended_well, is_progress
from maple_agents.diagnose.values import Diagnosis
from maple_agents.templates.knowledge import anchors, entries
from maple_submit_filter.answer.decision import decide

from tests.agents.debug.corpus import Known, known_cases


def in_two_files(one: Known, folder: Path) -> Diagnosis | None:
    """What is said of a case whose training is told in job.out and all else in job.err; None where one is empty."""
    lines = (one.folder / one.logs[0]).read_bytes().split(b"\n")
    told = [
        is_progress(words) or bool(ended_well([words])) for words in (line.decode("utf-8", "replace") for line in lines)
    ]
    parts = [[line for line, of_out in zip(lines, told, strict=True) if of_out == out] for out in (True, False)]
    if not all(any(part) for part in parts):
        return None
    for name, part in zip(("job.out", "job.err"), parts, strict=True):
        (folder / name).write_bytes(b"\n".join(part) + b"\n")
    script = str(one.folder / one.script) if one.script else None
    logs = [str(folder / name) for name in ("job.out", "job.err")]
    case = by_files(logs, script, one.site, (), one.state, one.exit_code)
    decision = decide(case.asked, case.site, None) if case.asked else None
    return diagnose(case, read(case.logs, anchors(entries())), decision, entries())


GOOD = [one for one in known_cases() if one.kind == "good" and one.state == "completed" and len(one.logs) == 1]


@pytest.mark.parametrize("one", GOOD, ids=lambda one: one.name)
def test_a_job_that_completed_is_not_accused_because_its_errors_are_a_file_of_their_own(
    one: Known, tmp_path: Path
) -> None:
    """What frightens is the last line there, and the training that went on stands in the other."""
    told = in_two_files(one, tmp_path)
    assert told is None or told.causes[0].cause == "none"


def test_there_are_such_jobs(tmp_path: Path) -> None:
    """With training, with frightening words, and with both in a file of its own."""
    assert sum(in_two_files(one, tmp_path) is not None for one in GOOD) >= 20
